import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.testing import call, play, play_async, raw_call
from odradek_example_session_state_mgmt import ExampleSessionStateMgmt

READ = call("get_counter_value")


def rows():
    return [json.loads(line) for line in ExampleSessionStateMgmt().examples().read_text().splitlines()]


def row(initial, expected):
    return {
        "task": {"initial_count": initial, "instruction": "Count."},
        "answer": {"expected_count": expected},
    }


def add(count):
    return call("increment_counter", count=count)


def test_the_counter_keeps_what_each_call_did():
    played = play(ExampleSessionStateMgmt(), row(3, 6), [[add(1), add(2)], READ, "It is 6."])
    assert played.observations == ['{"success": true}', '{"success": true}', '{"count": 6}']
    assert played.reward.reward == 1.0
    assert played.trajectory.evidence == {"count": 6}
    assert played.trajectory.final_state == {"count": 6}


def test_what_counts_is_the_counter_and_not_the_words():
    played = play(ExampleSessionStateMgmt(), row(3, 6), [add(2), "It is 6."])
    assert played.reward.reward == 0.0
    assert played.reward.details == {"count": 5}


def test_the_model_is_not_told_where_the_counter_begins_or_ends():
    told = ExampleSessionStateMgmt().split(row(31337, 31415)).messages
    assert not re.search("31337|31415", "".join(message.model_dump_json() for message in told))


@pytest.mark.parametrize(
    "arguments", ["{}", '{"count": "1"}', '{"count": 1.5}', "1", "{", '{"count": 1, "by": 2}']
)
def test_a_bad_call_changes_nothing_and_says_why(arguments):
    played = play(ExampleSessionStateMgmt(), row(3, 3), [raw_call("increment_counter", arguments), "Sorry."])
    assert "Invalid arguments for increment_counter" in played.observations[0]
    assert played.reward.reward == 1.0


def test_the_counter_has_bounds():
    played = play(ExampleSessionStateMgmt(), row(1, 1), [add(2**63), "Sorry."])
    assert "64 bits" in played.observations[0]
    assert played.reward.reward == 1.0


def test_a_trajectory_without_evidence_is_not_scored_as_a_failure_of_the_model():
    environment = ExampleSessionStateMgmt()
    played = play(environment, row(1, 1), ["Done."])
    record = played.trajectory.model_copy(update={"evidence": None})
    with pytest.raises(ValueError, match="no evidence"):
        environment.verify(record, environment.Answer(expected_count=1))


@given(st.integers(-1000, 1000), st.lists(st.integers(-1000, 1000), max_size=5))
async def test_the_counter_adds_up(initial, counts):
    replies = [add(count) for count in counts]
    played = await play_async(
        ExampleSessionStateMgmt(), row(initial, initial + sum(counts)), [*replies, READ, "Done."]
    )
    assert played.observations[-1] == json.dumps({"count": initial + sum(counts)})
    assert played.reward.reward == 1.0


def test_there_are_enough_examples():
    assert len(rows()) >= 20
    assert len({row["id"] for row in rows()}) == len(rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_is_solved_by_adding_what_is_missing(row):
    missing = row["answer"]["expected_count"] - row["task"]["initial_count"]
    assert play(ExampleSessionStateMgmt(), row, [add(missing), READ, "Done."]).reward.reward == 1.0
    assert play(ExampleSessionStateMgmt(), row, [add(missing + 1), "Done."]).reward.reward == 0.0


TIMES = {"twice": 2, "three times": 3}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_asks_for_what_it_expects(row):
    text = row["task"]["instruction"]
    numbers = [
        int(number) for number in re.findall(r"-?\d+", re.sub(r"Take \d+ away by adding", "Add", text))
    ]
    times = next((n for words, n in TIMES.items() if words in text), 1)
    assert sum(numbers) * times == row["answer"]["expected_count"] - row["task"]["initial_count"]
