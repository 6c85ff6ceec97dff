"""Results: one JSON line for each series of measurements in `history.jsonl`, and the latest of each in `latest.json`."""

import json
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.harness.machine import ROOT, calibration_ms, commit, describe, load_per_core

RESULTS = ROOT / "benchmarks/results"

Line = dict[str, Any]
"""A series as it is written: `series`, `date`, `commit`, `machine`, `calibration_ms` and `load_per_core` before and
after, `settings`, `figures` (each with median, min, max and values), `details`."""


@dataclass
class Series:
    """The repeats of one measurement. `add` one repeat's figures; `details` is what no table needs."""

    name: str
    settings: Mapping[str, Any]
    values: dict[str, list[float]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def add(self, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self.values.setdefault(name, []).append(value)

    def summary(self) -> dict[str, dict[str, Any]]:
        return {name: summarize(values) for name, values in self.values.items()}


def summarize(values: list[float]) -> dict[str, Any]:
    """Median and range."""
    median = round(statistics.median(values), 4)
    return {"median": median, "min": min(values), "max": max(values), "values": values}


class Results:
    """Where results go; `folder` None: nowhere but memory (a smoke run)."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.latest = read_latest(folder) if folder else {}
        self.measured: set[str] = set()

    @contextmanager
    def series(self, name: str, **settings: Any) -> Iterator[Series]:
        """A series; what was measured of it is written at its end, also when it is cut short."""
        before = (calibration_ms(), load_per_core())
        series = Series(name, settings)
        whole = False
        try:
            yield series
            whole = True
        finally:
            if series.values:
                self._write(_line(series, before, whole))

    def _write(self, line: Line) -> None:
        self.latest[line["series"]] = line
        self.measured.add(line["series"])
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "history.jsonl").open("a") as history:
            history.write(json.dumps(line) + "\n")
        latest = json.dumps(dict(sorted(self.latest.items())), indent=1)
        partial = self._folder / "latest.json.partial"
        partial.write_text(latest + "\n")
        partial.replace(self._folder / "latest.json")


def _line(series: Series, before: tuple[float, float], whole: bool) -> Line:
    return {
        "series": series.name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": describe(),
        "calibration_ms": [before[0], calibration_ms()],
        "load_per_core": [before[1], load_per_core()],
        "complete": whole,
        "settings": dict(series.settings),
        "figures": series.summary(),
        "details": series.details,
    }


def read_latest(folder: Path) -> dict[str, Line]:
    """The last line of each series, by its name."""
    path = folder / "latest.json"
    found: dict[str, Line] = json.loads(path.read_text()) if path.exists() else {}
    return found


def read_history(folder: Path) -> list[Line]:
    """All lines, oldest first."""
    path = folder / "history.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
