"""The world of a rollout that was played elsewhere, built again: its tool calls are carried out in a session of ours.

So a verifier finds the evidence that only a live world can give. What the tools answer now is compared with what was
recorded: a difference tells that the two worlds are not the same.
"""

from collections.abc import Callable
from typing import NamedTuple, TypedDict

from pydantic_core import from_json

from odradek.environment import Environment
from odradek.formats.records import Record
from odradek.sessions import Sessions
from odradek_schemas import ids
from odradek_schemas.base import JsonObject
from odradek_schemas.events import (
    SessionClosed,
    SessionCloseRequested,
    SessionFailed,
    SessionRequested,
    ToolCallCompleted,
    ToolCallRequested,
)
from odradek_schemas.messages import ToolCall
from odradek_schemas.rollouts import RolloutStatus, Trajectory

SECONDS = 60.0
"""Most time of one action."""

Seal = Callable[[JsonObject], str]


class Rebuilt(NamedTuple):
    """The record with its evidence; `problem` says why it has none, `different` counts answers that are not the same."""

    record: Record
    problem: str | None = None
    different: int = 0


def needs_world(environment: Environment, trajectory: Trajectory) -> bool:
    """Whether a rollout lacks what its environment's session would have left."""
    left = (trajectory.evidence, trajectory.sealed_evidence, trajectory.final_state)
    ended = trajectory.status in (RolloutStatus.COMPLETED, RolloutStatus.TRUNCATED)
    return environment.has_session and ended and all(part is None for part in left)


async def rebuild(environment: Environment, record: Record, seal: Seal) -> Rebuilt:
    """Carry out the calls of a rollout in the order in which they were made; evidence that tells the answer is sealed.

    A call that may be made only once, because it has effects outside the session, is not made again.
    """
    calls = _calls(record.trajectory)
    once = next(
        (call.function.name for call, _ in calls if environment.at_most_once(call.function.name)), None
    )
    if once is not None:
        return Rebuilt(record, f"its tool {once!r} has effects outside the session and is not called again")
    answer = record.answer or {}
    sessions = Sessions(lambda *_: environment, open_answer=lambda _sealed: answer, seal=seal)
    session = ids.session_id(record.trajectory.rollout_id, 1)
    opened = await sessions.answer(_opening(record, session))
    if isinstance(opened.reply, SessionFailed):
        return Rebuilt(record, f"its session could not be opened: {opened.reply.failure.message}")
    different = 0
    for number, (call, told) in enumerate(calls):
        outcome = await sessions.answer(_calling(record, session, number, call))
        said = outcome.reply
        different += not (isinstance(said, ToolCallCompleted) and _same(said.content, told))
    return _closed(record, (await sessions.answer(_closing(record, session))).reply, different)


class _Of(TypedDict):
    id: str
    run_id: str
    rollout_id: str
    session_id: str
    timeout_seconds: float


def _of(record: Record, session: str, what: str) -> _Of:
    trajectory = record.trajectory
    return {
        "id": f"{session}/{what}",
        "run_id": trajectory.run_id,
        "rollout_id": trajectory.rollout_id,
        "session_id": session,
        "timeout_seconds": SECONDS,
    }


def _opening(record: Record, session: str) -> SessionRequested:
    trajectory = record.trajectory
    return SessionRequested(
        **_of(record, session, "open"),
        environment=trajectory.environment,
        settings=trajectory.settings,
        task=trajectory.task,
        sealed_answer=None if record.answer is None else "in the clear",
        tools=trajectory.tools,
        seed=trajectory.seed,
    )


def _calling(record: Record, session: str, number: int, call: ToolCall) -> ToolCallRequested:
    return ToolCallRequested(**_of(record, session, str(number)), turn=number, call=call)


def _closing(record: Record, session: str) -> SessionCloseRequested:
    return SessionCloseRequested(**_of(record, session, "close"))


def _closed(record: Record, reply: object, different: int) -> Rebuilt:
    if not isinstance(reply, SessionClosed):
        why = reply.failure.message if isinstance(reply, SessionFailed) else "it did not close"
        return Rebuilt(record, f"its session left no evidence: {why}", different)
    left = {
        "evidence": reply.evidence,
        "sealed_evidence": reply.sealed_evidence,
        "final_state": reply.final_state,
    }
    return Rebuilt(record._replace(trajectory=record.trajectory.model_copy(update=left)), None, different)


def _calls(trajectory: Trajectory) -> list[tuple[ToolCall, str]]:
    """The calls that were answered, in the order of their answers, and what those were."""
    played = trajectory.messages[trajectory.prompt_messages :]
    asked = {call.id: call for message in played for call in message.tool_calls or []}
    return [
        (asked[message.tool_call_id], message.text)
        for message in played
        if message.role == "tool" and message.tool_call_id in asked
    ]


def _same(ours: str, theirs: str) -> bool:
    """Whether two answers say the same, whatever way their JSON is spaced."""
    try:
        return ours == theirs or from_json(ours) == from_json(theirs)
    except ValueError:
        return False
