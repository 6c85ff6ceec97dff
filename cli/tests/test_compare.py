"""`results` of other scorings and by field, `compare`, and their pages, on a real broker; pages are pure."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from odradek.metrics import Missing
from odradek_cli.comparing import compare_sides, make_side, parse_side
from odradek_cli.errors import CliError, Exit
from odradek_cli.likeness import first_difference
from odradek_cli.pages import comparison_page, results_page
from odradek_cli.runs import Run
from odradek_cli.summary import Ways, summarize_run
from odradek_schemas.events import Dataset, RunImported, RunRequested, TrajectoryFinished
from odradek_schemas.rollouts import Group

NASTY = "<script>alert('&')</script>\x00"


class Tags(HTMLParser):
    """The tags of a page, their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str] = {}
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name: value or "" for name, value in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def played(makes: Any, run_id: str, rewards: list[float | None], dataset: Path | None = None) -> list[Any]:
    """A finished run with one sample of each task."""
    request: RunRequested = makes.run(run_id, samples=1)
    if dataset is not None:
        named = Dataset(uri=dataset.as_uri(), name=dataset.name)
        request = request.model_copy(update={"dataset": named})
    scored = [makes.reward(task, 0, reward, run_id=run_id) for task, reward in enumerate(rewards)]
    return [request, *scored, makes.finish(planned=len(rewards), run_id=run_id)]


def side(makes: Any, run_id: str, rewards: list[float | None], planned: int = 4) -> Any:
    run = Run(makes.run(run_id, samples=1), finished=makes.finish(planned=planned, run_id=run_id))
    return make_side(
        run, "primary", [makes.reward(task, 0, one, run_id=run_id) for task, one in enumerate(rewards)]
    )


def trajectory(makes: Any, task: int, fields: dict[str, Any]) -> TrajectoryFinished:
    event: TrajectoryFinished = makes.trajectory(f"r/{task}/0")
    group = event.trajectory.group.model_copy(update={"task_id": f"r/{task}"})
    played = event.trajectory.model_copy(update={"task": fields, "group": group})
    return event.model_copy(update={"trajectory": played})


@pytest.mark.kafka
def test_runs_are_compared_by_task(world: Any, makes: Any, odradek: Any, tmp_path: Path) -> None:
    world.write(*played(makes, "a", [1.0, 0.0, 0.0, None]), *played(makes, "b", [1.0, 1.0, 1.0, 1.0, 0.0]))
    page = tmp_path / "page.html"
    done = odradek("compare", "a", "b", "--html", str(page))
    assert done.exit_code == 0, done.output
    assert re.search(r"tasks +3 of 4 paired \(coverage 75%, missing: exclude\), 1 only in B", done.stdout)
    assert re.search(r"B - A +\+0.667, 95% interval .*, p = 0.5 \(McNemar's exact test\)", done.stdout)
    assert re.search(r"A +a \(mcqa with smollm2, 1 a task; 3 of 4 rollouts scored\)", done.stdout)
    assert re.search(r"gained +2: 1 \(0.000 to 1.000\), 2", done.stdout)
    assert "b against a" in page.read_text()
    found = json.loads(odradek("compare", "a", "b", "--missing", "zero", "--json").stdout)
    assert (found["paired_tasks"], found["difference"]["value"], found["missing"]) == (4, 0.75, "zero")
    assert found["gained"] == ["1", "2", "3"]


@pytest.mark.kafka
def test_a_scoring_is_read_by_its_id(world: Any, makes: Any, odradek: Any) -> None:
    world.write(
        *played(makes, "r", [1.0, 1.0]),
        makes.reward(0, 0, 0.0, scoring="again"),
        makes.reward(1, 0, 1.0, scoring="again"),
    )
    found = json.loads(odradek("results", "r", "--scoring", "again", "--json").stdout)
    assert (found["scoring"], found["mean_reward"]["value"]) == ("again", 0.5)
    assert json.loads(odradek("results", "r", "--json").stdout)["mean_reward"]["value"] == 1.0
    found = json.loads(odradek("compare", "r", "r@again", "--json").stdout)
    assert (found["b"]["scoring"], found["difference"]["value"], found["lost"]) == ("again", -0.5, ["0"])
    done = odradek("results", "r", "--scoring", "nope")
    assert done.exit_code == Exit.INVALID_INPUT
    assert "no scoring 'nope', only again, primary" in done.stderr


