"""A NeMo Gym resources server as an environment: its world is behind its URL, and its grading is wholly its own."""

import asyncio
from urllib.parse import quote

import structlog
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic_core import from_json

from odradek import Environment, JsonObject, Reward, TaskRow, ToolResult, Trajectory, WorldFailed
from odradek_nemo_gym import rows, verdict
from odradek_nemo_gym.client import Client, HttpAnswer
from odradek_nemo_gym.refusals import explained
from odradek_nemo_gym.response import response
from odradek_nemo_gym.servers import Servers
from odradek_nemo_gym.settings import BridgeSettings
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Transcript

CLOSE_SECONDS = 5.0
STATELESS = "stateless"
UNKNOWN = "unknown"
_MODES = frozenset({STATELESS, "unsupported"})

log = structlog.get_logger()


class NemoGym(Environment):
    """Tasks, tools and rewards of an unmodified NeMo Gym 0.7 resources server."""

    name = "nemo_gym"
    evidence_needs_answer = True
    evidence_needs_transcript = True
    state_is_secret = True
    interrupted_fails = True
    Settings = BridgeSettings
    settings: BridgeSettings

    class Task(BaseModel):
        """The fields of the row that the settings call public."""

        model_config = ConfigDict(extra="allow")

    class Answer(BaseModel):
        """The row as it stands: the server is sent all of it, and only the server knows which field tells the answer."""

        row: JsonObject

    class State(BaseModel):
        """The session at the server: where, the cookies that name it, the row's tools, whether it can verify again."""

        url: str
        cookies: dict[str, str] = Field(default_factory=dict)
        tools: list[str] = Field(default_factory=list)
        reverify_mode: str = UNKNOWN

    def __init__(self, settings: JsonObject | None = None) -> None:
        super().__init__(settings)
        self._servers = Servers(self.settings)
        self._client = Client()

    def split(self, row: JsonObject) -> TaskRow:
        self._servers.check()
        return rows.split(row, self.settings.public)

    async def open(self, task: Task, answer: Answer, seed: int) -> State:
        state = self.State(url=await self._servers.url(), tools=rows.tool_names(answer.row))
        seeded = await self._post(state, "seed_session", answer.row)
        if not seeded.ok:
            kind = FailureKind.INVALID_REQUEST if seeded.status == 422 else FailureKind.ENVIRONMENT_ERROR
            raise WorldFailed(
                kind, f"/seed_session of the NeMo Gym server refused the row: {explained(seeded)}"
            )
        state.reverify_mode = await self._reverify_mode(state.url)
        return state

    async def call(self, state: State, name: str, arguments: str) -> ToolResult:
        if name not in state.tools:
            known = ", ".join(state.tools) or "none"
            return ToolResult(f"There is no tool {name!r}. Tools: {known}.", is_error=True)
        try:
            body: JsonValue = from_json(arguments, allow_inf_nan=False) if arguments.strip() else {}
        except ValueError as error:
            return ToolResult(f"Invalid arguments for {name}: they are not JSON: {error}", is_error=True)
        self._servers.check_alive(state.url)
        answer = await self._post(state, quote(name, safe=""), body)
        return ToolResult(answer.text, is_error=not answer.ok)

    def at_most_once(self, name: str) -> bool:
        return name not in self.settings.repeatable

    async def gather(
        self, state: State, task: Task, answer: Answer, transcript: Transcript | None
    ) -> JsonObject | None:
        assert transcript is not None, "the session asked for it"
        self._servers.check_alive(state.url)
        said = response(transcript, answer.row)
        try:
            evidence = await self._verify(state, answer.row | {"response": said})
        except BaseException:
            await self._release(state)
            raise
        released = await self._release(state)
        return evidence.model_copy(update={"released": released}).model_dump(mode="json", exclude_none=True)

    def gathers_once(self, state: State) -> bool:
        """A server that keeps state may drop it when it has verified, and would find nothing the second time."""
        return state.reverify_mode != STATELESS

    async def leave(self, state: State) -> None:
        await self._release(state)

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        evidence = verdict.Evidence.model_validate(trajectory.evidence, extra="ignore")
        return verdict.reward(evidence, self.settings.components, self.settings.details)

    async def _post(self, state: State, path: str, body: JsonValue) -> HttpAnswer:
        """Ask the session's server, and keep the cookies that it sets."""
        url = f"{state.url}/{path}"
        answer = await self._client.post(url, body, state.cookies, self.settings.connect_seconds)
        state.cookies.update(answer.cookies)
        return answer

    async def _reverify_mode(self, url: str) -> str:
        """What the server says of verifying a recorded rollout again; older servers don't know the question."""
        answer = await self._client.get(f"{url}/reverify_mode")
        mode = answer.text.strip('"\n ')
        return mode if answer.ok and mode in _MODES else UNKNOWN

    async def _verify(self, state: State, body: JsonObject) -> verdict.Evidence:
        answer = await self._post(state, "verify", body)
        if not answer.ok:
            return verdict.refused(answer.status, answer.text, state.reverify_mode)
        try:
            found = verdict.read_verdict(answer.text, sent=body)
        except verdict.VerdictError as error:
            reason = f"/verify of the NeMo Gym server answered what is no verdict: {error}"
            raise WorldFailed(FailureKind.MALFORMED_REPLY, reason) from error
        return verdict.Evidence(verdict=found, reverify_mode=state.reverify_mode)

    async def _release(self, state: State) -> bool:
        """Let the server put the session away; whether it said that it did. Most keep nothing, and have no word for it."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                answer = await self._client.post(f"{state.url}/close_session", {}, state.cookies)
        except (WorldFailed, TimeoutError) as error:
            log.warning("a session of a NeMo Gym server was not closed", url=state.url, reason=str(error))
            return False
        if answer.status >= 500:
            log.warning("a NeMo Gym server could not close a session", url=state.url, status=answer.status)
        return answer.ok
