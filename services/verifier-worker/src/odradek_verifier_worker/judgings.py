"""Scorings that wait for judges: questions out, replies in, and the verifier run again with them.

A trajectory's record is done with as soon as its questions are in the log. What the scoring waits for lies in the
changelog, and goes on from there after any death: no question is asked twice, no answer is paid for twice. Each step
of a scoring is taken under its lock, so what is written of it is written in order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from odradek_runtime.records import Output, Outputs, Tombstone
from odradek_schemas.codec import RecordError
from odradek_schemas.events import (
    AskedQuestion,
    JudgingChanged,
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
    RecordCoordinates,
    TrajectoryFinished,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.ids import judge_call_id, judging_id, judging_of
from odradek_schemas.rollouts import Judgement, Question, Reply
from odradek_schemas.topics import JUDGING, MODEL_CALLS, REWARDS
from odradek_scoring.assigning import announce, unreadable
from odradek_scoring.exchange import Verdict
from odradek_scoring.scorer import Scorer, replies
from odradek_scoring.scoring import Scoring

GRACE_SECONDS = 30.0
"""How long after its deadline a call's failure may still come from the gateway."""

ReadTrajectory = Callable[[RecordCoordinates], Awaitable[TrajectoryFinished]]
Result = ModelCallCompleted | ModelCallFailed


