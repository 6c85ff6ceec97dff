"""The limits of all gateways together, kept in a Redis or Valkey, and each gateway's own while that is lost.

All begins and ends that come up while one exchange with the server is under way go with the next: a begin costs one round
trip, an end costs the call nothing, and under load one round trip serves many. `shared.lua` decides, by the server's clock.
A gateway tells how many calls it has under way at a replica, never that it has one more or less: what was lost on the way
is made good by the next word. Who says nothing for LEASE_SECONDS has none.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from uuid import uuid4

import orjson
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from odradek_model_gateway.limits import Ask, Charge, LocalLimits, Refusal, corrections
from odradek_model_gateway.pace import BURST_SECONDS, seconds_each
from odradek_runtime.logs import get_logger

ANSWER_SECONDS = 0.5
"""How long the server may take; then it counts as lost."""
AGAIN_SECONDS = 1.0
"""Between two looks whether it is back."""
LEASE_SECONDS = 10.0
TELL_SECONDS = 3.0
"""How often a gateway with calls under way says so."""
CROWDED_SECONDS = 0.1
"""Between two questions for a place that other gateways' calls may have left."""
MOST_AT_ONCE = 512
_MICRO = 1e6

SCRIPT = files("odradek_model_gateway").joinpath("shared.lua").read_text()

log = get_logger(__name__)


Charges = Sequence[tuple[Charge, int]]
Answer = asyncio.Future[list[int] | None]


@dataclass(frozen=True, slots=True)
class Step:
    """One call's begin (`most` above 0) or end, or how many calls are under way at a place. `answer`: who waits for it."""

    place: str
    count: int
    most: int = 0
    charges: Charges = ()
    answer: Answer | None = None

    def settle(self, answer: list[int] | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(answer)


class SharedLimits:
    """Keys begin with `namespace`. While the server is lost `local` decides."""

    def __init__(self, url: str, namespace: str, local: LocalLimits) -> None:
        self._redis = Redis.from_url(url, retry=Retry(NoBackoff(), 1))
        self._script = self._redis.register_script(SCRIPT)
        self._namespace = namespace
        self._local = local
        self._gateway = uuid4().hex
        self._under_way: Counter[str] = Counter()
        self._steps: deque[Step] = deque()
        self._lost = False
        self._exchanging: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def lost(self) -> bool:
        return self._lost

    async def begin(self, ask: Ask) -> Refusal | None:
        self._under_way[ask.place] += 1
        self._keep()
        try:
            answer = None if self._lost else await self._answered(ask)
        except asyncio.CancelledError:
            self._over(ask.place)
            raise
        refusal = await self._local.begin(ask) if answer is None else _read(answer, ask)
        if refusal is not None:
            self._under_way[ask.place] -= 1
        return refusal

    def end(self, ask: Ask) -> None:
        if self._lost:
            self._local.end(ask)
        self._over(ask.place, corrections(ask))

    async def close(self) -> None:
        """Let go of the server, where the process lives on."""
        if self._keeping is not None:
            self._keeping.cancel()
        await self._redis.aclose()

    async def _answered(self, ask: Ask) -> list[int] | None:
        """What the server says; None: it is lost."""
        answer: Answer = asyncio.get_running_loop().create_future()
        charges = [(charge, charge.units) for charge in ask.charges]
        self._step(Step(ask.place, self._under_way[ask.place], ask.most, charges, answer))
        return await answer

    def _over(self, place: str, charges: Charges = ()) -> None:
        self._under_way[place] -= 1
        if not self._lost:
            self._step(Step(place, self._under_way[place], charges=charges))

    def _step(self, *steps: Step) -> None:
        self._steps.extend(steps)
        if self._exchanging is None or self._exchanging.done():
            self._exchanging = asyncio.create_task(self._exchange())

    async def _exchange(self) -> None:
        """Until nothing is left to be said."""
        while self._steps:
            steps = [self._steps.popleft() for _ in range(min(len(self._steps), MOST_AT_ONCE))]
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    answers = await self._script(*self._written(steps))
            except (RedisError, OSError, TimeoutError) as error:
                self._lose([*steps, *self._steps], error)
            else:
                self._found()
                for step, answer in zip(steps, answers, strict=True):
                    step.settle(answer)
            finally:
                for step in steps:
                    step.settle(None)

    def _written(self, steps: list[Step]) -> tuple[list[str], list[str | bytes | float]]:
        """The script's keys and arguments."""
        keys = {f"{self._namespace}gateways": 1}

        def number(key: str) -> int:
            return keys.setdefault(f"{self._namespace}{key}", len(keys) + 1)

        told = [
            [
                number(f"calls {step.place}"),
                step.count,
                step.most,
                [
                    [number(f"rate {charge.name}"), _MICRO * seconds_each(charge.per_minute), units]
                    for charge, units in step.charges
                ],
            ]
            for step in steps
        ]
        return [*keys], [self._gateway, 1000 * LEASE_SECONDS, _MICRO * BURST_SECONDS, orjson.dumps(told)]

    def _lose(self, steps: list[Step], error: Exception) -> None:
        """Nobody waits for the server any more: calls go on under this gateway's own limits."""
        self._steps.clear()
        if not self._lost:
            self._lost = True
            reason = str(error) or f"no answer within {ANSWER_SECONDS} s"
            log.warning("limits are not shared any more", reason=reason)
        for step in steps:
            step.settle(None)

    def _found(self) -> None:
        if self._lost:
            self._lost = False
            log.info("limits are shared again")

    def _keep(self) -> None:
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        """Say how it stands from time to time, while calls are under way, and while the server is to be found again."""
        while self._lost or self._under_way.total():
            await asyncio.sleep(AGAIN_SECONDS if self._lost else TELL_SECONDS)
            self._step(*(Step(place, count) for place, count in self._under_way.items()))


def _read(answer: list[int], ask: Ask) -> Refusal | None:
    why, *microseconds = answer
    if not why:
        return None
    if why == 1:
        reason = f"max_concurrency ({ask.most}) is taken by the calls of all gateways"
        return Refusal(reason, CROWDED_SECONDS, crowded=True)
    return Refusal(ask.charges[why - 2].told, microseconds[0] / _MICRO)