@pytest.mark.kafka
def test_runs_of_other_tasks_are_refused_unless_told(
    world: Any, makes: Any, odradek: Any, tmp_path: Path
) -> None:
    one, longer, other = (tmp_path / name for name in ("one", "longer", "other"))
    one.write_text('{"q": 1}\n{"q": 2}\n')
    longer.write_text('{"q": 1}\n\n{"q": 2}\n{"q": 3}')
    other.write_text('{"q": 1}\n{"q": 7}\n')
    for run_id, path in (("one", one), ("longer", longer), ("other", other), ("gone", tmp_path / "gone")):
        world.write(*played(makes, run_id, [1.0, 0.0], path))
    assert odradek("compare", "one", "longer").exit_code == 0
    done = odradek("compare", "one", "other")
    assert done.exit_code == Exit.INVALID_INPUT
    assert "task 1 of one (one) is another one in other (other)" in done.stderr
    assert "--different-tasks" in done.stderr
    assert odradek("compare", "one", "other", "--different-tasks").exit_code == 0
    assert "can't be told: the data set of gone" in odradek("compare", "one", "gone").stderr


@pytest.mark.kafka
def test_results_are_grouped_by_a_field_of_the_tasks(
    world: Any, makes: Any, odradek: Any, tmp_path: Path
) -> None:
    fields = [{"meta": {"level": 1}}, {"meta": {"level": 2}}, {"meta": {"level": 1}}]
    world.write(
        *played(makes, "r", [1.0, 0.0, 0.0, None]),
        *(trajectory(makes, task, one) for task, one in enumerate(fields)),
    )
    page = tmp_path / "page.html"
    done = odradek("results", "r", "--by", "meta.level", "--html", str(page))
    assert done.exit_code == 0, done.output
    assert re.search(r"\n1 +2 +100% +0.500", done.stdout)
    assert re.search(r"\n\(no such field\) +1 +0% +- ", done.stdout)
    assert "mean reward by meta.level" in page.read_text()
    done = odradek("results", "r", "--by", "nope")
    assert (done.exit_code, "they have: meta" in done.stderr) == (Exit.INVALID_INPUT, True)


def imported(makes: Any, **more: Any) -> RunImported:
    """Three rollouts of task 0, one of task 4, two of a task that is not scored yet."""
    given: dict[str, Any] = {"samples": 3, "rollouts": 6, "model": "other", **more}
    return RunImported(
        id="i",
        run_id="i",
        time=makes.start,
        environment="mcqa",
        dataset=Dataset(uri="file:///rollouts.jsonl", name="rollouts.jsonl"),
        format="nemo-gym",
        digest="d",
        **given,
    )


def test_imported_rollouts_are_over_what_was_recorded_with_gaps_in_their_numbers(makes: Any) -> None:
    rewards = [
        makes.reward(4, 7, 0.0, run_id="i").model_copy(update={"group": Group(task_id="i/4", size=1)}),
        *(
            makes.reward(0, sample, reward, run_id="i").model_copy(
                update={"group": Group(task_id="i/0", size=3)}
            )
            for sample, reward in ((9, 1.0), (2, 0.0))
        ),
    ]
    summary = summarize_run(Run(imported(makes)), rewards, Ways(by="kind"), {"i/0": {"kind": 1}})
    assert summary.placed.scores == {"i/0": [0.0, 1.0, None], "i/4": [0.0], "i/1": [None, None]}
    assert (summary.planned_known, summary.metrics.planned) == (True, 6)
    assert list(summary.groups["1"].pass_at) == list(summary.groups[None].pass_at) == [1, 2, 3]
    assert "<h1>" in results_page(summary)


