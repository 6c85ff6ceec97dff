"""A real Prometheus on a real local stack: it scrapes the workers, loads the rules, and has an answer to each question."""

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from odradek.plugins import load_environment
from odradek_local.ports import free_port
from odradek_schemas.rollouts import Limits
from tests.conftest import RunningStack
from tests.observability.installing import program
from tests.support.exposed import EXPORTER, exposed
from tests.support.log import run_requested
from tests.test_observability import queries

FOLDER = Path(__file__).parents[2] / "deploy" / "observability"
START_SECONDS = 30.0
SCRAPE_SECONDS = 60.0

IMPATIENT = Limits(model_seconds=2, max_attempts=2)

pytestmark = [pytest.mark.observability, pytest.mark.kafka, pytest.mark.slow]


class Prometheus:
    """A server that runs."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}/api/v1"

    def ask(self, path: str, **arguments: str) -> Any:
        url = f"{self._base}/{path}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            told = json.load(answer)
        assert told["status"] == "success", told
        return told["data"]

    def query(self, query: str) -> list[Any]:
        found: list[Any] = self.ask("query", query=query)["result"]
        return found

    def until(self, query: str, seconds: float = SCRAPE_SECONDS) -> list[Any]:
        """Ask until there is an answer."""
        deadline = time.monotonic() + seconds
        while not (found := self.query(query)):
            assert time.monotonic() < deadline, f"nothing within {seconds:g} s: {query}"
            time.sleep(0.2)
        return found


def configuration(stack: RunningStack, exporter: int) -> dict[str, Any]:
    """The deployment's own, but that the workers are found by their ports, and quicker."""
    given: dict[str, Any] = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    names = given["scrape_configs"][0]["dns_sd_configs"][0]["names"]
    places = [(part.pool, part.port) for part in stack.state.parts if part.pool] + [(EXPORTER, exporter)]
    assert {name for name, _port in places} == set(names)
    targets = [{"targets": [f"127.0.0.1:{port}"], "labels": {"job": name}} for name, port in places]
    return given | {
        "global": {"scrape_interval": "3s", "evaluation_interval": "3s"},
        "rule_files": [str(FOLDER / "rules" / "*.yml")],
        "scrape_configs": [{"job_name": "odradek", "scrape_timeout": "3s", "static_configs": targets}],
    }


@contextmanager
def exporting(stack: RunningStack, folder: Path) -> Iterator[int]:
    """A load exporter; its port."""
    port = free_port()
    settings = {
        "ODRADEK_BOOTSTRAP_SERVERS": stack.state.bootstrap,
        "ODRADEK_TOPIC_PREFIX": stack.state.topic_prefix,
        "ODRADEK_HTTP_PORT": str(port),
    }
    command = [str(Path(sys.executable).with_name("odradek-load-exporter"))]
    with (
        (folder / "exporter.log").open("wb") as log,
        subprocess.Popen(command, env={**os.environ, **settings}, stdout=log, stderr=log) as process,
    ):
        try:
            _wait(process, f"http://127.0.0.1:{port}/readyz", folder / "exporter.log")
            yield port
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def running(stack: RunningStack, exporter: int, folder: Path) -> Iterator[Prometheus]:
    server = program("prometheus")
    assert server is not None, "`make test-observability` gets it"
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration(stack, exporter)))
    port = free_port()
    command = [
        str(server),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            _wait(process, f"http://127.0.0.1:{port}/-/ready", folder / "log")
            yield Prometheus(port)
        finally:
            process.terminate()
            process.wait(20)


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"not ready: {url}")


@pytest.fixture(scope="module")
def prometheus(stack: RunningStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """With a run played, and one that fails."""
    folder = tmp_path_factory.mktemp("prometheus")
    with exporting(stack, folder) as exporter, running(stack, exporter, folder) as server:
        server.until("count(odradek_ready == 1) == 5")
        asyncio.run(_play(stack, "mcqa", "mcqa"))
        asyncio.run(_play(stack, "example_session_state_mgmt", "tool_loop"))
        asyncio.run(_play(stack, "mcqa", "error500", limits=IMPATIENT))
        yield server


async def _play(stack: RunningStack, environment: str, model: str, **wishes: Any) -> None:
    rows = load_environment(environment).examples()
    request = run_requested(environment, model, rows, samples=1, concurrency=100, **wishes)
    await stack.log.finished(await stack.log.start(request))


def test_every_worker_is_scraped_and_every_rule_can_be_evaluated(prometheus: Prometheus) -> None:
    assert {sample["metric"]["job"] for sample in prometheus.query("up == 1")} == {
        "task-producer",
        "agent-worker",
        "env-worker",
        "verifier-worker",
        "model-gateway",
        EXPORTER,
    }
    groups = prometheus.ask("rules")["groups"]
    health = {rule["name"]: (rule["health"], rule.get("lastError")) for g in groups for rule in g["rules"]}
    assert len(health) >= 29
    assert {name: state for name, state in health.items() if state[0] != "ok"} == {}


def test_what_was_played_is_counted(prometheus: Prometheus) -> None:
    prometheus.until('sum(odradek_runs_ended_total{status="finished"}) == 3')
    prometheus.until('sum(odradek_rewards_total{outcome="masked"}) > 0')
    scored = prometheus.until('sum(odradek_rewards_total{scoring="primary",outcome="scored"})')
    ended = prometheus.until('sum(odradek_rollouts_ended_total{status="completed"})')
    assert scored[0]["value"][1] == ended[0]["value"][1]


def test_every_metric_of_the_workers_is_there(prometheus: Prometheus) -> None:
    """All but those of which nothing has happened here: large values, bad records, prices, judges' questions."""
    rare = ("odradek_blob_", "odradek_stalled", "odradek_errors")
    for metric in exposed():
        for name in metric.series:
            if not name.startswith(rare):
                prometheus.until(name)


def test_every_query_of_the_dashboard_is_one_that_prometheus_takes(prometheus: Prometheus) -> None:
    """Those over what was played also have an answer."""
    silent: list[str] = []
    for purpose, query in queries():
        filled = query.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$model", ".*")
        if not prometheus.query(filled):
            silent.append(purpose)
    print("no answer to:", *silent, sep="\n  ")
    assert {"Coverage A", "Mean reward A", "Time of a call A", "Actions a second A"} & set(silent) == set()


def test_nothing_critical_fires_on_a_stack_that_is_well(prometheus: Prometheus) -> None:
    assert prometheus.query('ALERTS{alertstate="firing",severity="critical"}') == []
