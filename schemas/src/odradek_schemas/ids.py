"""Deterministic ids: the same request has the same id wherever and however often it is made.

run
run/task/sample                      a rollout
run/task/sample/attempt              a session
run/task/sample/attempt/step         a model call or a tool call
run/task/sample/judge/scoring        a scoring that asks judges
.../judge/scoring/round.question     a call of its own

What is said about a call or a session is named after it: `<call>/completed`, `<call>/failed`, `<session>/open`,
`<session>/close`, `<session>/ready`, `<session>/closed`, `<session>/failed`.
"""

import re

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_run_id(run_id: str) -> str:
    """Return `run_id` if it can stand in every id below it.

    Raises:
        ValueError: it is empty, longer than 100 characters, or holds other than letters, digits, `.`, `_`, `-`.
    """
    if not _RUN_ID.fullmatch(run_id):
        raise ValueError(
            f"run id {run_id!r}: use 1 to 100 letters, digits, '.', '_' or '-', first a letter or digit"
        )
    return run_id


def task_id(run_id: str, index: int) -> str:
    return f"{run_id}/{index}"


def rollout_id(run_id: str, task_index: int, sample: int) -> str:
    return f"{run_id}/{task_index}/{sample}"


def session_id(rollout: str, attempt: int) -> str:
    return f"{rollout}/{attempt}"


def call_id(rollout: str, attempt: int, step: int) -> str:
    return f"{rollout}/{attempt}/{step}"


def judging_id(rollout: str, scoring: str) -> str:
    return f"{rollout}/judge/{scoring}"


def judge_call_id(judging: str, round_: int, question: int) -> str:
    return f"{judging}/{round_}.{question}"


def is_judge_call(any_id: str) -> bool:
    """Whether a call, or what is said about one, is a verifier's."""
    return any_id.split("/", 4)[3:4] == ["judge"]


def judging_of(call_id: str) -> str:
    """The scoring that a judge's call belongs to."""
    return call_id.rpartition("/")[0]


def scoring_of(any_id: str) -> str | None:
    """For which scoring a call was asked that is a verifier's; None: it is a rollout's own."""
    return any_id.split("/", 5)[4] if is_judge_call(any_id) else None


def run_of(any_id: str) -> str:
    """The run that an id below it belongs to."""
    return any_id.partition("/")[0]


def rollout_of(any_id: str) -> str:
    """The rollout that a session or call id belongs to."""
    return "/".join(any_id.split("/", 3)[:3])


def subject_of(event_id: str) -> str:
    """The call or session that an event is about, by the event's id alone (its value may be unreadable)."""
    return event_id.rpartition("/")[0]
