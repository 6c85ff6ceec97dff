"""How the recordings of each environment are replayed, and where another reward is right.

Most need no entry: the model's recorded replies are played against the environment, with its own tools and evidence, and
the trajectory is scored. An entry may set the environment, replay otherwise, or say why some rows come out differently.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from odradek import Environment, JsonObject, Question
from odradek.dialects.responses import read_output
from odradek.testing import play
from odradek_schemas.failures import Failure, FailureKind, Stage
from tests.oracle.recordings import Recording
from tests.oracle.workplace import replay_with_true_actions

Replay = Callable[[Environment, Recording], float | None]
"""The reward that a recording gets from our verifier, None where it is masked."""


def replay(environment: Environment, recording: Recording) -> float | None:
    """The recorded replies, played once more."""
    reward = play(environment, recording.task, recording.rollout.replies).reward
    return None if reward is None else reward.reward


def replay_with_judge(environment: Environment, recording: Recording) -> float | None:
    """The recorded replies, played once more, and what the judge said then."""
    said = _judge_said(recording.row)

    def judge(question: Question) -> str | Failure:
        nothing = Failure(
            kind=FailureKind.UNSCORED, stage=Stage.VERIFY, message=f"{question.name}: nothing is recorded"
        )
        return next(said, nothing)

    reward = play(environment, recording.task, recording.rollout.replies, judge=judge).reward
    return None if reward is None else reward.reward


def _judge_said(row: JsonObject) -> Iterator[str]:
    evaluations = row.get("judge_evaluations")
    for evaluation in evaluations if isinstance(evaluations, list) else ():
        assert isinstance(evaluation, dict)
        response = evaluation["response"]
        assert isinstance(response, dict)
        yield read_output(response["output"])[-1].text  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    """`differing`: for rows, counted from 0, whose reward is not the recorded one, why ours is right.

    `note` is said in any case. `library`: a module that not every installation has; without it, the environment's line is
    left as it is.
    """

    settings: JsonObject = field(default_factory=dict)
    replay: Replay = replay
    differing: Mapping[int, str] = field(default_factory=dict)
    note: str = ""
    library: str | None = None

    @property
    def can_be_replayed(self) -> bool:
        return self.library is None or find_spec(self.library) is not None


_HIDDEN = (
    "masked: the hidden tests are not shipped; on cases of the same task, made by its definition, the recorded programs get"
    " the recorded 0 (the environment's tests)"
)

CASES: dict[str, Case] = {
    "code_gen": Case(settings={"seconds": 20}),
    "competitive_coding_challenges": Case(differing=dict.fromkeys(range(5), _HIDDEN)),
    "reasoning_gym": Case(library="reasoning_gym"),
    "mcqa": Case(
        differing={
            2: "recorded as 0 by an older rule; NeMo Gym 0.7.0 itself gives 1: the box holds the letter with its text behind"
        }
    ),
    "math_with_judge": Case(
        settings={"judge_model": "recorded"},
        replay=replay_with_judge,
        note="where the judge was asked, its recorded words are read again",
    ),
    "workplace_assistant": Case(
        replay=replay_with_true_actions,
        note="the true actions are not recorded, and were worked out by hand; the 8 recorded tool outputs come out too",
    ),
}
