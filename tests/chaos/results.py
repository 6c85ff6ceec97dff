"""Results as JSON lines, the newest of each scenario."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel

RESULTS = Path(__file__).with_name("results.jsonl")


class Result(BaseModel):
    """What came of one scenario. `seconds` is None where nothing was left to be written after the fault."""

    scenario: str
    struck: str
    moment: str
    fault: str
    recovery: str
    goal_seconds: float | None
    seed: int
    ok: bool
    ended: dict[str, int] = {}
    lost: int | None = None
    duplicate: int | None = None
    answered_again: int | None = None
    in_flight_again: int | None = None
    seconds: float | None = None
    seconds_every_partition: float | None = None
    notes: list[str] = []
    commit: str
    load: float
    """Of the machine, over the last minute, when the scenario ended: above its cores, seconds say little."""


def read(path: Path = RESULTS) -> list[Result]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [Result.model_validate_json(line) for line in lines]


def write(results: Iterable[Result], order: Iterable[str], path: Path = RESULTS) -> None:
    """Merge `results` into the file, in the scenarios' `order`; those of scenarios that are no more are dropped."""
    known = {result.scenario: result for result in [*read(path), *results]}
    kept = [known[name] for name in order if name in known]
    path.write_text("".join(result.model_dump_json() + "\n" for result in kept))
