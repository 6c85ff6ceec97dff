"""A pool's controller: what it does with what it sees, and when it gives up."""

import asyncio
from pathlib import Path

import pytest

from odradek_scaling.choices import PolicyError, chosen
from odradek_scaling.controller import PATIENCE_SECONDS, Controller, DriverError, ScalingError, Step
from odradek_scaling.load import LoadUnknownError, PoolLoad
from odradek_scaling.policy import DEFAULTS, Policy

POOL = "env-worker"
POLICY = Policy(target=10, min=0, max=4, grow_seconds=0, shrink_seconds=10)


class World:
    """A deployment with one pool: a clock, a load, and workers."""

    def __init__(self) -> None:
        self.now = 0.0
        self.load_now: int | str = 0
        self.workers: int | str = 1
        self.set: list[int] = []

    def clock(self) -> float:
        return self.now

    async def load(self, pool: str) -> PoolLoad:
        if isinstance(self.load_now, str):
            raise LoadUnknownError(self.load_now)
        return PoolLoad(pool=pool, backlog=0, in_flight=self.load_now, load=self.load_now, members=1)

    def partitions(self, pool: str) -> int | None:
        return 3

    async def replicas(self, pool: str) -> int:
        if isinstance(self.workers, str):
            raise DriverError(self.workers)
        return self.workers

    async def scale(self, pool: str, replicas: int) -> None:
        self.set.append(replicas)
        self.workers = replicas


async def play(world: World, controller: Controller, load: int | str, seconds: float) -> list[Step]:
    """Looks, two seconds apart."""
    world.load_now, end, steps = load, world.now + seconds, []
    while world.now < end:
        steps.append(await controller.step())
        world.now += 2
    return steps


def make(world: World, *, dry: bool = False) -> Controller:
    return Controller(POOL, POLICY, world, world, dry=dry, clock=world.clock)


async def test_it_follows_the_load_up_and_down_and_never_beyond_the_partitions() -> None:
    world = World()
    controller = make(world)
    await play(world, controller, 25, 4)
    await play(world, controller, 1000, 30)
    await play(world, controller, 15, 30)
    await play(world, controller, 0, 30)
    assert world.set == [3, 2, 0], "1,000 ask for a hundred, 4 are allowed, 3 have work"


async def test_a_load_that_is_not_known_changes_nothing_and_is_told() -> None:
    world = World()
    controller = make(world)
    await play(world, controller, 25, 4)
    steps = await play(world, controller, "Kafka does not answer", 60)
    assert world.set == [3]
    assert steps[-1] == Step(POOL, None, 3, 3, "the load is not known: Kafka does not answer", trouble=True)


async def test_a_dry_run_decides_and_does_nothing() -> None:
    world = World()
    (step, *_) = await play(world, make(world, dry=True), 25, 2)
    assert (step.replicas, step.wanted, world.set) == (1, 3, [])


async def test_trouble_with_the_workers_is_told_and_passes() -> None:
    world = World()
    controller = make(world)
    world.workers = "no engine"
    (step, *_) = await play(world, controller, 25, 2)
    assert (step.replicas, step.why, step.trouble) == (None, "no engine", True)
    world.workers = 1
    await play(world, controller, 25, 2)
    assert world.set == [3]


@pytest.mark.parametrize("blind", [True, False])
async def test_it_gives_up_when_nothing_can_be_done_for_long(blind: bool) -> None:
    world = World()
    controller = make(world)
    await play(world, controller, 5, 4)
    world.workers = 1 if blind else "no engine"
    with pytest.raises(ScalingError, match=r"for 600 s: .*(Kafka|no engine)"):
        await play(world, controller, "Kafka is away" if blind else 5, PATIENCE_SECONDS + 10)
    assert world.set == []


async def test_when_it_is_cancelled_the_pool_stays_as_it_is() -> None:
    world = World()
    world.load_now = 25
    seen: asyncio.Queue[Step] = asyncio.Queue()
    running = asyncio.ensure_future(make(world).run(0.001, seen.put_nowait))
    async with asyncio.timeout(5):
        for _ in range(3):
            await seen.get()
    running.cancel()
    await asyncio.wait({running})
    assert world.set == [3]


def test_policies_are_defaults_then_the_file_then_single_settings(tmp_path: Path) -> None:
    file = tmp_path / "scaling.toml"
    file.write_text("[env-worker]\ntarget = 7\nmax = 9\n")
    policies = chosen(file, ["env-worker.max=8", "env-worker.min=0"], ["env-worker", "agent-worker"])
    assert policies.pools.keys() == {"env-worker", "agent-worker"}
    assert policies.pools["agent-worker"] == DEFAULTS.pools["agent-worker"]
    env = policies.pools["env-worker"]
    assert (env.target, env.min, env.max) == (7, 0, 8)


@pytest.mark.parametrize(
    ("text", "setting", "only", "said"),
    [
        ("[env-worker]\nmost = 3\n", "", "", r"scaling.toml: env-worker.most: Extra inputs"),
        ("env-worker = 3\n", "", "", r"scaling.toml: env-worker is not a table"),
        ("[env]\nmin = 1\n", "", "", r"scaling.toml: there is no pool 'env'"),
        ("[env-worker\n", "", "", r"scaling.toml: .*line 1"),
        (
            "",
            "env-worker.max=many",
            "",
            r"--set env-worker.max=many: env-worker.max: Input should be a valid integer",
        ),
        ("", "agent-worker.min=0", "", r"--set agent-worker.min=0: agent-worker: min must be at least 1"),
        ("", "env-worker.target=inf", "", r"env-worker.target: Input should be a finite number"),
        ("", "max=3", "", r"is not POOL.FIELD=VALUE"),
        ("", "", "env", r"there is no pool 'env'"),
    ],
)
def test_policies_that_cannot_be_are_said(
    tmp_path: Path, text: str, setting: str, only: str, said: str
) -> None:
    file = tmp_path / "scaling.toml"
    file.write_text(text)
    with pytest.raises(PolicyError, match=said):
        chosen(file, [setting] if setting else [], [only] if only else [])


def test_a_file_that_is_no_text_is_said(tmp_path: Path) -> None:
    file = tmp_path / "scaling.toml"
    file.write_bytes(b"\xff\xfe[")
    with pytest.raises(PolicyError, match=r"scaling.toml: .*utf-8"):
        chosen(file)
