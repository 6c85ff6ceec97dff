import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.testing import call, play, raw_call
from odradek_example_multi_step import ExampleMultiStep
from odradek_example_multi_step.environment import synonym_value

ROW = {
    "task": {"term": "Hot", "synonyms": [["Hot", "Warm"], ["Cold", "Icy"], ["Hot", "Blazing"]]},
    "answer": {
        "expected_synonyms": ["Warm", "Blazing"],
        "expected_synonym_values": [407, 711],
        "minefield_label": "Hot",
        "minefield_label_value": 299,
    },
}


def rows():
    return [json.loads(line) for line in ExampleMultiStep().examples().read_text().splitlines()]


def hand_in(*values):
    return call("extract_synonym_values", synonym_values=list(values))


def score(*replies):
    return play(ExampleMultiStep(), ROW, [*replies, "Done."]).reward


def test_all_values_in_order():
    reward = score(hand_in(407, 711))
    assert reward.reward == 1.0
    assert reward.components == {
        "accuracy": 1.0,
        "set_overlap": 1.0,
        "original_term_minefield_hit": 0.0,
        "order_instruction_following_failure": 0.0,
    }
    assert reward.details == {"parsed_synonym_values": [407, 711]}


def test_the_wrong_order_is_a_failure_of_its_own():
    reward = score(hand_in(711, 407))
    assert reward.reward == 0.0
    assert reward.components["order_instruction_following_failure"] == 1.0


def test_the_term_itself_is_a_minefield():
    reward = score(hand_in(407, 711, 299))
    assert reward.reward == 0.0
    assert reward.components["original_term_minefield_hit"] == 1.0


def test_a_part_of_the_values_overlaps():
    assert score(hand_in(407)).components["set_overlap"] == 0.5


def test_the_last_extraction_counts():
    assert score(hand_in(1), hand_in(407, 711)).reward == 1.0
    assert score(hand_in(407, 711), hand_in(1)).reward == 0.0


@pytest.mark.parametrize(
    "arguments", ["{}", "no JSON", '{"synonym_values": ["407", 711]}', '{"synonym_values": 407}']
)
def test_a_refused_extraction_does_not_count(arguments):
    refused = raw_call("extract_synonym_values", arguments)
    assert score(refused).details == {"parsed_synonym_values": []}
    assert score(hand_in(407, 711), refused).reward == 1.0


def test_nothing_handed_in_scores_nothing():
    assert score().reward == 0.0


def test_the_tools_answer_as_they_should():
    played = play(
        ExampleMultiStep(), ROW, [[call("get_synonym_value", synonym="Warm"), hand_in(407)], "Done."]
    )
    assert played.observations == ['{"synonym_value": 407}', '{"success": true}']


@given(st.text(max_size=30), st.text(max_size=30))
def test_the_value_of_a_word_is_the_sum_of_its_characters(left, right):
    assert synonym_value(left + right) == synonym_value(left) + synonym_value(right)


def test_there_are_enough_examples():
    assert len(rows()) >= 20
    assert len({row["id"] for row in rows()}) == len(rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_is_solved_by_doing_as_it_says(row):
    term = row["task"]["term"]
    synonyms = [synonym for of, synonym in row["task"]["synonyms"] if of == term]
    looked_up = [call("get_synonym_value", synonym=synonym) for synonym in synonyms]
    values = [sum(map(ord, synonym)) for synonym in synonyms]

    played = play(ExampleMultiStep(), row, [looked_up, hand_in(*values), "Done."])

    assert played.reward.reward == 1.0
    assert played.reward.components["original_term_minefield_hit"] == 0.0
    assert row["answer"]["expected_synonyms"] == synonyms
    assert row["answer"]["minefield_label"] == term
    assert row["answer"]["minefield_label_value"] == synonym_value(term)
    assert play(ExampleMultiStep(), row, [hand_in(synonym_value(term)), "Done."]).reward.reward == 0.0
