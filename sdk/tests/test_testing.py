"""Playing in one process: what a worker would do, a test sees."""

import pytest
from pydantic import BaseModel, PrivateAttr

from odradek import (
    Environment,
    Harness,
    JsonObject,
    Message,
    Reward,
    Rollout,
    RowError,
    ToolResult,
    Trajectory,
    tool,
)
from odradek.demonstrations import demonstrate
from odradek.testing import ScriptTooShort, call, play, play_async
from odradek.transcript import function_calls, output_text, replies
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.rollouts import Limits, RolloutStatus


class Vault(Environment):
    """Says the word that opens it; the evidence needs the answer."""

    name = "vault"
    evidence_needs_answer = True

    class Task(BaseModel):
        hint: str

    class Answer(BaseModel):
        word: str

    class State(BaseModel):
        tried: list[str] = []
        _last: str = PrivateAttr("")

    def prompt(self, task: Task) -> list[Message]:
        return [
            *demonstrate("Open it.", [("say", {"word": "x"}, "no")], "I can't."),
            Message(role="user", content=task.hint),
        ]

    def observe(self, state: State) -> list[Message]:
        return [Message(role="user", content="The vault is shut.")]

    @tool
    def say(self, state: State, word: str) -> ToolResult:
        """Say a word to the vault."""
        state.tried.append(word)
        last, state._last = state._last, word
        return ToolResult(f"before: {last!r}", done=word == "stop")

    def evidence(self, state: State, task: Task, answer: Answer) -> JsonObject:
        return {"opened": answer.word in state.tried}

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        return Reward(reward=float(trajectory.evidence["opened"]), details={"word": answer.word})


TASK, ANSWER = Vault.Task(hint="A seed."), Vault.Answer(word="sesame")


def test_a_task_with_its_answer_is_played_and_scored():
    played = play(Vault(), TASK, [call("say", word="sesame"), "Open."], answer=ANSWER)
    assert played.reward == Reward(reward=1.0, details={"word": "sesame"})
    assert played.trajectory.status is RolloutStatus.COMPLETED
    assert played.trajectory.turns == 2
    assert play(Vault(), TASK, [call("say", word="salt"), "Open."], answer=ANSWER).reward.reward == 0.0


async def test_there_is_a_coroutine_for_coroutines():
    played = await play_async(Vault(), TASK, ["No."], answer=ANSWER)
    assert played.reward.reward == 0.0


def test_evidence_gathered_with_the_answer_is_not_in_the_open():
    trajectory = play(Vault(), TASK, ["No."], answer=ANSWER).trajectory
    assert trajectory.evidence is None
    assert trajectory.sealed_evidence is not None


def test_what_is_not_in_the_log_does_not_last():
    played = play(Vault(), TASK, [call("say", word="a"), call("say", word="b"), "Done."], answer=ANSWER)
    assert played.observations == ["before: ''", "before: ''"]
    assert played.trajectory.final_state == {"tried": ["a", "b"]}


def test_prompt_and_first_observation_are_not_the_models_doing():
    played = play(Vault(), TASK, [[call("say", word="a"), call("say", word="b")], "Do", "ne"], answer=ANSWER)
    assert played.trajectory.messages[played.trajectory.prompt_messages - 1].text == "The vault is shut."
    assert [c.arguments for c in function_calls(played.trajectory)] == ['{"word": "a"}', '{"word": "b"}']
    assert output_text(played.trajectory) == "Do"
    assert len(replies(played.trajectory)) == 2
    assert played.replies_left == 1


def test_calls_get_ids_that_their_results_carry():
    played = play(Vault(), TASK, [[call("say", word="a"), call("say", word="b")], "Done."], answer=ANSWER)
    asked = [c.id for reply in replies(played.trajectory) for c in reply.tool_calls or []]
    answered = [m.tool_call_id for m in played.trajectory.messages if m.role == "tool"][-2:]
    assert len(set(asked)) == 2
    assert answered == asked


def test_a_tool_may_end_the_episode():
    played = play(Vault(), TASK, [call("say", word="stop"), "never said"], answer=ANSWER)
    assert (played.trajectory.status, played.replies_left) == (RolloutStatus.COMPLETED, 1)


def test_a_bound_truncates_and_is_scored():
    again = [call("say", word="sesame")] * 5
    played = play(Vault(), TASK, again, answer=ANSWER, limits=Limits(max_turns=2))
    assert played.trajectory.status is RolloutStatus.TRUNCATED
    assert played.trajectory.truncated_by == "max_turns"
    assert played.reward.reward == 1.0


def test_a_failure_that_passes_makes_a_new_attempt():
    down = Failure(kind=FailureKind.UPSTREAM_UNAVAILABLE, stage=Stage.MODEL, message="down")
    played = play(
        Vault(), TASK, [call("say", word="x"), down, call("say", word="sesame"), "Open."], answer=ANSWER
    )
    assert played.trajectory.attempt == 2
    assert played.trajectory.final_state == {"tried": ["sesame"]}
    assert played.reward.reward == 1.0


def test_a_failure_that_stays_is_not_scored():
    refused = Failure(kind=FailureKind.INVALID_REQUEST, stage=Stage.MODEL, message="no")
    played = play(Vault(), TASK, [refused], answer=ANSWER)
    assert played.trajectory.status is RolloutStatus.FAILED
    assert played.trajectory.failure == refused
    assert played.reward is None


def test_a_script_that_ends_too_early_says_where():
    with pytest.raises(ScriptTooShort, match="reply 2 after tool: \"before: ''\""):
        play(Vault(), TASK, [call("say", word="a")], answer=ANSWER)


def test_a_row_that_does_not_fit_is_refused():
    with pytest.raises(RowError, match="answer"):
        play(Vault(), TASK, ["No."])


class Patient(Harness):
    name = "patient"

    async def run(self, rollout: Rollout) -> None:
        began = rollout.now()
        await rollout.sleep(1800)
        rollout.add(Message(role="user", content=f"waited {(rollout.now() - began).total_seconds() >= 1800}"))
        await rollout.model(temperature=0.0)


def test_a_harness_of_ones_own_sleeps_without_waiting():
    played = play(Vault(), TASK, ["Yes."], answer=ANSWER, harness=Patient())
    assert played.trajectory.harness == "patient"
    assert "waited True" in [message.text for message in played.trajectory.messages]


def test_deadlines_pass_at_once():
    played = play(
        Vault(), TASK, ["Yes."], answer=ANSWER, harness=Patient(), limits=Limits(rollout_seconds=10)
    )
    assert played.trajectory.failure.kind is FailureKind.ROLLOUT_DEADLINE
    assert played.reward is None


def test_a_harness_by_name():
    played = play(Vault(), TASK, [call("say", word="sesame")], answer=ANSWER, harness="single_turn")
    assert played.observations == []
    assert played.reward.reward == 0.0
