"""A verifier that asks goes on with the replies, however often it is begun again."""

import pytest

from odradek import Message, Question, Reply, Reward, Verification
from odradek.judging import MOST_QUESTIONS, MOST_ROUNDS, advance


def question(name: str) -> Question:
    return Question(name=name, messages=[Message(role="user", content=f"{name}?")])


def reply(name: str, said: str) -> Reply:
    return Reply(question=name, message=Message(role="assistant", content=said))


def twice() -> Verification:
    first, second = yield [question("a"), question("b")]
    (third,) = yield [question(f"c after {first.message.text}")]
    return Reward(reward=float(first.message.text + second.message.text + third.message.text))


def test_a_plain_reward_needs_no_replies():
    assert advance(Reward(reward=0.5), []) == Reward(reward=0.5)


def test_it_asks_round_after_round_and_ends_with_its_reward():
    assert [q.name for q in advance(twice(), [])] == ["a", "b"]
    first = [reply("a", "1"), reply("b", "2")]
    assert [q.name for q in advance(twice(), [first])] == ["c after 1"]
    assert advance(twice(), [first, [reply("c after 1", "3")]]) == Reward(reward=123.0)


def test_one_that_asks_otherwise_the_second_time_is_found_out():
    with pytest.raises(ValueError, match=r"asked \['z'\] before and asks \['a', 'b'\] now: it is not pure"):
        advance(twice(), [[reply("z", "1")]])


def endless() -> Verification:
    while True:
        yield [question("again")]


@pytest.mark.parametrize(
    ("verdict", "rounds", "error", "reason"),
    [
        (endless(), [[reply("again", "no")]] * MOST_ROUNDS, ValueError, f"a {MOST_ROUNDS + 1}th time"),
        ((q for q in [[]]), [], ValueError, "0 questions"),
        (
            (q for q in [[question("x")] * (MOST_QUESTIONS + 1)]),
            [],
            ValueError,
            f"{MOST_QUESTIONS + 1} questions",
        ),
        ((q for q in ()), [], TypeError, "must return a Reward, not NoneType"),
        (1.0, [], TypeError, "must return a Reward, not float"),
    ],
)
def test_what_is_no_verification_is_refused(verdict, rounds, error, reason):
    with pytest.raises(error, match=reason):
        advance(verdict, rounds)
