"""How a program ended: its result where its manifest says, and its failure whatever the exit code."""

import json
from typing import Any

import pytest

from odradek.programs import Program, Trouble
from odradek.programs.outcome import MOST_LOG, MOST_RESULT, Ending, Outcome, conclude
from odradek.programs.reading import Written


def program(result: dict[str, Any], *failed: dict[str, Any], log: dict[str, Any] | None = None) -> Program:
    return Program.model_validate(
        {
            "name": "agent",
            "dialect": "chat",
            "streams": False,
            "command": ["agent", "{prompt}", "{base_url}"],
            "environment": {"KEY": "{token}"},
            "result": result,
            "failed": failed,
            "log": log or {"stream": "stderr"},
        }
    )


def ended(
    agent: Program, stdout: str = "", *, code: int | None = 0, stderr: str = "", **files: str
) -> Outcome:
    written = Written(stdout, stderr, {name.replace("_", "."): text for name, text in files.items()})
    return conclude(agent, Ending(code, written), seconds=60.0).kept("key-1")


def lines(*events: Any) -> str:
    written = (event if isinstance(event, str) else json.dumps(event, ensure_ascii=False) for event in events)
    return "\n".join(written) + "\n"


def test_a_result_is_the_whole_output_or_its_last_line() -> None:
    assert ended(program({}), "\na\nb\n").result == "a\nb"
    assert ended(program({"read": "last_line"}), "a\nb\n\n").result == "b"


def test_a_result_in_a_file() -> None:
    agent = program({"file": "out.json", "read": "json", "path": "info.0.text"})
    assert ended(agent, out_json=json.dumps({"info": [{"text": "b"}]})).result == "b"


def test_a_result_in_the_last_event_that_fits() -> None:
    agent = program(
        {"read": "jsonl", "match": {"type": "end", "message.role": "agent"}, "path": "message.parts.*.text"}
    )
    said = [{"kind": "thought"}, {"text": "4\u2028"}, {"text": "2"}]
    stdout = lines(
        "starting ...",
        {"type": "end", "message": {"role": "agent", "parts": [{"text": "first"}]}},
        {"type": "end", "message": {"role": "agent", "parts": said}},
        {"type": "end", "message": {"role": "user", "parts": [{"text": "mine"}]}},
        {"type": "other"},
        '{"type": "end", "message"',
    )
    assert ended(agent, stdout).result == "4\u20282"


def test_a_result_at_the_first_of_several_paths() -> None:
    agent = program({"read": "jsonl", "path": "said.text | finish.message"})
    assert ended(agent, lines({"finish": {"message": "a"}}, {"other": 1})).result == "a"
    assert ended(agent, lines({"finish": {"message": "a"}}, {"said": {"text": "b"}})).result == "b"


@pytest.mark.parametrize("stdout", ["", "no json", "[" * 100_000, '{"other": 1}', '{"result": null}'])
def test_a_result_that_is_not_there_is_a_failure(stdout: str) -> None:
    agent = program({"read": "json", "path": "result"})
    assert ended(agent, stdout).trouble is Trouble.NO_RESULT


def test_a_model_may_end_without_a_word_where_the_manifest_says_so() -> None:
    outcome = ended(program({"read": "json", "path": "result", "optional": True}))
    assert (outcome.failed, outcome.result) == (False, None)


def test_an_exit_code_is_a_failure_with_the_last_words() -> None:
    outcome = ended(program({}), "a result", code=2, stderr="Trace\nValueError: no\n")
    assert (outcome.trouble, outcome.reason) == (Trouble.EXIT_CODE, "exit code 2: ValueError: no")
    assert ended(program({}), code=128 + 11).reason == "ended by SIGSEGV"


def test_time_that_was_up_is_told_before_all_else() -> None:
    outcome = ended(program({}), "half a result", code=None, stderr="retrying")
    assert (outcome.trouble, outcome.result) == (Trouble.TIMED_OUT, None)
    assert outcome.reason == "it had not ended after 60 s and was killed"
    assert outcome.log_tail == "retrying"


SAYS_ERROR = {"read": "json", "path": "is_error", "when": [True], "reason": "words"}


def test_a_sign_counts_whatever_the_exit_code() -> None:
    agent = program({"read": "json", "path": "result"}, SAYS_ERROR)
    outcome = ended(agent, '{"is_error": true, "words": "no credit", "result": "?"}')
    assert (outcome.trouble, outcome.reason) == (Trouble.REPORTED, "no credit")
    assert not ended(agent, '{"is_error": false, "result": "fine"}').failed


def test_what_must_be_said_and_is_not_is_a_sign() -> None:
    agent = program({}, {"file": "usage.json", "read": "json", "path": "completed", "unless": [True]})
    assert ended(agent, "done", usage_json='{"completed": true}').result == "done"
    assert ended(agent, "done", usage_json='{"completed": false}').reason == "it says completed: false"
    assert ended(agent, "done").reason == "it says completed: nothing"


def test_a_sign_may_be_that_an_event_is_there() -> None:
    agent = program({}, {"read": "jsonl", "match": {"type": "failed"}, "path": "error.message"})
    assert ended(agent, lines({"type": "failed", "error": {"message": "refused"}}, {})).reason == "refused"
    assert not ended(agent, lines({"type": "fine"})).failed


def test_the_token_is_in_nothing_that_is_kept() -> None:
    agent = program({"read": "json", "path": "result"}, SAYS_ERROR)
    fine = ended(agent, '{"result": "my key is key-1"}', stderr="using key-1")
    bad = ended(agent, '{"is_error": true, "words": "key-1 is refused"}', stderr="using key-1")
    worse = ended(agent, "{}", code=1, stderr="key-1 is refused")
    assert "key-1" not in repr([fine, bad, worse])
    assert (fine.result, bad.reason) == ("my key is ***", "*** is refused")


def test_what_is_kept_has_an_end() -> None:
    outcome = ended(program({}), "r" * (MOST_RESULT + 1), stderr="l" * MOST_LOG + "end")
    assert len(outcome.result or "") == MOST_RESULT
    assert len(outcome.log_tail) == MOST_LOG
    assert outcome.log_tail.endswith("end")
