"""`RewardStream`: groups of rewards as they come out of the log, and a position to go on from."""

from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from odradek_schemas.base import JsonObject
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_training.deployment import Deployment, deployment_of
from odradek_training.errors import StreamError
from odradek_training.group import Group
from odradek_training.position import Position, read_position
from odradek_training.pump import Pump
from odradek_training.settings import IDLE_SECONDS, checked
from odradek_training.stats import Stats

if TYPE_CHECKING:
    from odradek_training.sync import SyncRewardStream


class RewardStream:
    """Groups of rewards of some runs, as an asynchronous iterator; `sync` gives an ordinary one.

    It ends when all runs that were named have ended and their groups were given out; over a filter it never ends.
    Cancelling a wait for the next group loses nothing.

    Parameters:
        deployment: where the log is; a string is Kafka's address. What is left out is told by `ODRADEK_` settings.
        run, runs, environment, model: what to read: certain runs, or all runs of an environment or a model.
        group_size: what the trainer counts on; a run of another size is an error. None: each run's own.
        incomplete, group_deadline, max_staleness, include_masked: see `Rules`.
        scoring: `primary`, or the id of a re-score.
        rank, ranks: this stream gives out the tasks that are dealt to `rank`.
        position: what `position()` gave, to go on from there.
        since: without a position, from when on; None: from the named runs' request on, or the log's beginning.
        ahead: keep so many groups more than were decided admitted, in runs that are played by demand.
        idle_timeout: seconds without anything new, after which `StreamIdle` is raised.

    Raises:
        ValueError: parameters that can't be.
        PositionDiffers: the position is not one, or is of a stream that reads something else.
    """

    def __init__(
        self,
        deployment: Deployment | str | None = None,
        *,
        run: str | None = None,
        runs: Sequence[str] = (),
        environment: str | None = None,
        model: str | None = None,
        group_size: int | None = None,
        incomplete: str = "drop",
        group_deadline: float | None = None,
        max_staleness: int | None = None,
        include_masked: bool = False,
        scoring: str = PRIMARY_SCORING,
        rank: int = 0,
        ranks: int = 1,
        position: object = None,
        since: datetime | None = None,
        ahead: int | None = None,
        idle_timeout: float = IDLE_SECONDS,
    ) -> None:
        self._settings = checked(
            {
                "runs": (*(() if run is None else (run,)), *runs),
                "environment": environment,
                "model": model,
                "scoring": scoring,
                "rank": rank,
                "ranks": ranks,
            },
            {
                "incomplete": incomplete,
                "group_deadline": group_deadline,
                "max_staleness": max_staleness,
                "include_masked": include_masked,
            },
            group_size=group_size,
            ahead=ahead,
            since=since,
            idle_timeout=idle_timeout,
        )
        self._deployment = deployment_of(deployment)
        self._start: Position | None = None
        if position is not None:
            self._start = read_position(position, self._settings.selection)
        self._pump: Pump | None = None

    @classmethod
    def sync(cls, *args: Any, **options: Any) -> "SyncRewardStream":
        """The same stream as an ordinary iterator, with an event loop in a thread of its own."""
        from odradek_training.sync import SyncRewardStream

        return SyncRewardStream(cls(*args, **options))

    async def __aenter__(self) -> Self:
        """Connect.

        Raises:
            StreamUnreachable: Kafka does not answer.
            RunNotFound, RunDiffers: a run is not there, or was asked for with other numbers.
            PositionLost: the log begins behind the position.
        """
        pump = Pump(self._deployment, self._settings)
        try:
            await pump.open(self._start)
        except BaseException:
            await pump.close()
            raise
        self._pump = pump
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pump, self._pump = self._opened, None
        await pump.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Group:
        """The next group.

        Raises:
            StreamIdle: nothing new came for too long.
            StreamError: the stream can't go on; see its kinds.
        """
        group = await self._opened.next_group()
        if group is None:
            raise StopAsyncIteration
        return group

    async def want(self, groups: int) -> None:
        """Have `groups` groups more than were given out so far played, where runs are played by demand.

        For those that are dropped while they are waited for, others are played.
        For a trainer that must not have rollouts begun before its weights are there; `ahead` does it by itself.

        Raises:
            DemandNotRaised: the log did not take it in time.
        """
        await self._opened.want(groups)

    def position(self) -> JsonObject:
        """Where to go on so that no group is repeated and none is missed, if all that were given out are trained on.

        To be stored together with what came of them: in the trainer's own checkpoint, not beside it.
        """
        return self._opened.position().dump()

    def stats(self) -> Stats:
        """What was given out and dropped so far, and how things stand."""
        return self._opened.stats()

    @property
    def _opened(self) -> Pump:
        if self._pump is None:
            raise StreamError("the stream is not open: use `async with RewardStream(...) as stream`")
        return self._pump
