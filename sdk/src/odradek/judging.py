"""Verifiers that ask judges: the questions go out between two looks at the same trajectory.

Such a `verify` is a generator. What it yields is asked of models (in the workers through `model-calls`, like every
call), and it goes on with the replies:

    def verify(self, trajectory, answer):
        [reply] = yield [Question(name="equal", messages=prompt(trajectory, answer))]
        return Reward(reward=float(read(reply)))

Nothing waits in the process in the meantime: it is run again from its beginning, with the replies that are known by
then. So it must be pure, and ask the same questions each time.
"""

from collections.abc import Generator, Sequence

from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.rollouts import Question, Reply, Reward

Verification = Generator[Sequence[Question], list[Reply], Reward]
"""Yields questions, is sent their replies in the same order, returns the reward."""

Rounds = Sequence[Sequence[Reply]]
"""The replies to what was asked so far, one list for each time that questions were yielded."""

MOST_ROUNDS = 8
MOST_QUESTIONS = 64
"""Of one round."""


class Unscored(Exception):
    """There is no telling what a trajectory is worth: its reward is masked, and says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure

    @classmethod
    def because(cls, message: str, kind: FailureKind = FailureKind.UNSCORED) -> "Unscored":
        return cls(Failure(kind=kind, stage=Stage.VERIFY, message=message))


def advance(verdict: Reward | Verification, rounds: Rounds) -> Reward | list[Question]:
    """What `verify` comes to with the replies known: a reward, or its next questions.

    Raises:
        TypeError: it gave neither.
        ValueError: it asks too much, asks nothing, or ended with replies left over (it is not pure).
    """
    if isinstance(verdict, Reward):
        return verdict
    if not isinstance(verdict, Generator):
        raise TypeError(f"verify must return a Reward, not {type(verdict).__name__}")
    try:
        questions = next(verdict)
        for replies in rounds:
            _check_replies(questions, replies)
            questions = verdict.send(list(replies))
    except StopIteration as end:
        return _returned(end.value)
    finally:
        verdict.close()
    return _checked(questions, len(rounds))


def _returned(reward: object) -> Reward:
    if not isinstance(reward, Reward):
        raise TypeError(f"verify must return a Reward, not {type(reward).__name__}")
    return reward


def _check_replies(questions: Sequence[Question], replies: Sequence[Reply]) -> None:
    asked, answered = [q.name for q in questions], [r.question for r in replies]
    if asked != answered:
        raise ValueError(f"verify asked {answered} before and asks {asked} now: it is not pure")


def _checked(questions: Sequence[Question], asked_before: int) -> list[Question]:
    if asked_before >= MOST_ROUNDS:
        raise ValueError(f"verify asks a {asked_before + 1}th time; {MOST_ROUNDS} times are the most")
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise ValueError(f"verify asks {len(questions)} questions at a time; use 1 to {MOST_QUESTIONS}")
    return list(questions)
