"""The pool with real processes: what bad verifiers do harms nobody but their own trajectory."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek_schemas.base import JsonObject
from odradek_schemas.failures import FailureKind
from odradek_scoring.exchange import Job, Verdict
from odradek_scoring.pool import Pool, PoolError
from odradek_scoring.process import Bounds

MakeJob = Callable[..., Job]

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_good_verifier_gives_its_reward_and_its_identity(pool: Pool, job: MakeJob) -> None:
    right, wrong = await asyncio.gather(pool.verify(job(said="B")), pool.verify(job(said="A")))
    assert right.reward is not None
    assert wrong.reward is not None
    assert (right.reward.reward, right.reward.components) == (1.0, {"right": 1.0})
    assert wrong.reward.reward == 0.0
    assert right.failure is None
    assert right.verifier is not None
    assert right.verifier.name == "nasty"
    assert right.verifier.version


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        ("raise_error", "ValueError: no such option"),
        ("exit_politely", "SystemExit: bye"),
        ("nan", "reward is nan"),
        ("infinite_component", "speed is inf"),
        ("number", "must return a Reward, not float"),
    ],
)
async def test_a_verifier_that_is_wrong_is_a_verifier_error(
    pool: Pool, job: MakeJob, deed: str, words: str
) -> None:
    verdict = await pool.verify(job(deed))
    assert verdict.reward is None
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.VERIFIER_ERROR
    assert words in verdict.failure.message


@pytest.mark.parametrize(
    ("deed", "kind", "words"),
    [
        ("regex", FailureKind.VERIFIER_DEADLINE, "longer than 2 s"),
        ("loop", FailureKind.VERIFIER_DEADLINE, "longer than 2 s"),
        ("leave", FailureKind.VERIFIER_KILLED, "exit code 3"),
        ("crash", FailureKind.VERIFIER_KILLED, "SIGSEGV"),
        ("eat", FailureKind.VERIFIER_KILLED, "1024 MiB"),
    ],
)
async def test_a_verifier_that_takes_its_process_along_harms_only_itself(
    pool: Pool, job: MakeJob, deed: str, kind: FailureKind, words: str
) -> None:
    await pool.verify(job())
    deeds = ["grade", "grade", deed, "grade", "raise_error", "grade"]
    verdicts = await asyncio.gather(*(pool.verify(job(name, sample=i)) for i, name in enumerate(deeds)))
    bad = verdicts.pop(2)
    assert bad.reward is None
    assert bad.failure is not None
    assert bad.failure.kind is kind
    assert words in bad.failure.message
    assert bad.verifier == verdicts[0].verifier
    assert [_reward(verdict) for verdict in verdicts] == [1.0, 1.0, 1.0, None, 1.0]


async def test_a_stuck_verifier_does_not_hold_up_the_others(own_pool: Pool, job: MakeJob) -> None:
    pool = own_pool
    await pool.verify(job())
    stuck = asyncio.create_task(pool.verify(job("regex")))
    others = await asyncio.gather(*(pool.verify(job(sample=i)) for i in range(1, 50)))
    assert [_reward(verdict) for verdict in others] == [1.0] * 49
    later = await pool.verify(job())
    assert _reward(later) == 1.0
    assert not stuck.done()


async def test_a_process_killed_from_outside_costs_nobody_a_reward(
    pool: Pool, job: MakeJob, tmp_path: Path
) -> None:
    suspect = job("crash_once", task={"note": str(tmp_path / "note")})
    verdicts = await asyncio.gather(pool.verify(job()), pool.verify(suspect), pool.verify(job()))
    assert [_reward(verdict) for verdict in verdicts] == [1.0, 1.0, 1.0]


async def test_a_process_killed_while_idle_is_replaced(pool: Pool, job: MakeJob) -> None:
    pid = _reward(await pool.verify(job("see_pid")))
    assert pid is not None
    os.kill(int(pid), 9)
    assert _reward(await pool.verify(job())) == 1.0


async def test_what_a_verifier_started_is_killed_with_it(pool: Pool, job: MakeJob, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    verdict = await pool.verify(job("loop_with_child", task={"note": str(note)}))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.VERIFIER_DEADLINE
    assert _is_gone(int(note.read_text()))


async def test_verifiers_may_print_and_have_no_keys(
    own_pool: Pool, job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODRADEK_SEALING_PRIVATE_KEY_FILE", "/secret")
    assert _reward(await own_pool.verify(job("chatter"))) == 1.0
    assert _reward(await own_pool.verify(job("see_keys"))) == 0.0


async def test_an_environment_that_is_not_there_or_broken_is_said_so(pool: Pool, job: MakeJob) -> None:
    for name, words in (("nowhere", "nowhere"), ("broken", "does not load")):
        verdict = await pool.verify(job(environment=name))
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.UNKNOWN_ENVIRONMENT
        assert words in verdict.failure.message


async def test_an_answer_that_does_not_fit_is_unreadable(pool: Pool, job: MakeJob) -> None:
    misfits: list[JsonObject | None] = [None, {"unexpected": "B"}]
    for answer in misfits:
        verdict = await pool.verify(job()._replace(answer=answer))
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.ANSWER_UNREADABLE


async def test_a_large_trajectory_passes(pool: Pool, job: MakeJob) -> None:
    assert _reward(await pool.verify(job(said="x" * 20_000_000))) == 0.0
    assert _reward(await pool.verify(job())) == 1.0


async def test_closing_ends_the_processes_even_stuck_ones(own_pool: Pool, job: MakeJob) -> None:
    pid = _reward(await own_pool.verify(job("see_pid")))
    stuck = asyncio.create_task(own_pool.verify(job("loop")))
    await asyncio.sleep(0.1)
    await own_pool.close()
    assert pid is not None
    assert _is_gone(int(pid))
    with pytest.raises(asyncio.CancelledError):
        await stuck


async def test_processes_that_do_not_start_are_an_error_not_a_wait(
    job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(1, Bounds(job_seconds=2.0, start_seconds=60.0, memory_mib=1024))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(PoolError, match="exit code 1"):
        await pool.verify(job())
    with pytest.raises(PoolError):
        await pool.verify(job())
    await pool.close()


def _reward(verdict: Verdict) -> float | None:
    return None if verdict.reward is None else verdict.reward.reward


def _is_gone(pid: int) -> bool:
    """Whether the process has ended, though whoever inherited it may not have noticed yet."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def test_a_process_that_is_not_gone_in_time_costs_nobody_else(
    job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(1, Bounds(job_seconds=0.5, start_seconds=60.0, memory_mib=1024))
    await pool.verify(job())
    spared: list[int] = []
    monkeypatch.setattr("odradek_scoring.process._BURIAL_SECONDS", 0.1)
    with monkeypatch.context() as patch:
        patch.setattr("odradek_scoring.process.os.killpg", lambda pid, _: spared.append(pid))
        verdict = await pool.verify(job("loop"))
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.VERIFIER_DEADLINE
    assert _reward(await pool.verify(job())) == 1.0
    for pid in spared:
        os.killpg(pid, signal.SIGKILL)
    await pool.close()
