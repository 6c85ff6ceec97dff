"""`odradek autoscale` and `odradek scale`: what they refuse, and what a look is told as."""

from datetime import UTC, datetime
from typing import Any

import pytest

from odradek_cli import local
from odradek_cli.autoscaling import Lines, as_json, line, require_some_load
from odradek_cli.errors import Exit
from odradek_local.settings import LocalSettings
from odradek_local.state import StackState, Status
from odradek_scaling.controller import ScalingError, Step
from odradek_scaling.load import PoolLoad

LOAD = PoolLoad(pool="env-worker", backlog=12, in_flight=80, load=80, members=1)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["autoscale", "--set", "agent-worker.min=0"], Exit.USAGE, "runs stand still"),
        (["autoscale", "--set", "max=0"], Exit.USAGE, "POOL.FIELD=VALUE"),
        (["autoscale", "--pool", "gateway"], Exit.USAGE, "there is no pool 'gateway'"),
        (["scale", "agent-worker=²"], Exit.USAGE, "is not POOL=N"),
        (["up", "--scale", "agent-worker=-1"], Exit.USAGE, "is not POOL=N"),
        (["autoscale"], Exit.NO_STACK, "no stack is running"),
        (["scale", "agent-worker"], Exit.USAGE, "is not POOL=N"),
        (["scale", "agent-worker=2"], Exit.NO_STACK, "no local stack is running"),
        (["up", "--scale", "agent-worker=9"], Exit.USAGE, "from 0 to 4"),
    ],
)
def test_what_cannot_be_is_refused(odradek: Any, arguments: list[str], code: Exit, said: str) -> None:
    result = odradek(*arguments)
    assert result.exit_code == code
    assert said in result.stderr


def test_a_deployment_of_others_is_not_scaled_by_the_local_supervisor(
    odradek: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVERS", "kafka.example:9092")
    result = odradek("autoscale", "--once")
    assert result.exit_code == Exit.USAGE
    assert "--docker" in result.stderr


def test_a_look_that_saw_nothing_is_no_success() -> None:
    blind = Step("env-worker", None, 4, 4, "Kafka is away", trouble=True)
    seen = Step("env-worker", LOAD, 1, 1, "")
    require_some_load([blind, seen])
    with pytest.raises(ScalingError, match="no pool's load is known"):
        require_some_load([blind, blind])


def test_a_look_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    grows = Step("env-worker", LOAD, 1, 4, "80 a worker, target 20")
    told = (
        "env-worker      load 80 (backlog 12, in flight 80, 1 alive), workers 1 -> 4: 80 a worker, target 20"
    )
    assert line(grows) == told
    blind = Step("env-worker", None, 4, 4, "the load is not known: Kafka is away", trouble=True)
    assert line(blind) == "env-worker      load unknown, workers 4: the load is not known: Kafka is away"
    assert as_json(grows)["load"] == {"backlog": 12, "in_flight": 80, "load": 80, "members": 1}
    lines = Lines()
    for step in (grows, grows, blind, grows):
        lines.tell(step)
    assert len(capsys.readouterr().out.splitlines()) == 3, "what is as before is not told again"


def test_what_a_stack_is_asked_for_lies_in_its_own_folder(
    odradek: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = local.settings()
    monkeypatch.setattr("odradek_local.supervisor.status", lambda found: healthy(found))
    monkeypatch.setattr("odradek_local.supervisor.os.kill", lambda pid, number: None)
    result = odradek("scale", "agent-worker=3", "--timeout", "1")
    assert result.exit_code == Exit.NO_STACK
    assert "not scaled within 1 s" in result.stderr
    asked = settings.folder / "scale"
    assert (asked / "agent-worker").read_text() == "3\n"
    assert asked.stat().st_mode & 0o077 == 0


def healthy(settings: LocalSettings) -> StackState:
    return StackState(
        status=Status.HEALTHY,
        supervisor_pid=1,
        started_at=datetime.now(UTC),
        bootstrap="127.0.0.1:9",
        topic_prefix="odradek.",
        partitions=4,
        blob_store="",
        gateway_url="",
        models={},
        log=settings.folder / "log",
        scale={"agent-worker": 1},
    )
