"""An ATIF document as a record."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from odradek.formats.atif.contents import read_content
from odradek.formats.atif.models import AtifCall, AtifDocument, AtifMetrics, AtifStep
from odradek.formats.block import BLOCK, Held, read_block
from odradek.formats.foreign import LONG_AGO, UNKNOWN, Source, Told, record_of
from odradek.formats.own import bad
from odradek.formats.records import Record
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import (
    FunctionCall,
    FunctionSpec,
    Message,
    TokenRecord,
    ToolCall,
    ToolSpec,
    Usage,
)
from odradek_schemas.rollouts import ModelStep, Step, ToolStep

_TASK = "task"


def read(row: JsonObject, source: Source, line: int) -> Record:
    """Read a document.

    A foreign document's task is what its first user says; the environment reads it as a row of its own format, with
    `extra.task` and `extra.answer` where they are there.

    Raises:
        BadRecord: it is no ATIF 1.0 to 1.8, its task does not fit, or it was changed since it was written here.
    """
    try:
        document = AtifDocument.model_validate(row)
        held = held_by(document)
    except ValidationError as error:
        raise bad(line, error) from error
    block = (document.extra or {}).get(BLOCK)
    if block is not None:
        return read_block(block, held, line)
    return record_of(_told(document, held), source, line)


def held_by(document: AtifDocument) -> Held:
    """What a document tells of a trajectory."""
    return Held(
        messages=[message for step in document.steps for message in _messages(step)],
        tools=[_tool(tool) for tool in document.agent.tool_definitions or []],
        tokens=[_tokens(step.metrics) for step in document.steps if step.source == "agent" and _called(step)],
    )


def _called(step: AtifStep) -> bool:
    """Whether a model answered here, rather than in an earlier rollout."""
    return not step.is_copied_context and step.llm_call_count != 0


def _messages(step: AtifStep) -> Iterator[Message]:
    extra = step.extra or {}
    if extra.get("role") != "tool":
        yield _message(step, extra)
    for result in step.observation.results if step.observation else []:
        call_id = result.source_call_id or (result.extra or {}).get("tool_call_id")
        yield Message(
            role="tool",
            tool_call_id=call_id,
            content=read_content(result.content),
            name=extra.get("name") if extra.get("role") == "tool" else None,
        )


def _message(step: AtifStep, extra: dict[str, Any]) -> Message:
    calls = [_call(call) for call in step.tool_calls or []]
    content: Any = read_content(step.message)
    role = {"agent": "assistant", "user": "user"}.get(step.source, str(extra.get("role", "system")))
    return Message.model_validate(
        {
            "role": role,
            "content": None if calls and content == "" else content,
            "name": extra.get("name"),
            "tool_calls": calls or None,
            "reasoning_content": step.reasoning_content,
            "reasoning_details": extra.get("reasoning_details"),
            "refusal": extra.get("refusal"),
        }
    )


def _call(call: AtifCall) -> ToolCall:
    text = (call.extra or {}).get("arguments")
    arguments = text if isinstance(text, str) else to_json(call.arguments).decode()
    return ToolCall(id=call.tool_call_id, function=FunctionCall(name=call.function_name, arguments=arguments))


def _tool(tool: dict[str, Any]) -> ToolSpec:
    """OpenAI's form, or the function alone."""
    if "function" in tool:
        return ToolSpec.model_validate(tool, extra="ignore")
    return ToolSpec(function=FunctionSpec.model_validate(tool, extra="ignore"))


def _tokens(metrics: AtifMetrics | None) -> TokenRecord | None:
    if (
        metrics is None
        or (metrics.prompt_token_ids or metrics.completion_token_ids or metrics.logprobs) is None
    ):
        return None
    return TokenRecord(
        prompt_token_ids=metrics.prompt_token_ids,
        completion_token_ids=metrics.completion_token_ids,
        logprobs=metrics.logprobs,
    )


def _told(document: AtifDocument, held: Held) -> Told:
    prompt = _prompt(document.steps)
    extra, totals = document.extra or {}, document.final_metrics
    scored = (totals.extra if totals else None) or {}
    reward = scored.get("reward", extra.get("reward"))
    times = [found for step in document.steps if (found := _time(step.timestamp))]
    return Told(
        row=_row(extra, held.messages[:prompt]),
        messages=held.messages,
        prompt=prompt,
        steps=_steps(document),
        tools=held.tools,
        model=document.agent.model_name or UNKNOWN,
        harness=document.agent.name,
        usage=_usage(document),
        cost=totals.total_cost_usd if totals else None,
        started_at=min(times, default=LONG_AGO),
        finished_at=max(times, default=LONG_AGO),
        reward=float(reward) if isinstance(reward, int | float) else None,
        masked=bool(scored.get("masked")),
        components=scored.get("reward_components") or {},
    )


def _prompt(steps: Sequence[AtifStep]) -> int:
    """How many messages come before the agent's first own step."""
    count = 0
    for step in steps:
        if step.source == "agent" and not step.is_copied_context:
            break
        count += sum(1 for _ in _messages(step))
    return count


def _row(extra: dict[str, Any], prompt: Sequence[Message]) -> JsonObject:
    row: JsonObject = {
        _TASK: extra.get(_TASK) if isinstance(extra.get(_TASK), dict) else {},
        "messages": [message.model_dump(mode="json", exclude_none=True) for message in prompt],
    }
    return row | ({"answer": extra["answer"]} if isinstance(extra.get("answer"), dict) else {})


def _steps(document: AtifDocument) -> list[Step]:
    steps: list[Step] = []
    place = turn = 0
    for step in document.steps:
        own = step.source == "agent" and _called(step)
        names = {call.tool_call_id: call.function_name for call in step.tool_calls or []}
        if own:
            turn += 1
            steps.append(_model_step(step, turn, place))
        for offset, message in enumerate(_messages(step)):
            if message.role == "tool" and turn:
                call_id = message.tool_call_id or f"{step.step_id}/{offset}"
                name = names.get(call_id, UNKNOWN)
                steps.append(
                    ToolStep(call_id=call_id, turn=turn, message=place + offset, name=name, latency_ms=0.0)
                )
        place += sum(1 for _ in _messages(step))
    return steps


def _model_step(step: AtifStep, turn: int, place: int) -> ModelStep:
    metrics = step.metrics or AtifMetrics()
    told = metrics.extra or {}
    return ModelStep(
        call_id=f"reply/{turn}",
        turn=turn,
        message=place,
        finish_reason=str(told.get("finish_reason") or ("tool_calls" if step.tool_calls else "stop")),
        usage=Usage(
            prompt_tokens=metrics.prompt_tokens or 0,
            completion_tokens=metrics.completion_tokens or 0,
            cached_tokens=metrics.cached_tokens or 0,
        ),
        latency_ms=float(told.get("latency_ms") or 0.0),
        tokens=_tokens(step.metrics),
    )


def _usage(document: AtifDocument) -> Usage:
    totals = document.final_metrics
    if totals is not None and totals.total_prompt_tokens is not None:
        return Usage(
            prompt_tokens=totals.total_prompt_tokens,
            completion_tokens=totals.total_completion_tokens or 0,
            cached_tokens=totals.total_cached_tokens or 0,
        )
    steps = (step for step in _steps(document) if isinstance(step, ModelStep))
    return sum((step.usage for step in steps), Usage())


def _time(stamp: str | None) -> datetime | None:
    """An ISO 8601 time, in UTC where it names no zone; None where it is none."""
    try:
        found = datetime.fromisoformat(stamp or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