@pytest.mark.kafka
def test_an_imported_run_is_of_the_same_tasks_by_what_its_trajectories_say(
    world: Any, makes: Any, odradek: Any
) -> None:
    played_here = [trajectory(makes, task, {"q": task}) for task in (0, 1)]
    elsewhere = [
        event.model_copy(
            update={
                "run_id": "i",
                "rollout_id": event.rollout_id.replace("r/", "i/"),
                "trajectory": event.trajectory.model_copy(
                    update={
                        "run_id": "i",
                        "group": Group(task_id=event.trajectory.group.task_id.replace("r/", "i/"), size=1),
                        "task": {"q": 7 * number},
                    }
                ),
            }
        )
        for number, event in enumerate(played_here)
    ]
    rewards = [makes.reward(0, 0, 0.0, run_id="i"), makes.reward(1, 0, 0.0, run_id="i")]
    world.write(*played(makes, "r", [1.0, 1.0]), *played_here)
    world.write(imported(makes, samples=1, rollouts=2), *elsewhere, *rewards)
    done = odradek("compare", "r", "i")
    assert (done.exit_code, "task 1 of r (tasks.jsonl) is another one in i" in done.stderr) == (4, True)
    done = odradek("compare", "r", "i", "--different-tasks", "--json")
    assert json.loads(done.stdout)["difference"]["value"] == -1.0


def test_a_comparison_without_a_common_task_is_refused(makes: Any) -> None:
    with pytest.raises(CliError, match="no task in common"):
        compare_sides(side(makes, "a", [], 0), side(makes, "b", [1.0]), Missing.EXCLUDE, 1.0, 0)


@pytest.mark.parametrize("name", ["", "@x", "r@"])
def test_half_a_name_is_refused(name: str) -> None:
    with pytest.raises(CliError, match="names no scoring"):
        parse_side(name)


@pytest.mark.parametrize(
    ("a", "b", "row"),
    [(b"1\n2", b"1\r\n\n2\n3", None), (b"1\n2", b"1\n3", 1), (b"", b"1", None), (b"0", b"1", 0)],
)
def test_data_sets_differ_where_their_rows_do(a: bytes, b: bytes, row: int | None) -> None:
    assert first_difference(a, b) == row


def pages(makes: Any) -> list[str]:
    """A page of each kind, of runs whose names and tasks want to be markup."""
    request = makes.run(samples=2).model_copy(update={"model": NASTY, "environment": NASTY})
    run = Run(request, finished=makes.finish(planned=4))
    rewards = [
        makes.reward(0, 0, 1.0, components={NASTY: 1.0}),
        makes.reward(0, 1, 0.0),
        makes.reward(1, 0, None),
    ]
    tasks = {"r/0": {"kind": NASTY}}
    a, b = make_side(run, NASTY, rewards), make_side(run, "primary", rewards)
    return [
        results_page(summarize_run(run, rewards, Ways(by="kind"), tasks)),
        comparison_page(compare_sides(a, b, Missing.ZERO, 1.0, 0)),
    ]


def test_pages_hold_no_markup_but_their_own_and_load_nothing(makes: Any) -> None:
    for page in pages(makes):
        found = Tags(page)
        assert "script" not in found.tags
        assert "<script>alert('&')</script>\ufffd" in found.text
        assert not {"src", "href", "onload", "onclick"} & found.attributes.keys()
        assert "default-src 'none'" in page
        assert found.tags.count("svg") >= 2


@pytest.mark.parametrize("rewards", [[], [None], [1.0], [-3.0, 5.0]])
def test_pages_of_little_or_odd_data_can_be_made(makes: Any, rewards: list[float | None]) -> None:
    run = Run(makes.run(samples=1), finished=makes.finish(planned=max(1, len(rewards))))
    scored = [makes.reward(task, 0, reward) for task, reward in enumerate(rewards)]
    assert "<h1>Results of r</h1>" in results_page(summarize_run(run, scored))
    both = make_side(run, "primary", scored)
    assert "<h1>r against r</h1>" in comparison_page(compare_sides(both, both, Missing.EXCLUDE, 1.0, 0))


@pytest.mark.kafka
def test_a_page_that_cant_be_written_is_an_error_of_one_line(
    world: Any, makes: Any, odradek: Any, tmp_path: Path
) -> None:
    world.write(*played(makes, "r", [1.0]))
    done = odradek("results", "r", "--html", str(tmp_path / "no" / "page.html"))
    assert (done.exit_code, "can't be written" in done.stderr) == (Exit.INVALID_INPUT, True)
