"""How figures are made of what was measured: percentiles, causes, tenths, and the page's tables."""

from pathlib import Path

import pytest

from benchmarks import report, tables
from benchmarks.causes import CODEC, ENGINE, KAFKA, LOOP, OTHER, TRANSACTIONS, cause_of, read_raw
from benchmarks.goals import GOALS, at_least, exactly
from benchmarks.harness.results import Results, read_history, read_latest, summarize
from benchmarks.harness.sampling import Sample, cpu_at
from benchmarks.harness.scrape import Scrape


def delays(**within: float) -> Scrape:
    """A histogram with so many observations within each bound."""
    samples = {("d_bucket", frozenset({("le", bound)})): value for bound, value in within.items()}
    return Scrape(samples)


def test_a_percentile_is_of_what_was_observed_in_between() -> None:
    """Caught: a percentile that counts what happened before, or that takes a bucket's end for all in it."""
    before = delays(**{"0.01": 1000, "0.05": 1000, "+Inf": 1000})
    after = delays(**{"0.01": 1090, "0.05": 1100, "+Inf": 1100})
    assert after.quantile("d", 0.9, before) == pytest.approx(0.01)
    assert after.quantile("d", 0.95, before) == pytest.approx(0.03)
    assert before.quantile("d", 0.99, before) is None


def test_a_percentile_beyond_the_last_bound_is_at_least_that_bound() -> None:
    assert delays(**{"0.01": 10, "+Inf": 100}).quantile("d", 0.99, delays()) == 0.01


def test_metrics_add_up_over_other_labels() -> None:
    seen = Scrape({("n", frozenset({("topic", "a"), ("p", "0")})): 2, ("n", frozenset({("topic", "b")})): 3})
    assert (seen.total("n"), seen.total("n", topic="a"), seen.total("m")) == (5, 2, 0)


def test_cpu_at_a_count_lies_straight_between_two_looks() -> None:
    looks = [
        Sample(s, scored, {}, {"w": cpu}) for s, scored, cpu in ((0, 0, 1.0), (1, 0, 2.0), (2, 100, 4.0))
    ]
    assert cpu_at(looks, 50) == {"w": 3.0}
    with pytest.raises(ValueError, match="never passed"):
        cpu_at(looks, 101)


@pytest.mark.parametrize(
    ("stack", "cause"),
    [
        (["run (uvloop/__init__.py:1)", "accept (odradek/engine/play.py:5)"], ENGINE),
        (["accept (odradek/engine/play.py:5)", "encode (odradek_schemas/codec.py:9)"], CODEC),
        (
            ["f (aiokafka/producer/sender.py:1)", "_do_txn_commit (aiokafka/producer/sender.py:5)"],
            TRANSACTIONS,
        ),
        (["f (aiokafka/consumer/fetcher.py:1)", "read (asyncio/streams.py:5)"], KAFKA),
        (["run_service (odradek_runtime/service.py:1)", "Runner.run (asyncio/runners.py:1)"], LOOP),
        (
            [
                "run_service (odradek_runtime/service.py:1)",
                "Runner.run (a.py:1)",
                "wake (asyncio/tasks.py:2)",
            ],
            LOOP,
        ),
        (["main (somewhere.py:1)"], OTHER),
    ],
)
def test_the_innermost_frame_that_says_so_decides(stack: list[str], cause: str) -> None:
    assert cause_of(stack) == cause


def test_raw_profiles_are_read() -> None:
    assert read_raw(["main (a.py:1);f (b c.py:2) 17\n"]) == [(["main (a.py:1)", "f (b c.py:2)"], 17)]


def test_results_are_kept_line_by_line_with_the_latest_of_each_series(tmp_path: Path) -> None:
    """Caught: a series that is lost when its measurement fails half way."""
    for value in (1.0, 3.0):
        with Results(tmp_path).series("s", size=2) as series:
            series.add({"f": value})
            series.add({"f": value + 4})
    with pytest.raises(KeyError, match="stop"):
        _fail_half_way(Results(tmp_path))
    lines = read_history(tmp_path)
    assert [(line["series"], line["complete"]) for line in lines] == [
        ("s", True),
        ("s", True),
        ("cut", False),
    ]
    assert read_latest(tmp_path)["s"]["figures"]["f"] == {
        "median": 5.0,
        "min": 3.0,
        "max": 7.0,
        "values": [3.0, 7.0],
    }


def _fail_half_way(results: Results) -> None:
    with results.series("cut") as series:
        series.add({"f": 9.0})
        raise KeyError("stop")


def test_goal_and_measured_stand_side_by_side() -> None:
    latest = {"s": {"figures": {"f": summarize([90.0, 100.0, 95.0]), "lost": summarize([0, 1, 0])}}}
    rows = tables.goals(
        latest, [at_least("rate", "s", "f", "", 97), exactly("lost", "s", "lost", "", 0), *GOALS[:1]]
    )
    assert "| rate | ≥ 97 | 95 | 90 to 100, 3 runs | no |" in rows
    assert "| lost | = 0 | 1 | 0 to 1, 3 runs | no |" in rows
    assert rows.count("not measured") == 1


def test_only_the_tables_of_a_page_are_written_anew(tmp_path: Path) -> None:
    page = "before\n<!-- table: goals -->\nold\n<!-- end of table -->\nafter\n"
    fresh = report.rewrite(page, tmp_path)
    assert fresh.startswith("before\n<!-- table: goals -->\n| ")
    assert fresh.endswith("\n<!-- end of table -->\nafter\n")
    assert "old" not in fresh
    assert report.rewrite(fresh, tmp_path) == fresh
