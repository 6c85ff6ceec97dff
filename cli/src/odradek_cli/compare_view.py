"""A comparison of two runs for a person."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from odradek.metrics import Pair, Test
from odradek_cli.comparing import RunComparison, Side
from odradek_cli.render import facts, number
from odradek_cli.results_view import figure_text

MOST_TASKS = 20
_TESTS = {Test.MCNEMAR: "McNemar's exact test", Test.BOOTSTRAP: "paired bootstrap over tasks"}


def comparison_view(comparison: RunComparison) -> RenderableType:
    return facts([(name, Text(text)) for name, text in comparison_pairs(comparison)])


def comparison_pairs(comparison: RunComparison) -> Iterator[tuple[str, str]]:
    """Everything that is told, a line each."""
    found = comparison.found
    yield "A", f"{comparison.a.name} ({_played(comparison.a)})"
    yield "B", f"{comparison.b.name} ({_played(comparison.b)})"
    yield "tasks", tasks_text(comparison)
    yield "mean of A", figure_text(found.a, "tasks")
    yield "mean of B", figure_text(found.b, "tasks")
    yield "B - A", difference_text(comparison)
    yield "gained", flipped_text(found.gained)
    yield "lost", flipped_text(found.lost)


def tasks_text(comparison: RunComparison) -> str:
    found, (only_a, only_b) = comparison.found, comparison.unpaired
    text = f"{len(found.pairs)} of {found.planned} paired (coverage {found.coverage:.0%}, missing: {found.missing})"
    only = [f"{count} only in {side}" for count, side in ((only_a, "A"), (only_b, "B")) if count]
    return ", ".join([text, *only])


def difference_text(comparison: RunComparison) -> str:
    found = comparison.found
    if found.difference is None:
        return "none: no task has scores on both sides"
    if found.test is None or found.low is None or found.high is None or found.p_value is None:
        return f"{found.difference:+.3f} (one task: no interval)"
    interval = f"95% interval {found.low:+.3f} to {found.high:+.3f}"
    return f"{found.difference:+.3f}, {interval}, p = {found.p_value:.3g} ({_TESTS[found.test]})"


def flipped_text(pairs: Sequence[Pair]) -> str:
    """How many tasks came to pass or ceased to, and which."""
    named = ", ".join(f"{pair.task} ({number(pair.a)} to {number(pair.b)})" for pair in pairs[:MOST_TASKS])
    more = f" and {len(pairs) - MOST_TASKS} more" if len(pairs) > MOST_TASKS else ""
    return f"{len(pairs)}: {named}{more}" if pairs else "none"


def _played(side: Side) -> str:
    request = side.run.request
    played = f"{request.environment} with {request.model}, {request.samples} a task"
    return f"{played}; {side.scored} of {side.planned} rollouts scored"
