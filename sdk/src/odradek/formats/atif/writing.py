"""A record as an ATIF document.

A reply and what its calls gave are one step. `extra.odradek` of the document is our block; a step's `extra` holds what
its message says that ATIF has no word for: whether a system message is the developer's, names, arguments that are no JSON object.
"""

from importlib.metadata import version
from typing import Any

from pydantic_core import from_json

from odradek.formats.atif.contents import write_content
from odradek.formats.atif.models import (
    VERSION,
    AtifAgent,
    AtifCall,
    AtifDocument,
    AtifMetrics,
    AtifObservation,
    AtifResult,
    AtifStep,
    AtifTotals,
)
from odradek.formats.atif.reading import held_by
from odradek.formats.block import BLOCK, write_block
from odradek.formats.records import Record
from odradek_schemas.base import JsonObject
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.messages import Message, ToolCall
from odradek_schemas.rollouts import ModelStep, Trajectory

_SOURCES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent", "tool": "system"}


def write(record: Record, scoring: str = PRIMARY_SCORING) -> JsonObject:
    """The document of a record. The reward of `scoring` is in `final_metrics.extra`, where Harbor puts none."""
    trajectory = record.trajectory
    document = AtifDocument(
        schema_version=VERSION,
        session_id=trajectory.rollout_id,
        trajectory_id=trajectory.rollout_id,
        agent=AtifAgent(
            name=trajectory.harness,
            version=version("odradek"),
            model_name=trajectory.model,
            tool_definitions=[_plain(tool) for tool in trajectory.tools] or None,
        ),
        steps=_steps(trajectory),
        final_metrics=_totals(record, scoring),
    )
    block = write_block(record, held_by(document))
    return _plain(document.model_copy(update={"extra": {BLOCK: block}}))


def _steps(trajectory: Trajectory) -> list[AtifStep]:
    models = {step.message: step for step in trajectory.steps if isinstance(step, ModelStep)}
    steps: list[AtifStep] = []
    for place, message in enumerate(trajectory.messages):
        if steps and message.role == "tool" and message.tool_call_id in _ids(steps[-1]):
            steps[-1] = _observed(steps[-1], message)
        else:
            in_prompt = place < trajectory.prompt_messages
            steps.append(_step(len(steps) + 1, message, models.get(place), in_prompt))
    return steps or [AtifStep(step_id=1, source="system", message="")]


def _step(number: int, message: Message, model: ModelStep | None, in_prompt: bool) -> AtifStep:
    spoken = message.role == "assistant"
    answers = message.role == "tool"
    extra = _extra(message)
    result = AtifResult(content=write_content(message.content), extra={"tool_call_id": message.tool_call_id})
    return AtifStep.model_validate(
        {
            "step_id": number,
            "source": _SOURCES[message.role],
            "message": "" if answers else write_content(message.content),
            "reasoning_content": message.reasoning_content if spoken else None,
            "tool_calls": [_call(call) for call in message.tool_calls or []] or None if spoken else None,
            "observation": AtifObservation(results=[result]) if answers else None,
            "metrics": _metrics(model) if model and spoken else None,
            "is_copied_context": True if spoken and in_prompt else None,
            "llm_call_count": 1 if model and spoken else None,
            "extra": extra or None,
        }
    )


def _extra(message: Message) -> dict[str, Any]:
    """What ATIF has no word for."""
    extra: dict[str, Any] = {}
    if message.role in ("developer", "tool"):
        extra["role"] = message.role
    for name in ("name", "refusal", "reasoning_details"):
        if getattr(message, name) is not None:
            extra[name] = getattr(message, name)
    return extra


def _observed(step: AtifStep, message: Message) -> AtifStep:
    """The step with what one of its calls gave."""
    result = AtifResult(source_call_id=message.tool_call_id, content=write_content(message.content))
    results = [*(step.observation.results if step.observation else []), result]
    return step.model_copy(update={"observation": AtifObservation(results=results)})


def _ids(step: AtifStep) -> set[str]:
    return {call.tool_call_id for call in step.tool_calls or []}


def _call(call: ToolCall) -> AtifCall:
    """Arguments are an object in ATIF: text that is none stands beside an empty one."""
    text = call.function.arguments
    try:
        arguments = from_json(text)
    except ValueError:
        arguments = None
    exact = isinstance(arguments, dict)
    return AtifCall(
        tool_call_id=call.id,
        function_name=call.function.name,
        arguments=arguments if exact else {},
        extra={"arguments": text},
    )


def _metrics(step: ModelStep) -> AtifMetrics:
    tokens = step.tokens
    return AtifMetrics(
        prompt_tokens=step.usage.prompt_tokens,
        completion_tokens=step.usage.completion_tokens,
        cached_tokens=step.usage.cached_tokens,
        prompt_token_ids=tokens.prompt_token_ids if tokens else None,
        completion_token_ids=tokens.completion_token_ids if tokens else None,
        logprobs=tokens.logprobs if tokens else None,
        extra={"latency_ms": step.latency_ms, "finish_reason": step.finish_reason},
    )


def _totals(record: Record, scoring: str) -> AtifTotals:
    usage, reward = record.trajectory.usage, record.reward(scoring)
    extra: dict[str, Any] = {}
    if reward is not None:
        extra = {"reward": reward.reward, "masked": reward.masked, "reward_components": reward.components}
    return AtifTotals(
        total_prompt_tokens=usage.prompt_tokens,
        total_completion_tokens=usage.completion_tokens,
        total_cached_tokens=usage.cached_tokens,
        total_cost_usd=record.trajectory.cost,
        extra=extra or None,
    )


def _plain(value: Any) -> JsonObject:
    written: JsonObject = value.model_dump(mode="json", exclude_none=True)
    return written
