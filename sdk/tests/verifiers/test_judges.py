"""Judges that agree, don't, fail and babble: what becomes of the reward."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek import Message, Reply, Reward, Sampling, Unscored
from odradek.judging import advance
from odradek.verifiers.judges import Judge, most
from odradek.verifiers.rubrics import Rubric
from odradek.verifiers.verdicts import labelled, scored
from odradek_schemas.failures import Failure, FailureKind, Stage

YES_NO = labelled({"[[yes]]": True, "[[no]]": False})
PROMPT = [Message(role="user", content="Is it?")]
BUSY = Failure(kind=FailureKind.RATE_LIMITED, stage=Stage.MODEL, message="busy")
REFUSED = Failure(kind=FailureKind.AUTH, stage=Stage.MODEL, message="who are you?")


def reply(question, said):
    if isinstance(said, Failure):
        return Reply(question=question.name, failure=said)
    return Reply(question=question.name, message=Message(role="assistant", content=said))


def judged(asking, *rounds):
    """What a verifier that returns what `asking` comes to gives for these rounds of sayings, and its questions."""

    def verify():
        value = yield from asking()
        return Reward(
            reward=float(value) if isinstance(value, bool | float) else 0.0, details={"value": value}
        )

    answered, asked = [], []
    for said in rounds:
        questions = advance(verify(), answered)
        assert not isinstance(questions, Reward), "it asked less than there are rounds"
        assert len(questions) == len(said)
        asked.extend(questions)
        answered.append([reply(question, one) for question, one in zip(questions, said, strict=True)])
    outcome = advance(verify(), answered)
    assert isinstance(outcome, Reward), f"it asks on: {[question.name for question in outcome]}"
    return outcome.details["value"], asked


def majority(judge, *rounds, tie=None):
    return judged(lambda: judge.majority("it", PROMPT, YES_NO, tie), *rounds)[0]


def test_one_vote():
    assert majority(Judge(), ["[[yes]]"]) is True
    assert majority(Judge(), ["[[no]]"]) is False


def test_the_majority_decides():
    assert majority(Judge(votes=3), ["[[yes]]", "[[no]]", "[[yes]]"]) is True


def test_votes_that_are_missing_are_asked_for_again_and_no_others():
    assert majority(Judge(votes=3), ["[[yes]]", "hm", BUSY], ["[[no]]", "[[no]]"]) is False


def test_more_than_half_of_the_votes_do():
    assert majority(Judge(votes=3), ["[[yes]]", "[[yes]]", BUSY], ["hm"]) is True


@pytest.mark.parametrize(
    ("rounds", "kind"),
    [
        ([["hm"], ["well"]], FailureKind.JUDGE_UNREADABLE),
        ([[""], [""]], FailureKind.JUDGE_UNREADABLE),
        ([[BUSY], [BUSY]], FailureKind.RATE_LIMITED),
        ([["hm"], [BUSY]], FailureKind.RATE_LIMITED),
        ([[REFUSED]], FailureKind.AUTH),
    ],
)
def test_a_judge_that_gives_no_verdict_gives_no_reward(rounds, kind):
    with pytest.raises(Unscored) as raised:
        majority(Judge(), *rounds)
    assert raised.value.failure.kind is kind


def test_half_of_the_votes_do_not():
    with pytest.raises(Unscored):
        majority(Judge(votes=2), ["[[yes]]", "hm"], ["hm"])
    with pytest.raises(Unscored):
        majority(Judge(votes=4, tries=1), ["[[yes]]", "[[yes]]", "hm", "hm"])


def test_what_can_not_succeed_is_not_asked_again():
    assert majority(Judge(votes=3), ["[[yes]]", REFUSED, "[[yes]]"]) is True


def test_the_reply_that_could_not_be_read_is_told():
    with pytest.raises(Unscored, match=r"it\.1\.1.*none of \[\[yes\]\].*perhaps"):
        majority(Judge(tries=1), ["perhaps"])


def test_a_tie_is_no_verdict_unless_it_is_said_what_it_means():
    votes = ["[[yes]]", "[[no]]"]
    assert majority(Judge(votes=2), votes, tie=False) is False
    with pytest.raises(Unscored) as raised:
        majority(Judge(votes=2), votes)
    assert raised.value.failure.kind is FailureKind.UNSCORED
    assert "tie" in str(raised.value)


def test_the_mean():
    value, _ = judged(lambda: Judge(votes=2).mean("it", PROMPT, scored(0, 10)), ["Score: 4", "Score: 8"])
    assert value == pytest.approx(0.6)


def test_grades_are_means_by_criterion():
    rubric = Rubric({"right": "?", "short": "?"})
    said = ['{"grades": {"right": 4, "short": 0}}', '{"grades": {"right": 2, "short": 0}}']
    value, asked = judged(lambda: Judge(votes=2).grades("it", rubric, "Task", "Reply", "Best"), said)
    assert value == {"right": 0.75, "short": 0.0}
    assert all("Reply" in question.messages[-1].text for question in asked)


def same(*rounds, judge=None):
    return judged(lambda: (judge or Judge()).same("equal", "1+1?", "two", "2"), *rounds)


def test_the_same_answer_is_so_in_both_orders():
    assert same(["[[A=B]]"], ["[[A=B]]"])[0] is True
    assert same(["[[A=B]]"], ["[[A!=B]]"])[0] is False
    assert same(["[[A!=B]]"])[0] is False


def test_the_orders_differ():
    _, (one, other) = same(["[[A=B]]"], ["[[A=B]]"])
    assert one.messages[-1].text.index("two") < one.messages[-1].text.index("\n2\n")
    assert other.messages[-1].text.index("\n2\n") < other.messages[-1].text.index("two")


def test_who_is_asked_and_how():
    judge = Judge(model="wise", votes=2, sampling=Sampling(seed=7, temperature=0.5))
    _, asked = judged(lambda: judge.majority("it", PROMPT, YES_NO), ["[[yes]]", "hm"], ["[[yes]]"])
    assert [question.name for question in asked] == ["it.1.1", "it.1.2", "it.2.1"]
    assert [question.sampling.seed for question in asked] == [7, 8, 9]
    assert {(question.model, question.sampling.temperature) for question in asked} == {("wise", 0.5)}


@pytest.mark.parametrize("bad", [{"votes": 0}, {"tries": 0}])
def test_judges_are_checked(bad):
    with pytest.raises(ValueError, match="at least one"):
        Judge(**bad)


SAYINGS = st.sampled_from(["[[yes]]", "[[no]]", "hm", BUSY, REFUSED])


@given(st.integers(1, 5), st.integers(1, 3), st.randoms(use_true_random=False))
def test_any_replies_end_in_a_majority_or_unscored_and_never_against_it(votes, tries, random):
    """Whatever judges say, bounded askings end; a verdict has the votes for it."""
    judge, said = Judge(votes=votes, tries=tries), []

    def verify():
        return Reward(reward=float((yield from judge.majority("it", PROMPT, YES_NO))))

    answered = []
    try:
        while not isinstance(outcome := advance(verify(), answered), Reward):
            sayings = [random.choice(["[[yes]]", "[[no]]", "hm", BUSY, REFUSED]) for _ in outcome]
            said.extend(one for one in sayings if one in ("[[yes]]", "[[no]]"))
            answered.append([reply(question, one) for question, one in zip(outcome, sayings, strict=True)])
    except Unscored:
        counts = Counter(said)
        assert len(said) <= votes // 2 or counts["[[yes]]"] == counts["[[no]]"]
    else:
        counts = Counter(said)
        assert len(said) > votes // 2
        assert (counts["[[yes]]"] > counts["[[no]]"]) == (outcome.reward == 1.0)
    assert len(answered) <= tries


@given(st.lists(st.integers(0, 3), min_size=1))
def test_most_is_the_only_mode_or_the_tie(votes):
    counts = Counter(votes)
    modes = [value for value, count in counts.items() if count == max(counts.values())]
    assert most("x", votes, tie=-1) == (modes[0] if len(modes) == 1 else -1)
