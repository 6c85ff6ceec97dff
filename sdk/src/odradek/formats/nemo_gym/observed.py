"""`ng_trajectory` (0.7): what was observed of a rollout's model calls and tools. Only what a trajectory holds is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import ModelStep, ToolStep, Trajectory

_INVOCATION = "root"


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: tokens, how long it took in milliseconds, why it stopped."""

    usage: Usage
    latency_ms: float
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One tool call: how long it took in milliseconds, and whether it failed."""

    latency_ms: float
    is_error: bool
    interrupted: bool


@dataclass(frozen=True, slots=True)
class Observed:
    """Model calls in order, tool runs by call id, items of the root invocation, and the bounds in time."""

    calls: list[Call] = field(default_factory=list)
    tools: Mapping[str, ToolRun] = field(default_factory=dict)
    conversation: list[Any] = field(default_factory=list)
    started_at: datetime | None = None
    finished_at: datetime | None = None


def read_observed(value: Any) -> Observed:
    """What can be read of `ng_trajectory`; the rest is read past, as is all of it where it is none."""
    if not isinstance(value, dict):
        return Observed()
    calls, tools = _objects(value.get("model_calls")), _objects(value.get("tool_calls"))
    roots = [one for one in _objects(value.get("invocations")) if not one.get("parent_invocation_id")]
    times = [
        moment
        for one in (*calls, *tools)
        for name in ("started_at", "completed_at")
        if (moment := moment_of(one.get(name))) is not None
    ]
    conversation = roots[0].get("conversation") if len(roots) == 1 else None
    return Observed(
        calls=[_call(one) for one in calls],
        tools={str(one.get("tool_call_id")): _tool(one) for one in tools},
        conversation=conversation if isinstance(conversation, list) else [],
        started_at=min(times, default=None),
        finished_at=max(times, default=None),
    )


def write_observed(trajectory: Trajectory, items: list[JsonObject]) -> JsonObject:
    """`ng_trajectory` of a rollout; `items`: its whole conversation, prompt and all."""
    models = [step for step in trajectory.steps if isinstance(step, ModelStep)]
    tools = [step for step in trajectory.steps if isinstance(step, ToolStep)]
    references: list[Any] = [{"model_call_id": step.call_id} for step in models]
    root: JsonObject = {
        "kind": "agent_invocation",
        "invocation_id": _INVOCATION,
        "status": "completed" if trajectory.failure is None else "failed",
        "model_calls": references,
        "conversation": [*items],
    }
    return {
        "schema_version": "1.0",
        "task_id": trajectory.group.task_id,
        "rollout_id": trajectory.rollout_id,
        "invocations": [root],
        "turns": [],
        "model_calls": [_written_call(step, trajectory.model) for step in models],
        "tool_calls": [_written_tool(step, trajectory) for step in tools],
        "gaps": [],
    }


def moment_of(value: Any) -> datetime | None:
    """Seconds since the epoch as a time."""
    try:
        return datetime.fromtimestamp(float(value), UTC) if value is not None else None
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _call(one: Mapping[str, Any]) -> Call:
    counted = one.get("token_stats")
    counts = counted if isinstance(counted, dict) else {}
    told = one.get("response_metadata")
    reason = told.get("finish_reason") if isinstance(told, dict) else None
    return Call(
        usage=Usage(
            prompt_tokens=_count(counts, "prompt_tokens"),
            completion_tokens=_count(counts, "completion_tokens"),
            cached_tokens=_count(counts, "cached_tokens"),
            reasoning_tokens=_count(counts, "reasoning_tokens"),
        ),
        latency_ms=_milliseconds(one),
        finish_reason=reason if isinstance(reason, str) else None,
    )


def _tool(one: Mapping[str, Any]) -> ToolRun:
    status = one.get("status")
    failed = status in ("failed", "timeout", "cancelled", "incomplete")
    return ToolRun(_milliseconds(one), failed, status in ("cancelled", "incomplete"))


def _written_call(step: ModelStep, model: str) -> JsonObject:
    return {
        "model_call_id": step.call_id,
        "duration_ms": step.latency_ms,
        "response_metadata": {"model": model, "finish_reason": step.finish_reason},
        "token_stats": {
            "prompt_tokens": step.usage.prompt_tokens,
            "completion_tokens": step.usage.completion_tokens,
            "reasoning_tokens": step.usage.reasoning_tokens,
            "total_tokens": step.usage.total_tokens,
            "cached_tokens": step.usage.cached_tokens,
        },
    }


def _written_tool(step: ToolStep, trajectory: Trajectory) -> JsonObject:
    known = 0 <= step.message < len(trajectory.messages)
    message = trajectory.messages[step.message] if known else None
    return {
        "kind": "tool_call",
        "invocation_id": _INVOCATION,
        "tool_call_id": (message and message.tool_call_id) or step.call_id,
        "tool_name": step.name,
        "duration_ms": step.latency_ms,
        "status": "incomplete" if step.interrupted else "failed" if step.is_error else "completed",
    }


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0


def _milliseconds(one: Mapping[str, Any]) -> float:
    value = one.get("duration_ms")
    return float(value) if isinstance(value, int | float) else 0.0
