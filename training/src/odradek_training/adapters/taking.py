"""Groups for trainers that count on a certain number of rows."""

from collections.abc import Iterator
from typing import Protocol

from odradek_training.adapters.rows import Row, rollouts
from odradek_training.errors import StreamError
from odradek_training.group import Group


class SyncStream(Protocol):
    """What is needed of `RewardStream.sync`."""

    def __iter__(self) -> Iterator[Group]: ...
    def __next__(self) -> Group: ...
    def want(self, groups: int) -> None: ...


class GroupsEnded(StreamError):
    """The runs that the stream reads are over, and the trainer wants more groups."""


def take(stream: SyncStream, groups: int, size: int) -> list[list[list[Row]]]:
    """The next `groups` groups of exactly `size` rollouts that count, each with all its rows.

    The demand for them is raised first. Groups in which a rollout is masked or has no tokens are passed over, and others
    wanted in their place.

    Raises:
        ValueError: the run's groups are of another size.
        GroupsEnded: there are no more.
        StreamError: the stream can't go on; see its kinds.
    """
    taken: list[list[list[Row]]] = []
    passed = 0
    while len(taken) < groups:
        stream.want(groups - len(taken))
        group = next(stream, None)
        if group is None:
            raise GroupsEnded(_told(passed))
        if group.size != size:
            raise ValueError(
                f"run {group.run_id} plays {group.size} rollouts of each task, the trainer compares {size}: begin a run "
                f"with --samples {size}, or set the trainer's number of rollouts for a prompt to {group.size}"
            )
        found = rollouts(group)
        if len(found) == size:
            taken.append(found)
        else:
            passed += 1
    return taken


def _told(passed: int) -> str:
    over = "the stream has no more groups: its runs are over; begin another run with more tasks"
    if not passed:
        return over
    return (
        f"{over} (for this batch {passed} groups were passed over, since not every rollout in them is scored and has "
        "tokens: does the model return token ids and logprobs?)"
    )
