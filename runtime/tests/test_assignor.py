import json
from collections.abc import Mapping

import pytest
from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from hypothesis import given
from hypothesis import strategies as st

from odradek_runtime.assignor import Claim, NumberAssignor, assign_numbers

claims = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=3),
    st.builds(Claim, st.frozensets(st.integers(-2, 30), max_size=20), st.integers(-1, 5)),
    min_size=1,
    max_size=8,
)


def metadata(topics: list[str], user_data: bytes = b"") -> ConsumerProtocolMemberMetadata:
    return ConsumerProtocolMemberMetadata(0, topics, user_data)


def assign(
    numbers: int, members: Mapping[str, ConsumerProtocolMemberMetadata]
) -> dict[str, dict[str, list[int]]]:
    answer = NumberAssignor(numbers).assign(ClusterMetadata(), members)  # which knows of no topic yet
    return {member: dict(assignment.assignment) for member, assignment in answer.items()}


@given(claims, st.integers(0, 24))
def test_all_numbers_are_given_once_and_loads_differ_by_at_most_one(
    claims: dict[str, Claim], numbers: int
) -> None:
    owned = assign_numbers(claims, range(numbers))
    assert sorted(number for mine in owned.values() for number in mine) == list(range(numbers))
    loads = [len(mine) for mine in owned.values()]
    assert max(loads) - min(loads) <= 1
    assert owned == assign_numbers(dict(reversed(claims.items())), range(numbers))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 24), st.randoms())
def test_a_change_of_members_moves_no_more_than_balance_demands(
    before: int, after: int, numbers: int, random: object
) -> None:
    old = assign_numbers({f"m{i}": Claim() for i in range(before)}, range(numbers))
    stay = {f"m{i}": Claim(frozenset(old.get(f"m{i}", ())), 1 if i < before else -1) for i in range(after)}
    new = assign_numbers(stay, range(numbers))
    kept = sum(len(new[member] & claim.numbers) for member, claim in stay.items())
    low, extra = divmod(numbers, after)
    fair = [low + 1] * extra + [low] * (after - extra)
    loads = sorted((len(claim.numbers) for claim in stay.values()), reverse=True)
    assert kept == sum(min(load, share) for load, share in zip(loads, fair, strict=True))


def test_of_two_claims_the_later_generation_wins() -> None:
    stale, fresh = Claim(frozenset({0, 1}), 3), Claim(frozenset({1, 2}), 4)
    assert assign_numbers({"a": stale, "b": fresh}, range(4)) == {"a": {0, 3}, "b": {1, 2}}


def test_all_topics_of_a_number_go_together_whatever_the_leaders_metadata_knows() -> None:
    """Caught: a leader whose metadata lags and gives nothing to anybody."""
    assigned = assign(4, {"a": metadata(["tasks", "results"]), "b": metadata(["results", "tasks"])})
    assert all(topics["tasks"] == topics["results"] for topics in assigned.values())
    assert sorted(assigned["a"]["tasks"] + assigned["b"]["tasks"]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "garbage",
    [b"\xff\xfe", b"[]", b"3", b"null", b'{"numbers": 3}', b'{"numbers": ["x"]}', b'{"numbers": [Infinity]}',
     b'{"generation": NaN}', b'{"generation": -Infinity}', b'{"generation": [1]}', b"[" * 100_000],
    ids=lambda garbage: garbage[:24].decode(errors="replace"),
)  # fmt: skip
def test_a_member_with_garbage_for_user_data_owned_nothing(garbage: bytes) -> None:
    fresh = json.dumps({"numbers": [0, 1], "generation": 2}).encode()
    assigned = assign(4, {"a": metadata(["t"], garbage), "b": metadata(["t"], fresh)})
    assert assigned == {"a": {"t": [2, 3]}, "b": {"t": [0, 1]}}


@given(st.binary(max_size=60))
def test_any_user_data_can_be_read(garbage: bytes) -> None:
    assert assign(1, {"a": metadata(["t"], garbage)}) == {"a": {"t": [0]}}


def test_what_a_member_owns_travels_in_its_next_join() -> None:
    assignor = NumberAssignor(4)
    assignor.on_assignment(ConsumerProtocolMemberAssignment(0, [("t", [1, 3]), ("u", [1, 3])], b""))
    assignor.joined(7)
    mine = assignor.metadata(["t", "u"])
    decoded = ConsumerProtocolMemberMetadata.decode(mine.encode())
    assert json.loads(decoded.user_data) == {"numbers": [1, 3], "generation": 7}
    assert assign(4, {"me": decoded, "new": metadata(["t", "u"])})["me"]["t"] == [1, 3]
