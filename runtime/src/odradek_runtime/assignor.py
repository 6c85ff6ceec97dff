"""Who gets which partition *number*: all topics of a number together, sticky, balanced.

The decision is a pure function; the class fits it to aiokafka's assignor protocol. What a member owned last travels
in the user data of its JoinGroup request, so that a rebalance moves as few numbers as balance demands.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata


@dataclass(frozen=True)
class Claim:
    """What a member owned, and in which generation of the group."""

    numbers: frozenset[int] = frozenset()
    generation: int = -1


def assign_numbers(claims: Mapping[str, Claim], numbers: Iterable[int]) -> dict[str, set[int]]:
    """Spread `numbers` over the members: loads differ by at most one, and owners keep what balance allows.

    Where two members claim the same number the later generation wins.
    """
    members = sorted(claims)
    owned: dict[str, set[int]] = {member: set() for member in members}
    free = set(numbers)
    for member in sorted(members, key=lambda m: -claims[m].generation):
        owned[member] = set(claims[member].numbers) & free
        free -= owned[member]
    low, extra = divmod(len(free) + sum(map(len, owned.values())), len(members))
    for rank, member in enumerate(sorted(members, key=lambda m: (-len(owned[m]), m))):
        fair = low + (rank < extra)
        surplus = sorted(owned[member])[fair:]
        owned[member] -= set(surplus)
        free |= set(surplus)
    for number in sorted(free):
        poorest = min(members, key=lambda m: (len(owned[m]), m))
        owned[poorest].add(number)
    return owned


class NumberAssignor(AbstractPartitionAssignor):  # type: ignore[misc]
    """aiokafka's assignor protocol around `assign_numbers`; one instance a consumer.

    `partitions`: how many numbers there are. The worker has checked that its topics have so many; a leader whose
    metadata lags, as just after a broker came back, would give nothing to anybody, and nobody would ask again.
    """

    name = "odradek-numbers"

    def __init__(self, partitions: int) -> None:
        self.claim = Claim()
        self._partitions = partitions

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        user_data = json.dumps({"numbers": sorted(self.claim.numbers), "generation": self.claim.generation})
        return ConsumerProtocolMemberMetadata(0, sorted(topics), user_data.encode())

    def assign(
        self, cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        claims = {member: _read_claim(metadata.user_data) for member, metadata in members.items()}
        owned = assign_numbers(claims, range(self._partitions))
        return {
            member: ConsumerProtocolMemberAssignment(
                0, [(topic, sorted(owned[member])) for topic in sorted(metadata.subscription)], b""
            )
            for member, metadata in members.items()
        }

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        numbers = {number for _topic, partitions in assignment.assignment for number in partitions}
        self.claim = Claim(frozenset(numbers), self.claim.generation + 1)

    def joined(self, generation: int) -> None:
        """Set the generation of the current assignment, which aiokafka does not tell `on_assignment`."""
        self.claim = Claim(self.claim.numbers, generation)


def _read_claim(user_data: bytes | None) -> Claim:
    """A member that tells nothing, or nothing that we can read, owned nothing."""
    try:
        claim = json.loads(user_data or b"{}")
        return Claim(frozenset(map(int, claim.get("numbers", ()))), int(claim.get("generation", -1)))
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return Claim()
