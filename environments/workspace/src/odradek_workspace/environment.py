"""A folder of text files in which something is to be done."""

from pathlib import Path

from pydantic import BaseModel, Field, field_validator

from odradek import Environment, JsonObject, Message, Reward, ToolError, Trajectory, tool
from odradek_workspace import folder


def _checked(files: dict[str, str]) -> dict[str, str]:
    return {folder.checked(path): text for path, text in files.items()}


class Workspace(Environment):
    """Read some files, write others. What must be there at the end is in the answer."""

    name = "workspace"

    class Task(BaseModel):
        instruction: str | None = Field(default=None, description="None: the row brings its own messages.")
        files: dict[str, str] = Field(default_factory=dict, description="Text by relative path.")

        _check = field_validator("files")(_checked)

    class Answer(BaseModel):
        expected_files: dict[str, str] = Field(min_length=1)

        _check = field_validator("expected_files")(_checked)

    class State(BaseModel):
        files: dict[str, str]
        left_out: list[str] = Field(default_factory=list)

    def prompt(self, task: Task) -> list[Message]:
        return [] if task.instruction is None else [Message(role="user", content=task.instruction)]

    def reset(self, task: Task, seed: int) -> State:
        return self.State(files=dict(task.files))

    def furnish(self, state: State, workspace: Path) -> None:
        folder.write(workspace, state.files)

    def collect(self, state: State, workspace: Path) -> None:
        state.files, state.left_out = folder.read(workspace)

    @tool
    def list_files(self, state: State) -> list[str]:
        """List the paths of all files."""
        return sorted(state.files)

    @tool
    def read_file(self, state: State, path: str) -> str:
        """Read a file."""
        if path not in state.files:
            raise ToolError(f"There is no file {path!r}. Files: {', '.join(sorted(state.files)) or 'none'}.")
        return state.files[path]

    @tool
    def write_file(self, state: State, path: str, content: str) -> str:
        """Write a file; one that is there is replaced."""
        try:
            files = {**state.files, folder.checked(path): content}
        except ValueError as error:
            raise ToolError(f"{error}.") from error
        if sum(len(text.encode()) for text in files.values()) > folder.MOST_BYTES:
            raise ToolError(f"The files may have {folder.MOST_BYTES} bytes in all.")
        state.files = files
        return f"Wrote {path}."

    def evidence(self, state: State, task: Task, answer: None) -> JsonObject:
        return {"files": {**state.files}}

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        if trajectory.evidence is None:
            raise ValueError("the trajectory has no evidence: its session was never closed")
        found = self.State.model_validate(trajectory.evidence).files
        wanted = answer.expected_files
        missing = [path for path in wanted if path not in found]
        different = [path for path in wanted if path in found and found[path].strip() != wanted[path].strip()]
        share = 1 - (len(missing) + len(different)) / len(wanted)
        return Reward(
            reward=share,
            components={"files": share},
            details={"missing": [*missing], "different": [*different]},
        )
