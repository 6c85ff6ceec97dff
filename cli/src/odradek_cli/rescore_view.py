"""What a person sees of a re-score, and of all the scores of one trajectory."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from odradek_cli.render import facts, listing, number
from odradek_cli.rescore_diff import Change, RescoreDiff, Score
from odradek_schemas.events import RewardAssigned

_MOST_TASKS = 20


def diff_view(difference: RescoreDiff) -> RenderableType:
    """How many of each kind, the tasks that changed most, and some examples."""
    counts = [(str(kind).replace("_", " "), str(difference.counts.get(kind, 0))) for kind in Change]
    verifiers = [
        ("before", ", ".join(difference.verifiers_before) or "-"),
        ("now", ", ".join(difference.verifiers_after) or "-"),
    ]
    parts: list[RenderableType] = [facts([*counts, *verifiers])]
    if difference.by_task:
        parts += [Text(), _tasks(difference), Text(), _examples(difference)]
    return Group(*parts)


def rewards_view(rewards: Iterable[RewardAssigned]) -> RenderableType:
    table = listing("SCORING", "TIME", "REWARD", "VERIFIER", "SAYS")
    for reward in rewards:
        table.add_row(
            Text(reward.scoring),
            f"{reward.time.astimezone():%m-%d %H:%M:%S}",
            _reward(Score.of(reward)),
            Text(Score.of(reward).verifier),
            Text(_says(reward)),
        )
    return table


def _tasks(difference: RescoreDiff) -> RenderableType:
    table = listing("TASK", *(str(kind).replace("_", " ").upper() for kind in _KINDS))
    most = sorted(difference.by_task.items(), key=lambda item: -sum(item[1].values()))
    for task, kinds in most[:_MOST_TASKS]:
        table.add_row(Text(task), *(str(kinds.get(kind, 0)) for kind in _KINDS))
    return table


_KINDS = (Change.CHANGED, Change.NEWLY_FAILED, Change.NEWLY_SCORED)


def _examples(difference: RescoreDiff) -> RenderableType:
    table = listing("ROLLOUT", "BEFORE", "NOW", "WHY")
    for example in difference.examples:
        before = "-" if example.before is None else _reward(example.before)
        why = str(example.change).replace("_", " ")
        table.add_row(Text(example.rollout_id), before, _reward(example.after), why)
    return table


def _reward(score: Score) -> Text:
    return Text(f"masked: {score.failure}" if score.reward is None else number(score.reward))


def _says(reward: RewardAssigned) -> str:
    if reward.failure is not None:
        return reward.failure.message
    said = ", ".join(f"{name} {value:g}" for name, value in reward.components.items())
    judges = f"{len(reward.judgements)} judgements" if reward.judgements else ""
    return "; ".join(part for part in (said, judges) if part)
