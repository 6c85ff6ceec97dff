"""Instructions about the form of a reply, in one turn."""

from enum import StrEnum

from pydantic import BaseModel, Field, JsonValue, model_validator

from odradek import Environment, JsonObject, Message, Reward, Trajectory
from odradek.verifiers import instructions


class GradingMode(StrEnum):
    """What the reward is: whether all instructions are followed, or the share of them that is."""

    BINARY = "binary"
    FRACTION = "fraction"


class InstructionTask(BaseModel):
    """`kwargs` go with `instruction_id_list`: the arguments of each, null where it takes none."""

    instruction_id_list: list[str] = Field(min_length=1)
    kwargs: list[JsonObject | None]
    prompt: str | None = Field(default=None, description="None: the row brings its own messages.")
    grading_mode: GradingMode = GradingMode.BINARY

    @model_validator(mode="after")
    def _check_instructions(self) -> "InstructionTask":
        if len(self.kwargs) != len(self.instruction_id_list):
            raise ValueError(
                f"{len(self.instruction_id_list)} instructions need as many kwargs, not {len(self.kwargs)}"
            )
        for name, arguments in self.uses:
            instructions.find(name).read(arguments)
        return self

    @property
    def uses(self) -> list[tuple[str, JsonObject | None]]:
        """Each instruction with its arguments."""
        return list(zip(self.instruction_id_list, self.kwargs, strict=True))


class InstructionFollowing(Environment):
    """One reply that is to follow instructions which a program can check."""

    name = "instruction_following"
    harness = "single_turn"
    Task = InstructionTask
    libraries = ("py3langid",)

    def prompt(self, task: InstructionTask) -> list[Message]:
        return [] if task.prompt is None else [Message(role="user", content=task.prompt)]

    def warm_up(self) -> None:
        instructions.languages.load()

    def verify(self, trajectory: Trajectory, answer: None) -> Reward:
        task = InstructionTask.model_validate(trajectory.task)
        said = trajectory.final_message
        text = said.text if said else ""
        followed = [instructions.follows(text, name, arguments) for name, arguments in task.uses]
        share, everything = sum(followed) / len(followed), float(all(followed))
        return Reward(
            reward=everything if task.grading_mode is GradingMode.BINARY else share,
            components={"all_followed": everything, "share_followed": share},
            details={"followed": list[JsonValue](followed)},
        )
