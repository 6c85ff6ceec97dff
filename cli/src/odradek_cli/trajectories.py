"""One rollout: read from the log, finished or under way, and made readable."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import SCAN_SECONDS, Log
from odradek_cli.render import facts, number, status_text
from odradek_schemas.codec import Envelope
from odradek_schemas.events import (
    JournalAppended,
    ModelCallCompleted,
    ModelCallFailed,
    RewardAssigned,
    ToolCallCompleted,
    ToolCallFailed,
)
from odradek_schemas.messages import Message, ToolCall
from odradek_schemas.rollouts import ProgramStep, Trajectory
from odradek_schemas.topics import JOURNAL, REWARDS, TRAJECTORIES

_ROLE_STYLES = {"system": "magenta", "user": "blue", "assistant": "green", "tool": "yellow"}


@dataclass(frozen=True)
class RolloutRecord:
    """What the log has of a rollout: its trajectory once it ended, its rewards, and else its journal."""

    rollout_id: str
    trajectory: Trajectory | None
    rewards: tuple[RewardAssigned, ...]
    journal: tuple[JournalAppended, ...] = ()


async def load_rollout(log: Log, rollout_id: str, within: float = SCAN_SECONDS) -> RolloutRecord:
    """Read a rollout.

    Raises:
        CliError: it is not one, or the log has nothing of it.
    """
    if rollout_id.count("/") != 2:
        raise CliError(
            f"{rollout_id!r} is not a rollout (RUN/TASK/SAMPLE)",
            Exit.INVALID_INPUT,
            "`odradek results RUN --rollouts` lists those of a run",
        )

    for partition in log.places(rollout_id):
        record = await _load_from(log, partition, rollout_id, within)
        if record is not None:
            return record
    raise CliError(
        f"no rollout {rollout_id!r} here",
        Exit.INVALID_INPUT,
        "`odradek results RUN --rollouts` lists those of a run",
    )


async def _load_from(log: Log, partition: int, rollout_id: str, within: float) -> RolloutRecord | None:
    """The rollout, if that is where its records lie."""

    def of_rollout(envelope: Envelope) -> bool:
        return envelope.rollout_id == rollout_id

    finished = await log.scan(TRAJECTORIES, of_rollout, partition=partition, within=within)
    rewards = await log.scan(REWARDS, of_rollout, partition=partition, within=within)
    if finished:
        trajectory = finished[0].event.trajectory
        return RolloutRecord(rollout_id, trajectory, tuple(found.event for found in rewards))
    journal = await log.scan(JOURNAL, of_rollout, partition=partition, within=within)
    appended = tuple(found.event for found in journal if isinstance(found.event, JournalAppended))
    if not appended and not rewards:
        return None
    return RolloutRecord(rollout_id, None, tuple(found.event for found in rewards), appended)


def rollout_view(record: RolloutRecord) -> RenderableType:
    """The whole rollout for a person to read."""
    parts: list[RenderableType] = []
    if record.trajectory:
        parts += [_head(record.trajectory), *_conversation(record.trajectory)]
    elif record.journal:
        parts += [Text(f"{record.rollout_id} is under way", style="bold"), *_journal(record)]
    else:
        parts.append(Text(f"{record.rollout_id}: its trajectory can't be read", style="red"))
    parts += [_reward(reward) for reward in record.rewards] or [Text("no reward yet", style="dim")]
    return Group(*parts)


def _head(trajectory: Trajectory) -> RenderableType:
    end = str(trajectory.status)
    if trajectory.truncated_by:
        end += f" by {trajectory.truncated_by}"
    lasted = (trajectory.finished_at - trajectory.started_at).total_seconds()
    pairs: list[tuple[str, RenderableType]] = [
        ("rollout", Text(trajectory.rollout_id, style="bold")),
        ("environment", f"{trajectory.environment}, harness {trajectory.harness}, model {trajectory.model}"),
        ("ended", Text(end, style=status_text(str(trajectory.status)).style)),
        ("took", f"{trajectory.turns} turns, {trajectory.usage.total_tokens} tokens, {lasted:.2f} s"),
        ("task", compact(trajectory.task)),
    ]
    if trajectory.cost is not None:
        pairs.append(("cost", f"${trajectory.cost:.6f}"))
    if trajectory.tools:
        pairs.append(("tools", ", ".join(tool.function.name for tool in trajectory.tools)))
    failures = [*trajectory.failed_attempts, *([trajectory.failure] if trajectory.failure else [])]
    pairs += [("failure", f"{f.kind} ({f.stage}): {f.message}") for f in failures]
    if trajectory.final_state is not None:
        pairs.append(("final state", compact(trajectory.final_state)))
    if trajectory.evidence is not None:
        pairs.append(("evidence", compact(trajectory.evidence)))
    return facts(pairs)


def _conversation(trajectory: Trajectory) -> Iterator[RenderableType]:
    notes = {step.message: _step_note(step) for step in trajectory.steps if not isinstance(step, ProgramStep)}
    for index, message in enumerate(trajectory.messages):
        if index == trajectory.prompt_messages:
            yield Rule("the prompt ends here", style="dim", characters="=")
        yield from _message(message, notes.get(index, ""))
    for step in trajectory.steps:
        if isinstance(step, ProgramStep):
            yield from _program(step)


def _program(step: ProgramStep) -> Iterator[RenderableType]:
    """How a program ended: its last word, why it failed, and the end of its log."""
    end = "its time was up" if step.overdue else f"exit code {step.exit_code}"
    yield Rule(Text(f"program {step.program} ({end}, {step.latency_ms / 1000:.1f} s)"), align="left")
    for words in (step.result, step.failed, step.log if step.failed else None):
        if words:
            yield Padding(Text(words), (0, 0, 0, 2))


def _step_note(step: object) -> str:
    latency = f"{getattr(step, 'latency_ms', 0):.0f} ms"
    usage = getattr(step, "usage", None)
    if usage:
        return f"{usage.completion_tokens} tokens, {latency}"
    return f"{latency}, error" if getattr(step, "is_error", False) else latency


def _message(message: Message, note: str) -> Iterator[RenderableType]:
    title = f"{message.role} ({note})" if note else message.role
    yield Rule(Text(title), align="left", style=_ROLE_STYLES.get(message.role, "white"))
    if message.reasoning_content:
        yield Padding(Text(message.reasoning_content, style="dim italic"), (0, 0, 0, 2))
    if message.text:
        yield Padding(Text(message.text), (0, 0, 0, 2))
    for call in message.tool_calls or ():
        yield Padding(Text(_call(call), style="bold"), (0, 0, 0, 2))


def _call(call: ToolCall) -> str:
    return f"-> {call.function.name}({call.function.arguments})"


def _journal(record: RolloutRecord) -> Iterator[RenderableType]:
    for entry in record.journal:
        yield Text(f"  {entry.time.astimezone():%H:%M:%S} {_accepted(entry)}")


def _accepted(entry: JournalAppended) -> str:
    accepted = entry.input
    match accepted:
        case ModelCallCompleted():
            calls = ", ".join(_call(call) for call in accepted.message.tool_calls or ())
            return f"model: {accepted.message.text} {calls}".rstrip()
        case ToolCallCompleted():
            return f"tool: {accepted.content}"
        case ModelCallFailed() | ToolCallFailed():
            return f"{accepted.type}: {accepted.failure.kind}: {accepted.failure.message}"
        case _:
            return accepted.type


def _reward(reward: RewardAssigned) -> RenderableType:
    title = "reward" if reward.scoring == "primary" else f"reward of scoring {reward.scoring}"
    pairs: list[tuple[str, RenderableType]] = [(title, Text(number(reward.reward), style="bold"))]
    if reward.masked:
        why = f"{reward.failure.kind}: {reward.failure.message}" if reward.failure else "no reason given"
        pairs.append(("masked", why))
    pairs += [(f"  {name}", number(value)) for name, value in reward.components.items()]
    if reward.details:
        pairs.append(("details", compact(reward.details)))
    if reward.verifier:
        pairs.append(("verifier", f"{reward.verifier.name} {reward.verifier.version}"))
    return Group(Rule(style="dim"), facts(pairs))


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
