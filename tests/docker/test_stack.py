"""`docker compose up`: runs from the host and from a container, and what becomes of them when containers die, pools
change their size, and images are replaced."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from odradek_runtime.names import Names
from tests.docker.playing import play
from tests.docker.stack import DockerStack, until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900, func_only=True)]

OURS = ("task-producer", "agent-worker", "env-worker", "verifier-worker", "model-gateway")


def test_a_run_from_the_host_with_the_small_model(stack: DockerStack) -> None:
    stack.odradek("run", "mcqa", "--model", "smollm2", "--limit", "2", "--max-tokens", "16")
    results = json.loads(stack.odradek("results", "--json"))
    assert results["mean_reward"]["scored"] == 2
    stack.odradek("audit")


def test_a_run_without_python_on_the_host(stack: DockerStack) -> None:
    cli = ["run", "--rm", "--no-TTY", "cli"]
    stack.compose(*cli, "run", "example_session_state_mgmt", "--model", "tool_loop", "--limit", "2")
    results = json.loads(stack.compose(*cli, "results", "--json"))
    assert results["mean_reward"]["scored"] == 2
    assert json.loads(stack.odradek("results", "--json"))["run_id"] == results["run_id"]


def test_each_environment_is_in_order_inside(stack: DockerStack) -> None:
    listed = json.loads(stack.compose("run", "--rm", "--no-TTY", "cli", "list", "--json"))
    names = [one["name"] for one in listed["environments"]]
    assert len(names) > 8
    for name in ("mcqa", "math_with_judge", "instruction_following", "workplace_assistant"):
        assert name in names
        stack.compose("run", "--rm", "--no-TTY", "cli", "validate", name)


@pytest.mark.parametrize("service", OURS)
def test_a_container_may_do_no_more_than_it_must(stack: DockerStack, service: str) -> None:
    [container] = stack.containers(service)
    found = stack.inspect(container)
    host = found["HostConfig"]
    assert found["Config"]["User"] == "10001:10001"
    assert host["ReadonlyRootfs"]
    assert host["CapDrop"] == ["ALL"]
    assert host["Memory"] > 0
    assert not host["PortBindings"]
    assert found["Config"]["Labels"]["org.opencontainers.image.title"].endswith(service)
    until(lambda: stack.inspect(container)["State"]["Health"]["Status"] == "healthy", f"{service} is healthy")
    look = "for tool in pip pip3 uv gcc cc make; do command -v $tool && exit 1; done; ! touch /opt/odradek/x 2>/dev/null"
    stack.docker("exec", container, "sh", "-c", look)


def test_who_may_read_which_secret(stack: DockerStack) -> None:
    seen = {
        service: set(stack.compose("exec", "-T", service, "sh", "-c", "ls /run/secrets/*").split())
        & {"sealing_public_key", "sealing_private_key", "access_secret"}
        for service in OURS
    }
    assert seen == {
        "task-producer": {"sealing_public_key"},
        "agent-worker": set(),
        "env-worker": {"sealing_public_key", "sealing_private_key", "access_secret"},
        "verifier-worker": {"sealing_private_key"},
        "model-gateway": {"access_secret"},
    }


def test_programs_under_test_run_behind_bubblewrap(stack: DockerStack) -> None:
    ask = "from odradek.verifiers.programs import local_runner; print(local_runner().fence.isolation)"
    assert stack.compose("exec", "-T", "verifier-worker", "python", "-c", ask).strip() == "bubblewrap"


async def test_killed_agent_worker_loses_nothing(stack: DockerStack) -> None:
    run = await play(stack)
    stack.compose("kill", "agent-worker")
    stack.compose("up", "--detach", "--no-deps", "agent-worker")
    await run.ends_clean()


async def test_a_crash_is_mended_by_docker_alone(stack: DockerStack) -> None:
    run = await play(stack)
    [container] = stack.containers("env-worker")
    stack.docker("exec", "--detach", container, "python", "-c", _KILL_THE_WORKER)
    until(lambda: stack.inspect(container)["RestartCount"] == 1, "the container is started again")
    await run.ends_clean()


async def test_a_pool_grows_and_shrinks(stack: DockerStack) -> None:
    run = await play(stack)
    scale = ["up", "--detach", "--no-deps", "--no-recreate"]
    stack.compose(
        *scale, "--scale", "agent-worker=3", "--scale", "env-worker=2", "agent-worker", "env-worker"
    )
    assert len(stack.containers("agent-worker")) == 3
    until(lambda: len(stack.containers("env-worker")) == 2, "two env-workers run")
    await members_are(stack, "agent-worker", 3)
    await members_are(stack, "env-worker", 2)
    stack.compose(
        *scale, "--scale", "agent-worker=1", "--scale", "env-worker=1", "agent-worker", "env-worker"
    )
    assert await members(stack, "agent-worker") == 1, "who stops leaves the group at once"
    assert await members(stack, "env-worker") == 1
    await run.ends_clean()


POLICY = """\
[env-worker]
target = 2
max = 3
grow_seconds = 0
shrink_seconds = 5
"""


async def test_the_autoscaler_follows_the_load(stack: DockerStack, tmp_path: Path) -> None:
    policy = tmp_path / "autoscale.toml"
    policy.write_text(POLICY)
    profile = ["--profile", "scale"]
    stack.compose(*profile, "up", "--detach", "--no-deps", "autoscaler", ODRADEK_AUTOSCALE_FILE=str(policy))
    until(lambda: "env-worker" in stack.compose(*profile, "logs", "autoscaler"), "it has looked at the pool")
    run = await play(stack, samples=24)
    until(lambda: len(stack.containers("env-worker")) == 3, "open sessions make the pool grow")
    await run.ends_clean()
    until(lambda: len(stack.containers("env-worker")) == 1, "and it shrinks when none are open")
    until(lambda: not stopped(stack, "env-worker"), "none is left stopped")
    stack.compose(*profile, "rm", "--stop", "--force", "autoscaler", ODRADEK_AUTOSCALE_FILE=str(policy))


def test_the_load_of_a_pool_is_told_on_the_private_network(stack: DockerStack) -> None:
    profile = ["--profile", "scale"]
    stack.compose(*profile, "up", "--detach", "--build", "--wait", "--no-deps", "load-exporter", seconds=600)
    ask = "import urllib.request as r; print(r.urlopen('http://load-exporter:9400/pools/agent-worker').read().decode())"
    load = json.loads(stack.compose("exec", "-T", "agent-worker", "python", "-c", ask))
    assert load["pool"] == "agent-worker"
    assert load["members"] == 1
    stack.compose(*profile, "rm", "--stop", "--force", "load-exporter")


async def test_an_upgrade_loses_nothing(stack: DockerStack) -> None:
    before = {service: stack.containers(service) for service in OURS}
    run = await play(stack)
    stack.compose("up", "--detach", "--build", seconds=600, ODRADEK_REVISION=str(os.getpid()))
    for service in OURS:
        assert stack.containers(service) != before[service], "it runs the new image"
    await run.ends_clean()


_KILL_THE_WORKER = f"""
import os, pathlib
for process in pathlib.Path("/proc").glob("[0-9]*"):
    if int(process.name) not in (1, os.getpid()) and b"odradek-env-worker" in (process / "cmdline").read_bytes():
        os.kill(int(process.name), {int(signal.SIGKILL)})
"""
"""Everything but process one: from within its container the kernel lets nobody kill that."""


def stopped(stack: DockerStack, service: str) -> set[str]:
    """Containers of a service that are there and don't run."""
    return {*stack.compose("ps", "--all", "--quiet", service).split()} - {*stack.containers(service)}


async def members(stack: DockerStack, worker: str) -> int:
    """The members of a pool's group, as the broker knows them."""
    admin = AIOKafkaAdminClient(bootstrap_servers=stack.bootstrap)
    await admin.start()
    try:
        [answer] = await admin.describe_consumer_groups([Names("odradek.").group(worker)])
        [group] = answer.to_object()["groups"]
        return len(group["members"])
    finally:
        await admin.close()


async def members_are(stack: DockerStack, worker: str, count: int) -> None:
    for _ in range(450):
        if await members(stack, worker) == count:
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{worker} has not got {count} members within 90 s")
