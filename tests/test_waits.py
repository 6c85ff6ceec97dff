"""The table of waits in docs/reliability.md and the code say the same, both ways."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from odradek.models import ModelSettings
from odradek_agent_worker.settings import AgentSettings
from odradek_env_worker.settings import EnvSettings
from odradek_model_gateway.settings import GatewaySettings
from odradek_schemas.events import RunRequested
from odradek_schemas.rollouts import Limits
from odradek_task_producer.settings import ProducerSettings
from odradek_verifier_worker.settings import VerifierSettings

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reliability.md"
SETTINGS = (AgentSettings, EnvSettings, VerifierSettings, ProducerSettings, GatewaySettings)
MODELS = (Limits, RunRequested, ModelSettings)

PACES = {
    # How often something is looked at or done: nobody waits longer for it than for the deadline around it.
    "odradek.verifiers.mathematics.AGAIN_SECONDS",
    "odradek.verifiers.reward_models.FIRST_PAUSE_SECONDS",
    "odradek_cli.attendance.LOOK_SECONDS",
    "odradek_cli.commands.autoscale.EVERY_SECONDS",
    "odradek_cli.watching.PLAIN_EVERY_SECONDS",
    "odradek_cli.watching.SILENCE_SECONDS",
    "odradek_runtime.groups.AGAIN_SECONDS",
    "odradek_cli.live_view.LONG_SECONDS",
    "odradek_cli.standing.BEHIND_SECONDS",
    "odradek_ecs.aws.LOOK_SECONDS",
    "odradek_ecs.scaling.WAKE_AGAIN_SECONDS",
    "odradek_ecs.scaling.WAKE_SECONDS",
    "odradek_ecs.services.DNS_SECONDS",
    "odradek_ecs.task.RESTART_AFTER_SECONDS",
    "odradek_env_worker.programs.launcher._LOOK_SECONDS",
    "odradek_env_worker.gateway.LOOK_SECONDS",
    "odradek_local.health.ASK_EVERY_S",
    "odradek_local.ports.LOOK_EVERY_S",
    "odradek_local.restarts.WITHIN_S",
    "odradek_local.supervisor.LOOK_EVERY_S",
    "odradek_model_gateway.breaker.FIRST_PAUSE_SECONDS",
    "odradek_model_gateway.pace.BURST_SECONDS",
    "odradek_model_gateway.pace.MINUTE_SECONDS",
    "odradek_model_gateway.retries.FIRST_BACKOFF_SECONDS",
    "odradek_model_gateway.shared.AGAIN_SECONDS",
    "odradek_model_gateway.shared.CROWDED_SECONDS",
    "odradek_model_gateway.shared.TELL_SECONDS",
    "odradek_model_gateway.upstream.KEEPALIVE_SECONDS",
    "odradek_runtime.concurrent.IDLE_SECONDS",
    "odradek_runtime.gathering.LEAST_SECONDS",
    "odradek_training.feed._LOOK_SECONDS",
    "odradek_runtime.gathering.MOST_PAUSE_SECONDS",
    "odradek_runtime.gathering.MOST_SECONDS",
    "odradek_runtime.log_follower.POLL_SECONDS",
    "odradek_runtime.log_follower.RETRY_SECONDS",
    "odradek_runtime.logs.REPEAT_SECONDS",
    "odradek_runtime.loop_delay.TICK_SECONDS",
    "odradek_runtime.service.BROKER_RETRY_SECONDS",
    "odradek_runtime.stateful.IDLE_SECONDS",
    "odradek_runtime.topics.LOOK_EVERY_SECONDS",
    "odradek_runtime.tuning.TRANSACTION_BACKOFF_SECONDS",
    "odradek_runtime.twins.WITHIN_SECONDS",
    "odradek_runtime.worker.FAILURE_SECONDS",
    "odradek_runtime.worker.LEAST_PAUSE_SECONDS",
    "odradek_runtime.worker.LOOK_SECONDS",
    "odradek_runtime.worker.RETRY_SECONDS",
    "odradek_task_producer.loading.FIRST_BACKOFF_SECONDS",
    "odradek_verifier_worker.rescores.LOOK_SECONDS",
    "odradek_verifier_worker.rescores.PIECE_SECONDS",
    "odradek_verifier_worker.verifier.LOOK_SECONDS",
    "odradek_scaling.meter.FRESH_SECONDS",
    "odradek_scoring.child._REPORT_SECONDS",
    "odradek_scoring.pool._BATCH_SECONDS",
    "odradek_scoring.pool._SLOW_SECONDS",
    "odradek_training.server.HEARTBEAT_SECONDS",
    "odradek_training.trl.worker._FULL_SECONDS",
    "ODRADEK_PROGRESS_SECONDS",
    "ODRADEK_PURGE_INTERVAL_SECONDS",
}


def rows() -> list[tuple[str, float, str]]:
    """What waits, its limit in seconds, and the name of where it is set."""
    text = PAGE.read_text()
    table = text[text.index("<!-- waits: begin -->") : text.index("<!-- waits: end -->")]
    found = []
    for line in table.splitlines():
        if match := re.fullmatch(r"\| (.+) \| ([\d.]+) s \| .+ \| `([\w.]+)`(?:, `--\w+`)? \|", line):
            found.append((match[1], float(match[2]), match[3]))
        else:
            assert not re.match(r"\| .*\d", line), f"this row can't be compared: {line}"
    return found


def field(model: type[BaseModel], name: str) -> float:
    return float(model.model_fields[name].default)


def in_code(name: str) -> float:
    """The default of a setting, a field or a constant."""
    if name.startswith("ODRADEK_"):
        key = name.removeprefix("ODRADEK_").lower()
        return next(field(settings, key) for settings in SETTINGS if key in settings.model_fields)
    owner, _, attribute = name.rpartition(".")
    model = next((model for model in MODELS if model.__name__ == owner), None)
    return field(model, attribute) if model else float(getattr(importlib.import_module(owner), attribute))


def constants() -> Iterator[str]:
    """Every number of seconds that a module of the product names."""
    for folder in (
        *ROOT.glob("services/*/src"),
        *(
            ROOT / name / "src"
            for name in ("sdk", "runtime", "scoring", "scaling", "training", "local", "cli", "deploy/ecs")
        ),
    ):
        for path in folder.rglob("*.py"):
            module = ".".join(path.relative_to(folder).with_suffix("").parts)
            for node in ast.parse(path.read_text()).body:
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                if isinstance(target, ast.Name) and re.search(r"_(SECONDS|S)$", target.id):
                    yield f"{module}.{target.id}"


def settings() -> Iterator[str]:
    for model in SETTINGS:
        yield from (f"ODRADEK_{name.upper()}" for name in model.model_fields if name.endswith("_seconds"))


@pytest.mark.parametrize(("what", "seconds", "name"), rows(), ids=lambda value: str(value)[:60])
def test_the_table_says_what_the_code_does(what: str, seconds: float, name: str) -> None:
    assert in_code(name) == seconds, what


def test_the_table_names_every_limit_of_the_code() -> None:
    told = {name for _what, _seconds, name in rows()}
    known = {*constants(), *settings()}
    assert known - told - PACES == set(), (
        "not in docs/reliability.md (or, where nobody waits for it, in PACES)"
    )
    assert PACES - known == set(), "these are gone"
