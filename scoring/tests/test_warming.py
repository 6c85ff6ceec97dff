"""What a verifier needs is loaded before its time begins, and what can't be loaded is said."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from odradek import Environment, Reward, Trajectory
from odradek_schemas.failures import FailureKind
from odradek_scoring.child import Bench
from odradek_scoring.exchange import Job
from tests.support.scoring import make_pool

MakeJob = Callable[..., Job]


class Slow(Environment):
    name = "slow"

    class Task(BaseModel):
        pass

    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self.heard = heard

    def warm_up(self) -> None:
        self.heard.append("loaded")

    def verify(self, trajectory: Trajectory, answer: Any) -> Reward:
        self.heard.append("verified")
        return Reward(reward=1.0)


class Missing(Slow):
    def warm_up(self) -> None:
        raise ImportError("no module 'abacus'; install 'odradek[abacus]'")


def test_it_is_loaded_once_and_before_the_time_begins(job: MakeJob) -> None:
    heard: list[str] = []
    bench = Bench(lambda *_: Slow(heard))

    for _ in range(2):
        assert bench.verdict(job(), lambda: heard.append("begun")).reward == Reward(reward=1.0)

    assert heard == ["loaded", "begun", "verified", "begun", "verified"]


def test_what_can_not_be_loaded_is_a_typed_failure(job: MakeJob) -> None:
    failure = Bench(lambda *_: Missing([])).verdict(job(), lambda: None).failure

    assert failure is not None
    assert failure.kind is FailureKind.VERIFIER_ERROR
    assert "odradek[abacus]" in failure.message


async def test_what_is_slow_to_load_costs_nobody_a_reward(job: MakeJob) -> None:
    """Loading takes as long as a start may; the verifier's own deadline, which is shorter, holds after it."""
    pool = make_pool(job_seconds=1.0)
    try:
        slow = {"load_seconds": 1.5}
        verdict = await pool.verify(job()._replace(settings=slow))
        stuck = await pool.verify(job("loop")._replace(settings={"load_seconds": 0.1}))
    finally:
        await pool.close()

    assert verdict.failure is None
    assert stuck.failure is not None
    assert "longer than 1 s" in stuck.failure.message
