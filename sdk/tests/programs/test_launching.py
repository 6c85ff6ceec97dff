"""Calls put to programs: whatever a prompt holds, it arrives as it is, and nothing else changes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from odradek.programs import Call, Launch, LaunchError, Program, launch

CALL = Call(prompt="Do it.", model="m", base_url="http://gateway:1/", token="key", rollout_id="run/0/0")
NASTY = 'say "hi"\\, {token} {{x}} {nothing}\n\'\'\' """ # ${HOME} \x7f\u2028 é 🙂'


def program(**fields: Any) -> Program:
    given: dict[str, Any] = {
        "name": "agent",
        "dialect": "chat",
        "streams": False,
        "command": ["agent"],
        "stdin": "{prompt}",
        "environment": {"URL": "{base_url}/v1", "KEY": "{token}"},
    }
    return Program.model_validate(given | fields)


def launched(agent: Program, call: Call = CALL, **inherited: str) -> Launch:
    return launch(agent, call, home=Path("/h"), workspace=Path("/w"), seconds=59.9, inherited=inherited)


def asked(prompt: str) -> Call:
    return Call(prompt=prompt, model="m", base_url="http://gateway:1", token="key")


def test_nothing_is_inherited_but_what_is_named() -> None:
    got = launched(program(), PATH="/bin", AWS_SECRET="s", HTTPS_PROXY="http://me:pw@p", SSL_CERT_FILE="/c")
    assert got.environment == {
        "PATH": "/bin",
        "SSL_CERT_FILE": "/c",
        "HOME": "/h",
        "PWD": "/w",
        "TMPDIR": "/h/tmp",
        "URL": "http://gateway:1/v1",
        "KEY": "key",
    }
    assert "key" not in repr(got)
    assert "key" not in repr(CALL)


def test_all_placeholders_have_values() -> None:
    everything = "{model} {base_url} {rollout_id} {home} {workspace} {folder} {seconds} {{model}} {Model} {}"
    argv = launched(program(command=["agent", everything], folder=Path("/m"))).argv
    assert argv[1] == "m http://gateway:1 run/0/0 /h /w /m 59 {model} {Model} {}"


CONFIGURATIONS = {
    "a.json": '{"a": {"b": ["{prompt}"]}, "{prompt}": 1, "n": {seconds}}',
    "a.yaml": '{"a": {"b": ["{prompt}"]}, "{prompt}": 1, "n": {seconds}}',
    "a.toml": '"{prompt}" = 1\nn = {seconds}\n[a]\nb = ["""{prompt}"""]',
}


PROMPTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=2)


@given(prompt=PROMPTS | st.just(NASTY))
def test_a_value_stays_the_text_that_it_is(prompt: str) -> None:
    agent = program(command=["agent", "-p={prompt}"], files={**CONFIGURATIONS, "task.txt": "{prompt}"})
    got = launched(agent, asked(prompt))
    assert got.argv == ("agent", f"-p={prompt}")
    assert got.stdin == got.files["task.txt"] == prompt
    for name, parse in (("a.json", json.loads), ("a.yaml", json.loads), ("a.toml", tomllib.loads)):
        assert parse(got.files[name]) == {"a": {"b": [prompt]}, "n": 59, prompt: 1}


def test_code_is_left_alone() -> None:
    code = "print(f'{prompt}')"
    assert launched(program(files={"agent.py": code})).files == {"agent.py": code}


@pytest.mark.parametrize(
    ("path", "template", "told"),
    [
        ("a.json", '{"a": {prompt}}', "a.json: does not read with values in it"),
        ("a.json", '{"a": "{promt}"}', "a.json: no value is called {promt}"),
        ("a.toml", "a = '{prompt}'", "a.toml: does not read with values in it"),
        ("a.toml", "# {prompt}", "a.toml: {prompt} must stand within double quotes"),
        ("a.yaml", "a: {prompt}", "a.yaml: does not read with values in it"),
    ],
)
def test_a_placeholder_out_of_quotes_is_refused(path: str, template: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        program(files={path: template})


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("\0", "prompt holds NUL"),
        ("\ud800", "half a surrogate pair"),
        ("x" * 131_072, "an argument or variable of agent would have 131072 bytes"),
    ],
)
def test_what_no_argument_can_hold_is_refused(prompt: str, told: str) -> None:
    with pytest.raises(LaunchError, match=told):
        launched(program(command=["agent", "{prompt}"]), asked(prompt))


def test_standard_input_takes_a_prompt_of_any_length() -> None:
    assert len(launched(program(), asked("x" * 1_000_000)).stdin) == 1_000_000
