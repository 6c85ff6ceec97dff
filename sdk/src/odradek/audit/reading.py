"""From a record's JSON to a fact of its rollout. Only what the audit compares is looked at."""

from collections.abc import Callable
from typing import Any

from odradek.audit.digests import digest, digests, fields
from odradek.audit.facts import (
    Calls,
    Ending,
    Entry,
    Failure,
    Request,
    Result,
    Rollout,
    Score,
    Step,
    Task,
    Usage,
)
from odradek.audit.records import LogRecord, Place

IDENTITY = ("group", "sample", "environment", "harness", "model", "seed", "task", "sealed_answer")
"""What a trajectory repeats of its task."""
WORLD = ("environment", "task", "sealed_answer", "tools", "seed")
"""What a session is opened with."""
TOLD = (
    "status",
    "truncated_by",
    "environment",
    "model",
    "group",
    "sample",
    "attempt",
    "usage",
    "started_at",
    "finished_at",
)
"""What a reward repeats of its trajectory, besides the number of turns."""
LEFT = ("evidence", "sealed_evidence", "final_state")
"""What a session leaves behind."""

_Json = dict[str, Any]


def add(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    """Note what `record` tells.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: a field that is needed is missing or of another type.
    """
    told = (body["type"], body["id"], body["rollout_id"])
    if told != (record.type, record.id, record.rollout_id) or not record.rollout_id.startswith(
        body["run_id"]
    ):
        raise ValueError(
            f"headers say {record.type} {record.id} of {record.rollout_id}, the value says {told}"
        )
    _ADD[record.type](rollout, record, body)


def _task(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    rollout.tasks.append(
        Task(
            place=record.place,
            digest=digest(body),
            identity=fields(body, *IDENTITY),
            world=fields(body, *WORLD),
            model=body["model"],
            messages=digests(body["messages"]),
            tools=digest(body["tools"]),
            own_tools=bool(body["tools"]),
        )
    )


def _request(rollout: Rollout, record: LogRecord, request: Request) -> None:
    rollout.requests.setdefault(record.id, []).append(request)


def _model_call(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    request = Request(
        record.place,
        record.type,
        hash(record.value),
        model=body["model"],
        tools=digest(body["tools"]),
        messages=digests(body["messages"]),
    )
    _request(rollout, record, request)


def _tool_call(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    call = body["call"]
    told = (call["id"], call["function"]["name"], digest(call))
    request = Request(
        record.place,
        record.type,
        hash(record.value),
        call=told,
        turn=body["turn"],
        session_id=body["session_id"],
    )
    _request(rollout, record, request)


def _program(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    request = Request(
        record.place,
        record.type,
        hash(record.value),
        model=body["model"],
        session_id=body["session_id"],
    )
    _request(rollout, record, request)


def _opening(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    request = Request(
        record.place,
        record.type,
        hash(record.value),
        world=fields(body, *WORLD),
        session_id=body["session_id"],
    )
    _request(rollout, record, request)


def _closing(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    request = Request(
        record.place,
        record.type,
        hash(record.value),
        session_id=body["session_id"],
        discard=body["discard"],
    )
    _request(rollout, record, request)


def _result(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    kind, subject = record.type, subject_of(body)
    result = Result(record.place, kind, subject, digest(body))
    if kind == "ModelCallCompleted":
        message, asked = body["message"], body.get("asked")
        heard = None if asked is None else len(asked["messages"])
        result = result._replace(heard=heard)
        result = result._replace(step=_model_step(body), message=digest(message), calls=_calls(message))
    elif kind == "ToolCallCompleted":
        result = result._replace(step=_tool_step(body), message=digest(body["content"]))
    elif kind == "ProgramFinished":
        result = result._replace(step=_program_step(body))
    elif kind == "SessionReady":
        result = result._replace(observation=digests(body["observation"]), tools=digest(body["tools"]))
    elif kind == "SessionClosed":
        result = result._replace(left=fields(body, *LEFT))
    rollout.results.setdefault(subject, []).append(result)


def subject_of(body: _Json) -> str:
    """The call, session or timer that an input of a rollout is about."""
    return str(body.get("call_id") or body.get("session_id") or body.get("timer") or body["id"])


def _model_step(body: _Json) -> int:
    return fields(body, "finish_reason", "usage", "latency_ms", "tokens")


def _tool_step(body: _Json) -> int:
    return digest([body.get("is_error", False), body.get("interrupted", False), body.get("latency_ms")])


def _program_step(body: _Json) -> int:
    return fields(body, "exit_code", "result", "failed", "overdue", "log", "latency_ms")


def _entry(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    rollout.entries.append(_entry_of(record.place, body))


def _entry_of(place: Place, body: _Json) -> Entry:
    accepted, source = body["input"], body.get("source")
    usage = accepted.get("usage")
    return Entry(
        place=place,
        sequence=body["sequence"],
        type=accepted["type"],
        subject=subject_of(accepted),
        digest=digest(accepted),
        requests=tuple([made["id"] for made in body["requests"]]),
        source=None if source is None else place_of(source),
        ended=body.get("ended"),
        usage=None if usage is None else usage_of(usage),
        failure=_failure(accepted),
    )


def _failure(body: _Json) -> Failure | None:
    failure = body.get("failure")
    return None if failure is None else (failure["kind"], digest(failure))


def _snapshot(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    entries = [_entry_of(record.place, entry) for entry in body["entries"]]
    rollout.snapshots.append((record.place, tuple(print_of(entry) for entry in entries)))


def print_of(entry: Entry) -> int:
    """The digest of an entry, wherever it lies."""
    return hash(entry[1:])


def _ended(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    rollout.ends.append((record.place, body["status"]))


def _nothing(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    """A note about a stuck harness may come at any time, and more than once."""


def _trajectory(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    said = body["trajectory"]
    messages = said["messages"]
    if said["rollout_id"] != record.rollout_id or said["run_id"] != body["run_id"]:
        raise ValueError(f"a trajectory of {said['rollout_id']} in the name of {record.rollout_id}")
    steps = tuple([_step(step) for step in said["steps"]])
    rollout.endings.append(
        Ending(
            place=record.place,
            identity=fields(said, *IDENTITY),
            messages=digests(messages),
            prompt=said["prompt_messages"],
            steps=steps,
            observed=_observed(messages),
            tools=digest(said["tools"]),
            left=fields(said, *LEFT),
            status=said["status"],
            failure=_failure(said),
            attempt=said["attempt"],
            failed_attempts=len(said["failed_attempts"]),
            usage=usage_of(said["usage"]),
            told=digest([fields(said, *TOLD), sum(step.kind == "model" for step in steps)]),
        )
    )


def _step(step: _Json) -> Step:
    kind, context = step["kind"], step.get("context")
    return Step(
        kind=kind,
        call_id=step["call_id"],
        turn=step.get("turn", 0),
        message=step.get("message", 0),
        digest=_STEP_DIGESTS[kind](step),
        name=step.get("name", ""),
        context=None if context is None else tuple(context),
    )


_STEP_DIGESTS = {"model": _model_step, "tool": _tool_step, "program": _program_step}


def _calls(message: _Json) -> Calls:
    return tuple([(call["id"], digest(call)) for call in message.get("tool_calls") or ()])


def _observed(messages: list[_Json]) -> dict[int, tuple[str, int]]:
    return {
        index: (message.get("tool_call_id", ""), digest(message.get("content")))
        for index, message in enumerate(messages)
        if message["role"] == "tool"
    }


def _reward(rollout: Rollout, record: LogRecord, body: _Json) -> None:
    rollout.scores.append(
        Score(
            place=record.place,
            masked=body["masked"],
            null=body.get("reward") is None,
            status=body["status"],
            failure=_failure(body),
            told=digest([fields(body, *TOLD), body["turns"]]),
            trajectory=place_of(body["trajectory"]),
        )
    )


def place_of(coordinates: _Json) -> Place:
    return Place(coordinates["topic"], coordinates["partition"], coordinates["offset"])


def usage_of(usage: _Json) -> Usage:
    return (
        usage["prompt_tokens"],
        usage["completion_tokens"],
        usage["cached_tokens"],
        usage["reasoning_tokens"],
    )


_ADD: dict[str, Callable[[Rollout, LogRecord, _Json], None]] = {
    "RolloutRequested": _task,
    "ModelCallRequested": _model_call,
    "SessionRequested": _opening,
    "ToolCallRequested": _tool_call,
    "ProgramRequested": _program,
    "SessionCloseRequested": _closing,
    "ModelCallCompleted": _result,
    "ModelCallFailed": _result,
    "SessionReady": _result,
    "ToolCallCompleted": _result,
    "ToolCallFailed": _result,
    "ProgramFinished": _result,
    "ProgramFailed": _result,
    "SessionClosed": _result,
    "SessionFailed": _result,
    "JournalAppended": _entry,
    "RolloutSnapshot": _snapshot,
    "RolloutEnded": _ended,
    "HarnessStuck": _nothing,
    "TrajectoryFinished": _trajectory,
    "RewardAssigned": _reward,
}
