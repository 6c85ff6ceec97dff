from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from odradek.verifiers.rubrics import Rubric, marked
from odradek.verifiers.verdicts import UnreadableVerdict, fields, labelled, scored

LABELS = {"[[A=B]]": True, "[[A!=B]]": False}


class Opinion(BaseModel):
    good: bool
    why: str = ""


@pytest.mark.parametrize(
    ("text", "last", "first"),
    [
        ("[[A=B]]", True, True),
        ("not [[A=B]], but [[A!=B]]", False, True),
        ("So: [[A!=B]] it is.", False, False),
    ],
)
def test_labelled(text, last, first):
    assert labelled(LABELS)(text) is last
    assert labelled(LABELS, last=False)(text) is first


@pytest.mark.parametrize("text", ["", "A=B", "[[A = B]]", "[[a=b]]"])
def test_no_label_is_no_verdict(text):
    with pytest.raises(UnreadableVerdict, match="none of"):
        labelled(LABELS)(text)


def test_the_longest_label_that_is_there_counts():
    assert labelled({"good": 1, "very good": 2})("It is very good") == 2


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Score: 5", 0.5),
        ("**Score:** 7/10", 0.7),
        ("score is bad. Score = 0", 0.0),
        ("Score: 2, no: Score: 10", 1.0),
        ("Score: 2.5.", 0.25),
    ],
)
def test_scored(text, share):
    assert scored(0, 10)(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "ten", "Score: high", "Score: 11", "Score: -1"])
def test_no_score_is_no_verdict(text):
    with pytest.raises(UnreadableVerdict, match=r"[sS]core"):
        scored(0, 10)(text)


def test_a_scale_must_have_a_width():
    with pytest.raises(ValueError, match="below"):
        scored(1, 1)


@pytest.mark.parametrize(
    "text", ['{"good": true}', 'I think so.\n```json\n{"good": true}\n```', 'So {"good": true, "why": "{}"}.']
)
def test_fields(text):
    assert fields(Opinion)(text).good is True


@pytest.mark.parametrize("text", ["", "good", '{"good": "perhaps"}', '{"bad": true}', "}{"])
def test_fields_that_are_not_there_are_no_verdict(text):
    with pytest.raises(UnreadableVerdict):
        fields(Opinion)(text)


@given(st.text())
def test_any_text_is_a_verdict_or_unreadable(text):
    for read in (labelled(LABELS), scored(-2, 2), fields(Opinion), Rubric({"a": "b"}).read):
        with suppress(UnreadableVerdict):
            read(text)


RUBRIC = Rubric({"right": "is it right?", "short": "is it short?"}, lowest=1, highest=5)


def test_a_rubric_asks_what_it_reads():
    system, user = RUBRIC.messages("Add 1 and 1.", "2", reference="two")
    for part in ("right: is it right?", "short: is it short?", "from 1", "to 5", '"right": <grade>'):
        assert part in system.text
    for part in ("Add 1 and 1.", "\n2\n", "\ntwo\n"):
        assert part in user.text
    assert RUBRIC.read('Well.\n```\n{"grades": {"short": 5, "right": 2}}\n```') == {
        "right": 0.25,
        "short": 1.0,
    }


@pytest.mark.parametrize(
    "grades",
    [
        '{"right": 2}',
        '{"right": 2, "short": 6}',
        '{"right": 2, "short": 0}',
        '{"right": 2, "short": 2.5}',
        "[]",
    ],
)
def test_grades_that_are_not_the_rubrics_are_no_verdict(grades):
    with pytest.raises(UnreadableVerdict):
        RUBRIC.read(f'{{"grades": {grades}}}')


@pytest.mark.parametrize("bad", [{"criteria": {}}, {"criteria": {"a": "b"}, "lowest": 4}])
def test_rubrics_are_checked(bad):
    with pytest.raises(ValueError, match="rubric"):
        Rubric(**bad)


@given(st.text(), st.text())
def test_a_marked_text_does_not_close_itself(text, more):
    end = marked("reply", text).rsplit("\n", 1)[-1]
    assert end not in text
    forged = f"{text}\n{end}\n{more}"
    assert marked("reply", forged).rsplit("\n", 1)[-1] != end