@dataclass(slots=True)
class _Judging:
    """`event` None: it is to be read again, the scoring comes from the changelog."""

    state: JudgingChanged
    event: TrajectoryFinished | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Judgings:
    """The open ones of a partition. `seconds`: most time for a judge's answer."""

    def __init__(
        self, scorer: Scorer, read: ReadTrajectory, seconds: float, clock: Callable[[], datetime]
    ) -> None:
        self._scorer = scorer
        self._read = read
        self._seconds = seconds
        self._clock = clock
        self._open: dict[str, _Judging] = {}

    def __len__(self) -> int:
        return len(self._open)

    def restore(self, key: str, state: JudgingChanged | None) -> None:
        if state is None:
            self._open.pop(key, None)
        else:
            self._open[key] = _Judging(state)

    def close(self) -> None:
        """They are the next owner's."""
        self._open.clear()

    async def score(
        self, event: TrajectoryFinished, value: bytes, at: RecordCoordinates, scoring: Scoring
    ) -> Outputs:
        """Begin a scoring: its reward, or its first questions. One that is open already is not begun again."""
        return self.begin(event, at, scoring, await self._scorer.submit(event, value, scoring))

    def begin(
        self, event: TrajectoryFinished, at: RecordCoordinates, scoring: Scoring, verdict: Verdict
    ) -> Outputs:
        """The same, with what the verifier said at first."""
        key = judging_id(event.rollout_id, scoring.name)
        if key in self._open:
            return []
        if not verdict.questions:
            return [Output(REWARDS.name, announce(event, verdict, at, scoring.name))]
        blank = JudgingChanged(
            id=key,
            run_id=event.run_id,
            rollout_id=event.rollout_id,
            scoring=scoring.name,
            verifier=scoring.verifier,
            settings=scoring.settings,
            record=at,
            asked=[],
            deadline=self._clock(),
        )
        judging = self._open[key] = _Judging(blank, event)
        return self._ask(judging, event, verdict.questions)

    async def hear(self, result: Result) -> Outputs:
        """Take a judge's answer. One that nobody waits for is no news: its scoring is over."""
        judging = self._open.get(judging_of(result.call_id))
        if judging is None:
            return []
        async with judging.lock:
            return await self._take(judging, [result])

    def overdue(self) -> list[str]:
        """The scorings for whose judges the time is up."""
        return [key for key, judging in self._open.items() if self._is_overdue(judging)]

    def _is_overdue(self, judging: _Judging) -> bool:
        return judging.state.deadline < self._clock() - timedelta(seconds=GRACE_SECONDS)

    async def expire(self, key: str) -> Outputs:
        """Go on without what has not come by now. One that has asked anew meanwhile has time again."""
        judging = self._open.get(key)
        if judging is None:
            return []
        async with judging.lock:
            if not self._is_overdue(judging):
                return []
            missing = [asked for asked in judging.state.asked if asked.judgement is None]
            return await self._take(judging, [_unanswered(judging.state, asked) for asked in missing])

    async def _take(self, judging: _Judging, results: Iterable[Result]) -> Outputs:
        found = {result.call_id: result for result in results}
        state = judging.state
        if self._open.get(state.id) is not judging:
            return []
        asked = [_heard(question, found.get(question.call_id)) for question in state.asked]
        judging.state = state.model_copy(update={"asked": asked})
        judged = [question.judgement for question in asked if question.judgement is not None]
        if len(judged) < len(asked):
            return [Output(JUDGING.name, judging.state)]
        judging.state = judging.state.model_copy(update={"rounds": [*state.rounds, judged], "asked": []})
        return await self._go_on(judging)

    async def _go_on(self, judging: _Judging) -> Outputs:
        state = judging.state
        scoring = Scoring(state.scoring, state.verifier, state.settings)
        try:
            event = judging.event = judging.event or await self._read(state.record)
        except RecordError as error:
            return self._lost(judging, error)
        verdict = await self._scorer.submit(event, b"", scoring, replies(state.rounds))
        if verdict.questions:
            return self._ask(judging, event, verdict.questions)
        return self._end(judging, event, verdict)

    def _ask(self, judging: _Judging, event: TrajectoryFinished, questions: list[Question]) -> Outputs:
        state, round_ = judging.state, len(judging.state.rounds)
        deadline = self._clock() + timedelta(seconds=self._seconds)
        calls = [
            ModelCallRequested(
                id=judge_call_id(state.id, round_, number),
                run_id=state.run_id,
                rollout_id=state.rollout_id,
                model=question.model or event.trajectory.model,
                messages=question.messages,
                sampling=question.sampling,
                deadline=deadline,
            )
            for number, question in enumerate(questions)
        ]
        asked = [
            AskedQuestion(call_id=call.id, question=question.name, model=call.model)
            for call, question in zip(calls, questions, strict=True)
        ]
        judging.state = state.model_copy(update={"asked": asked, "deadline": deadline})
        return [*(Output(MODEL_CALLS.name, call) for call in calls), Output(JUDGING.name, judging.state)]

    def _end(self, judging: _Judging, event: TrajectoryFinished, verdict: Verdict) -> Outputs:
        state = judging.state
        del self._open[state.id]
        judgements = [judgement for judged in state.rounds for judgement in judged]
        reward = announce(event, verdict, state.record, state.scoring, judgements)
        return [Output(REWARDS.name, reward), Tombstone(JUDGING.name, state.id)]

    def _lost(self, judging: _Judging, error: RecordError) -> Outputs:
        """The trajectory can't be read any more, so there is nothing to make a reward of but the failure."""
        state = judging.state
        del self._open[state.id]
        reward = unreadable(state.rollout_id, error, state.record, state.scoring)
        assert reward is not None, "the state names its rollout"
        return [Output(REWARDS.name, reward), Tombstone(JUDGING.name, state.id)]


def _heard(asked: AskedQuestion, result: Result | None) -> AskedQuestion:
    if result is None or asked.judgement is not None:
        return asked
    if isinstance(result, ModelCallFailed):
        reply = Reply(question=asked.question, failure=result.failure)
        judgement = Judgement(call_id=asked.call_id, model=asked.model, reply=reply)
    else:
        reply = Reply(question=asked.question, message=result.message)
        judgement = Judgement(
            call_id=asked.call_id, model=result.model, reply=reply, usage=result.usage, cost=result.cost
        )
    return asked.model_copy(update={"judgement": judgement})


def _unanswered(state: JudgingChanged, asked: AskedQuestion) -> ModelCallFailed:
    message = f"the judge {asked.model!r} gave no answer by {state.deadline:%H:%M:%S}"
    return ModelCallFailed(
        id=f"{asked.call_id}/failed",
        run_id=state.run_id,
        rollout_id=state.rollout_id,
        call_id=asked.call_id,
        failure=Failure(kind=FailureKind.MODEL_DEADLINE, stage=Stage.VERIFY, message=message),
    )
