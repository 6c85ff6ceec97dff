"""Manifests: what they may say, where they are found, and that each mistake is named with its place."""

import re
from pathlib import Path

import pytest

from odradek.programs import ProgramError, UnknownProgram, find_program, program_names, read_program
from odradek.programs.templates import NAMES

GUIDE = Path(__file__).parents[3] / "docs" / "harnesses.md"

AGENT = """
name = "agent"
dialect = "chat"
streams = false
command = ["agent", "--model={model}"]
stdin = "{prompt}"

[environment]
URL = "{base_url}"
KEY = "{token}"
"""


def written(folder: Path, text: str, name: str = "agent") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_all_that_come_with_odradek_can_be_read() -> None:
    names = program_names({})
    assert {"codex", "claude-code", "opencode", "pi", "mini-swe-agent", "langgraph"} <= set(names)
    for name in names:
        program = find_program(name, {})
        assert program.name == name
        assert program.install.check, name


def test_the_examples_of_the_guide_can_be_read(tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names = [read_program(written(tmp_path, example)).name for example in examples]
    assert names == ["my-agent", "my-service"]
    assert all(f"`{{{name}}}`" in GUIDE.read_text() for name in NAMES)


def test_a_folder_of_ones_own_goes_first(tmp_path: Path) -> None:
    written(tmp_path, AGENT)
    written(tmp_path, AGENT.replace('"agent"', '"codex"', 1), "codex")
    environment = {"ODRADEK_PROGRAMS_DIR": str(tmp_path)}
    assert find_program("agent", environment).folder == tmp_path.resolve()
    assert find_program("codex", environment).dialect == "chat"
    assert find_program("codex", {}).dialect == "responses"
    assert {"agent", "codex", "pi"} <= set(program_names(environment))


def test_an_unknown_one_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UnknownProgram, match=r"no program 'codx'; there are: .*codex.*ODRADEK_PROGRAMS_DIR"):
        find_program("codx", {})


def test_a_file_that_holds_another_name_is_refused(tmp_path: Path) -> None:
    written(tmp_path, AGENT, "other")
    with pytest.raises(ProgramError, match=r"other\.toml: name: is 'agent', but it is found as 'other'"):
        find_program("other", {"ODRADEK_PROGRAMS_DIR": str(tmp_path)})


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('stdin = "{prompt}"', 'stdin = "{promt}"', r"stdin: no value is called {promt}; there are prompt, model"),
        ('stdin = "{prompt}"', "", r"{prompt} is nowhere"),
        ('KEY = "{token}"', "", r"{token} is nowhere"),
        ('"--model={model}"', '"--key={token}"', r"command: holds {token}, which all on the machine can read"),
        ("KEY", "HOME", r"environment: 'HOME' is no variable that a manifest may set"),
        ('"chat"', '"chats"', r"dialect: Input should be 'chat', 'responses' or 'messages'"),
        ("streams", "stream", r"stream: Extra inputs are not permitted"),
        ("[environment]", '[files]\n"/etc/x.json" = "{}"\n[environment]', r"files\..*: '/etc/x.json' must be a path beneath"),
        ("[environment]", '[files]\n"../x.json" = "{}"\n[environment]', r"must be a path beneath the program's home"),
        ("[environment]", '[result]\nread = "all"\npath = "a"\n[environment]', r"result: match and path are for json"),
        ("command", "url = 'http://agent:1'\ncommand", r"give either command, to run it, or url, to ask it"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_place(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = written(tmp_path, AGENT.replace(old, new, 1))
    with pytest.raises(ProgramError, match=told) as caught:
        read_program(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_what_is_no_toml_and_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="is not TOML"):
        read_program(written(tmp_path, "name ="))
    with pytest.raises(ProgramError, match="can't be read"):
        read_program(tmp_path / "nothing.toml")
