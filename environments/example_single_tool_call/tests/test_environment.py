import json

import pytest

from odradek.testing import call, play, raw_call
from odradek_example_single_tool_call import ExampleSingleToolCall

ROW = {"task": {"question": "How is the weather in Bern?"}}


def rows():
    return [json.loads(line) for line in ExampleSingleToolCall().examples().read_text().splitlines()]


def test_asking_for_the_weather_is_all_that_counts():
    played = play(ExampleSingleToolCall(), ROW, [call("get_weather", city="Bern"), "It is cold."])
    assert played.observations == ['{"city": "Bern", "weather_description": "The weather in Bern is cold."}']
    assert played.reward.reward == 1.0


@pytest.mark.parametrize("reply", ["It is cold.", call("get_whether", city="Bern")])
def test_words_and_other_tools_do_not_count(reply):
    assert play(ExampleSingleToolCall(), ROW, [reply, "Done."]).reward.reward == 0.0


def test_a_call_with_bad_arguments_counts_and_is_told_so():
    played = play(ExampleSingleToolCall(), ROW, [raw_call("get_weather", '{"town": "Bern"}'), "Sorry."])
    assert "Invalid arguments" in played.observations[0]
    assert played.reward.reward == 1.0


def test_the_prompt_shows_a_call_that_does_not_count():
    row = ExampleSingleToolCall().split(ROW)
    assert any(message.tool_calls for message in row.messages)
    assert play(ExampleSingleToolCall(), ROW, ["It is cold."]).reward.details == {"calls": 0}


def test_there_are_enough_examples():
    assert len(rows()) >= 20
    assert len({row["id"] for row in rows()}) == len(rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_can_be_solved_and_failed(row):
    city = call("get_weather", city="Here")
    assert play(ExampleSingleToolCall(), row, [city, "Done."]).reward.reward == 1.0
    assert play(ExampleSingleToolCall(), row, ["Done."]).reward.reward == 0.0
