"""The oracle: recorded rollouts of NeMo Gym's servers, replayed through our verifiers, give the recorded rewards."""

import os

import pytest

from odradek import Message
from odradek.plugins import load_environment
from tests.oracle import recordings
from tests.oracle.cases import CASES, Case, replay
from tests.oracle.table import BEGIN, DOCUMENT, END, Line, lines, rendered


@pytest.fixture(scope="module")
def found():
    if not recordings.names():
        message = f"no recorded rollouts in {recordings.home()}; ODRADEK_SHARED says where they are"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return lines()


def test_each_reward_is_the_recorded_one_or_the_difference_is_explained(found):
    differing = {line.name: line.differing for line in found if line.ours is not None}
    assert differing == {name: sorted(CASES.get(name, Case()).differing) for name in differing}


def test_the_table_says_what_comes_out(found):
    document = DOCUMENT.read_text()
    assert rendered(document, found) == document, "run `make oracle`"


def test_a_reward_that_differs_is_told():
    line = Line(
        "x", [0.0, 1.0, 1.0, None], [0.0, 0.0, None, None], Case(differing={1: "because"}, note="all")
    )
    assert line.differing == [1, 2]
    assert line.cells == ("x", "4", "2", "2", "all; row 1: because; row 2: unexplained")


def test_an_environment_that_is_not_there_is_told():
    assert Line("x", [0.0], None, Case()).cells[:4] == ("x", "1", "", "")


def test_a_line_whose_need_is_not_met_stays_as_it_was():
    line = Line("x", [0.0], None, Case(needs="nothing"))
    document = f"{BEGIN}\n| x | 1 | 1 | 0 |  |\n{END}"
    assert "| x | 1 | 1 | 0 |  |" in rendered(document, [line])
    assert "needs nothing" in rendered(f"{BEGIN}\n{END}", [line])


def test_a_document_without_marks_is_refused():
    with pytest.raises(ValueError, match="lacks the lines"):
        rendered("# Environments", [])


def test_recorded_replies_are_what_is_scored(found):
    """With other replies the rewards are others: the replay does look at them."""
    recording = next(row for row in recordings.read("mcqa") if row.rollout.reward)
    wrong = recording.rollout.model_copy(
        update={"messages": [Message(role="assistant", content="I do not know.")]}
    )
    environment = load_environment("mcqa")
    assert replay(environment, recording) == 1.0
    assert replay(environment, recordings.Recording(recording.task, wrong, recording.row)) == 0.0
