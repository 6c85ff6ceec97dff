"""The reward is the share of the wanted letter in the reply."""

from pydantic import BaseModel, Field

from odradek import Environment, Message, Reward, Trajectory

LONGEST = 16
"""Letters of a reply that count."""


class Letters(Environment):
    """Asks for a letter; a reply is worth the share of that letter among `LONGEST`, from 0 to 1."""

    name = "letters"
    harness = "single_turn"

    class Task(BaseModel):
        letter: str = Field(pattern="^[a-z]$")

    def prompt(self, task: Task) -> list[Message]:
        return [Message(role="user", content=f"write {task.letter}:")]

    def verify(self, trajectory: Trajectory, answer: None) -> Reward:
        wanted = self.Task.model_validate(trajectory.task).letter
        said = trajectory.final_message
        count = said.text[:LONGEST].count(wanted) if said else 0
        return Reward(reward=count / LONGEST, details={"wanted": wanted})
