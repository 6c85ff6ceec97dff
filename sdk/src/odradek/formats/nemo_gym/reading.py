"""A row of NeMo Gym's as a record."""

from collections.abc import Sequence
from typing import Any

from odradek.dialects.core import DialectError
from odradek.dialects.nemo_gym import PARAMETERS, read_parameters, read_usage
from odradek.dialects.responses.replies import finish_reason_of
from odradek.formats.block import BLOCK, Held, read_block
from odradek.formats.foreign import LONG_AGO, UNKNOWN, Source, Told, record_of
from odradek.formats.nemo_gym.failures import read_failure
from odradek.formats.nemo_gym.items import Told as Reply
from odradek.formats.nemo_gym.items import read_replies
from odradek.formats.nemo_gym.observed import Observed, moment_of, read_observed
from odradek.formats.records import BadRecord, Record
from odradek_schemas.base import JsonObject
from odradek_schemas.failures import Failure, Stage
from odradek_schemas.messages import Message, Usage
from odradek_schemas.rollouts import ModelStep, RolloutStatus, Step, ToolStep

_OURS = frozenset(
    {
        PARAMETERS,
        "response",
        "reward",
        "reward_components",
        "mask_sample",
        "failure_kind",
        "failure_reason",
        "ng_trajectory",
        "agent_ref",
        "task_source",
        "task_data",
        "verifier_metadata",
        BLOCK,
    }
)
"""Fields that are neither the task's nor the verifier's."""


def read(row: JsonObject, source: Source, line: int) -> Record:
    """Read a rollout.

    Raises:
        BadRecord: it has no request, its response has no output that can be read, or its task does not fit.
    """
    try:
        prompt, replies, observed = _conversation(row)
        if BLOCK in row:
            return read_block(row[BLOCK], _held(row, prompt, replies), line)
        return record_of(_told(row, prompt, replies, observed), source, line)
    except DialectError as error:
        raise BadRecord(line, error.field, error.reason) from error


def _conversation(row: JsonObject) -> tuple[list[Message], list[Reply], Observed]:
    observed = read_observed(row.get("ng_trajectory"))
    prompt = read_parameters(row).messages
    output = _response(row).get("output")
    if isinstance(output, list):
        return prompt, read_replies(output, "response.output"), observed
    if not observed.conversation:
        raise DialectError("response.output", "must be a list of items")
    whole = read_replies(observed.conversation, "ng_trajectory.invocations.0.conversation")
    return prompt, whole[len(prompt) :], observed


def _held(row: JsonObject, prompt: Sequence[Message], replies: Sequence[Reply]) -> Held:
    return Held(
        messages=[*prompt, *(message for message, _ in replies)],
        tools=read_parameters(row).tools,
        tokens=[tokens for message, tokens in replies if message.role == "assistant"],
    )


def _told(row: JsonObject, prompt: list[Message], replies: list[Reply], observed: Observed) -> Told:
    response, request = _response(row), read_parameters(row)
    failure = read_failure(
        _text(row.get("failure_kind")) or _text(row.get("_ng_failure_class")),
        _text(row.get("failure_reason")) or _text(row.get("_ng_failure_message")),
    )
    masked = bool(row.get("mask_sample"))
    status, truncated_by, ended = _end(response, failure, masked)
    created = moment_of(response.get("created_at"))
    started = observed.started_at or created or LONG_AGO
    reward = row.get("reward")
    return Told(
        row=row,
        messages=[*prompt, *(message for message, _ in replies)],
        prompt=len(prompt),
        steps=_steps(len(prompt), replies, response, observed),
        tools=request.tools,
        sampling=request.sampling,
        model=_text(response.get("model")) or UNKNOWN,
        harness=_agent(row),
        status=status,
        truncated_by=truncated_by,
        failure=ended,
        usage=_usage(response, observed),
        started_at=started,
        finished_at=max(started, observed.finished_at or created or LONG_AGO),
        task_index=_index(row.get("_ng_task_index")),
        sample=_index(row.get("_ng_rollout_index")),
        reward=float(reward) if isinstance(reward, int | float) else None,
        masked=masked or (reward is None and failure is not None),
        components=_numbers(row.get("reward_components")),
        details={
            name: value for name, value in row.items() if name not in _OURS and not name.startswith("_ng_")
        },
        unscored=failure if masked else None,
    )


def _end(
    response: JsonObject, failure: Failure | None, masked: bool
) -> tuple[RolloutStatus, str | None, Failure | None]:
    """How the rollout ended. One that only its verifier failed came to its end and can be scored again."""
    if failure is not None and failure.stage is not Stage.VERIFY and (masked or "output" not in response):
        return RolloutStatus.FAILED, None, failure
    if finish_reason_of(response, called=False) == "length":
        return RolloutStatus.TRUNCATED, "max_tokens", None
    return RolloutStatus.COMPLETED, None, None


def _steps(first: int, replies: Sequence[Reply], response: JsonObject, observed: Observed) -> list[Step]:
    """A step for each reply and each tool's answer, with what was observed of it, if it was."""
    spoken = sum(message.role == "assistant" for message, _ in replies)
    known = observed.calls if len(observed.calls) == spoken else []
    alone = _usage(response, observed) if spoken == 1 else Usage()
    names = {call.id: call.function.name for message, _ in replies for call in message.tool_calls or []}
    steps: list[Step] = []
    turn = 0
    for place, (message, tokens) in enumerate(replies, first):
        if message.role == "assistant":
            call = known[turn] if known else None
            turn += 1
            last = turn == spoken
            guessed = finish_reason_of(response if last else {}, bool(message.tool_calls))
            steps.append(
                ModelStep(
                    call_id=f"reply/{turn}",
                    turn=turn,
                    message=place,
                    finish_reason=(call and call.finish_reason) or guessed,
                    usage=call.usage if call else alone,
                    latency_ms=call.latency_ms if call else 0.0,
                    tokens=tokens,
                )
            )
        elif message.role == "tool" and message.tool_call_id is not None:
            run = observed.tools.get(message.tool_call_id)
            steps.append(
                ToolStep(
                    call_id=message.tool_call_id,
                    turn=turn,
                    message=place,
                    name=names.get(message.tool_call_id, UNKNOWN),
                    is_error=run is not None and run.is_error,
                    latency_ms=run.latency_ms if run else 0.0,
                    interrupted=run is not None and run.interrupted,
                )
            )
    return steps


def _usage(response: JsonObject, observed: Observed) -> Usage:
    told = read_usage(response.get("usage"))
    return told if told.total_tokens else sum((call.usage for call in observed.calls), Usage())


def _response(row: JsonObject) -> JsonObject:
    response = row.get("response")
    return response if isinstance(response, dict) else {}


def _agent(row: JsonObject) -> str | None:
    reference = row.get("agent_ref")
    return _text(reference.get("name")) if isinstance(reference, dict) else None


def _index(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _numbers(values: Any) -> dict[str, float]:
    found = values.items() if isinstance(values, dict) else ()
    return {name: float(value) for name, value in found if isinstance(value, int | float)}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
