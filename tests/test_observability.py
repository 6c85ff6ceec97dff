"""The alert rules, the dashboard and their page say only what the workers really tell, and all of it.

What the rules do is tried by Prometheus itself: `make test-observability`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from odradek_schemas.topics import WORKERS
from tests.support.exposed import EXPORTER, exposed, process_series

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "deploy" / "observability"
PAGE = ROOT / "docs" / "operating.md"
DASHBOARD = FOLDER / "grafana" / "dashboards" / "odradek.json"
TARGET = frozenset({"job", "instance"})
"""Labels that Prometheus itself puts to each series."""
ITS_OWN = {"up": frozenset[str](), "ALERTS": frozenset({"alertname", "alertstate", "severity"})}

OF_THE_DATA_SOURCE = {"/annotations/list/*/titleFormat", "/templating/list/*/definition"}
"""What Grafana leaves to Prometheus' own plug-in to read."""

SERIES = {name: labels for metric in exposed() for name, labels in metric.series.items()}
KNOWN = {name: labels | TARGET for name, labels in (SERIES | process_series() | ITS_OWN).items()}


def rules() -> list[dict[str, Any]]:
    groups = [group for path in sorted(FOLDER.glob("rules/*.yml")) for group in read(path)["groups"]]
    return [rule for group in groups for rule in group["rules"]]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def queries() -> Iterator[tuple[str, str]]:
    """Each query, with what it is for."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel.get("targets", ()):
            yield f"{panel['title']} {target['refId']}", target["expr"]


def parsed(query: str) -> promql_parser.Expr:
    """A query with Grafana's variables filled in."""
    return promql_parser.parse(query.replace("$__rate_interval", "5m").replace("$", "x"))


def under(expression: promql_parser.Expr) -> list[promql_parser.Expr]:
    found: list[promql_parser.Expr] = []
    promql_parser.walk(expression, lambda each: found.append(each))
    return found


def wrong(query: str) -> Iterator[str]:
    """What a query asks for that nobody tells."""
    for part in under(parsed(query)):
        if isinstance(part, promql_parser.VectorSelector):
            if part.name not in KNOWN:
                yield f"no metric {part.name}"
            else:
                asked = {matcher.name for matcher in part.matchers.matchers}
                yield from (f"{part.name} has no label {label}" for label in asked - KNOWN[part.name])
        elif isinstance(part, promql_parser.AggregateExpr) and part.modifier is not None:
            yield from unknown_labels(part.expr, part.modifier.labels)
        elif isinstance(part, promql_parser.BinaryExpr) and (on := part.modifier and part.modifier.matching):
            yield from unknown_labels(part, on.labels)


def unknown_labels(expression: promql_parser.Expr, labels: list[str]) -> Iterator[str]:
    """Labels that a query groups by and some metric in it lacks; label_replace makes labels of its own."""
    parts = under(expression)
    made = {
        part.args[1].val
        for part in parts
        if isinstance(part, promql_parser.Call) and part.func.name == "label_replace"
    }
    for part in parts:
        if isinstance(part, promql_parser.VectorSelector) and part.name in KNOWN:
            lacking = set(labels) - KNOWN[part.name] - made
            yield from (f"{part.name} has no label {label} to group by" for label in lacking)


@pytest.mark.parametrize(("purpose", "query"), list(queries()))
def test_a_query_asks_for_what_workers_tell(purpose: str, query: str) -> None:
    """Caught: a metric or label that was renamed, and a panel or an alert that is silent ever after."""
    assert list(wrong(query)) == []


def test_a_wrong_query_would_be_found() -> None:
    assert list(wrong("rate(odradek_nothing[5m])")) == ["no metric odradek_nothing"]
    assert list(wrong('odradek_ready{pool="x"}')) == ["odradek_ready has no label pool"]
    assert list(wrong("sum by (model) (odradek_ready)")) == ["odradek_ready has no label model to group by"]


def test_every_alert_says_what_is_wrong_and_where_to_read_on() -> None:
    headings = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", PAGE.read_text(), re.MULTILINE)}
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]
        assert rule["annotations"].keys() == {"summary", "description", "runbook"}, rule["alert"]
        assert rule["annotations"]["runbook"] == f"docs/operating.md#{rule['alert'].lower()}"
        assert rule["alert"].lower() in headings, f"{rule['alert']} is not in {PAGE.name}"


def test_the_page_has_no_alert_that_there_is_not() -> None:
    told = set(re.findall(r"^### ([A-Z]\w+)$", PAGE.read_text(), re.MULTILINE))
    assert told == {rule["alert"] for rule in rules()}


def test_every_alert_has_a_test_of_its_own() -> None:
    tested = "".join(path.read_text() for path in FOLDER.glob("tests/*.yml"))
    assert [rule["alert"] for rule in rules() if f'alertname="{rule["alert"]}"' not in tested] == []


def test_every_metric_is_in_the_pages_table() -> None:
    """Both ways: one that is gone must leave the table, too."""
    told = re.findall(r"^\| `(odradek_\w+)(?:\{([\w, ]*)\})?` \|", PAGE.read_text(), re.MULTILINE)
    table = {name: frozenset(filter(None, labels.split(", "))) for name, labels in told}
    assert len(table) == len(told)
    assert table == {name_told(metric.series): min(metric.series.values(), key=len) for metric in exposed()}


def name_told(series: Any) -> str:
    """The name that a person looks for: without a histogram's endings."""
    names = sorted(series, key=len)
    return str(names[0]) if len(names) == 1 else str(names[0]).rpartition("_")[0]


def test_all_workers_are_scraped_at_their_port() -> None:
    scraped = read(FOLDER / "prometheus.yml")["scrape_configs"][0]["dns_sd_configs"][0]
    assert set(scraped["names"]) == {*WORKERS, EXPORTER}
    assert scraped["port"] == 9400


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    assert dashboard["uid"] == "odradek"
    assert dashboard.get("id") is None
    numbers = [panel["id"] for panel in panels()]
    assert len(numbers) == len(set(numbers))
    titles = [panel["title"] for panel in panels()]
    assert len(titles) == len(set(titles))
    for panel in panels():
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            refs = [target["refId"] for target in panel["targets"]]
            assert refs
            assert len(refs) == len(set(refs))


def test_grafanas_own_models_read_all_of_the_dashboard() -> None:
    """Caught: a misspelt or misplaced key, which Grafana would pass over without a word."""
    register_default_plugins()
    given = json.loads(DASHBOARD.read_text())
    read_back = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(given)))
    assert {re.sub(r"\d+", "*", path) for path in lost(given, read_back)} == OF_THE_DATA_SOURCE


def lost(given: Any, read_back: Any, path: str = "") -> Iterator[str]:
    """The paths whose values are not read back as they were given."""
    if isinstance(given, dict) and isinstance(read_back, dict):
        for key, value in given.items():
            yield from lost(value, read_back.get(key), f"{path}/{key}")
    elif isinstance(given, list) and isinstance(read_back, list) and len(given) == len(read_back):
        for number, (value, other) in enumerate(zip(given, read_back, strict=True)):
            yield from lost(value, other, f"{path}/{number}")
    elif given != read_back:
        yield path


def test_no_panel_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (place["x"] + across, place["y"] + down)
            for across in range(place["w"])
            for down in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_grafana_finds_its_data_source_and_dashboards() -> None:
    (source,) = read(FOLDER / "grafana/provisioning/datasources/prometheus.yml")["datasources"]
    assert source["type"] == "prometheus"
    assert source["isDefault"]
    (provider,) = read(FOLDER / "grafana/provisioning/dashboards/odradek.yml")["providers"]
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards"
