"""Programs under the runner: what they get, what is kept of them, and that nothing of them is left."""

import asyncio
import json
import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_programs import CALL, entries, gone, pids_in, python, wait_until

from odradek.programs import Trouble
from odradek.programs.reading import MOST_OF_STREAM
from odradek_env_worker.programs import run

SEE = """
import json
print(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "stdin": sys.stdin.read(), "umask": os.umask(0),
  "mode": os.stat(os.environ["HOME"]).st_mode & 0o777, "config": open(os.environ["HOME"] + "/a/b.json").read(),
  "tmp": os.path.isdir(os.environ["TMPDIR"]), "alone": os.getpid() == os.getpgid(0) == os.getsid(0),
  "pipe": signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN}))
"""


async def test_a_program_has_its_own_home_and_nothing_of_the_workers_environment(
    workspace: Path, homes: Path
) -> None:
    secrets = {"AWS_SECRET_ACCESS_KEY": "s", "ODRADEK_SEALING_PRIVATE_KEY_FILE": "k", "PYTHONPATH": "/p"}
    agent = python(SEE, files={"a/b.json": '{"key": "{token}"}'})
    outcome = await run(agent, CALL, workspace, 60, {**secrets, "PATH": os.environ["PATH"], "TZ": "UTC"})
    assert outcome.result is not None, outcome
    seen = json.loads(outcome.result)
    home = Path(seen["env"]["HOME"])
    names = set(seen["env"]) - {"LC_CTYPE"}  # which Python sets for itself
    assert names == {"PATH", "TZ", "HOME", "PWD", "TMPDIR", "URL", "KEY"}
    assert (seen["cwd"], seen["stdin"]) == (str(workspace), CALL.prompt)
    assert (home.parent, seen["mode"], seen["umask"]) == (homes, 0o700, 0o022)
    assert json.loads(seen["config"]) == {"key": "***"}
    assert (seen["tmp"], seen["alone"], seen["pipe"]) == (True, True, True)
    assert entries(homes) == []


async def test_what_it_leaves_in_its_home_goes_with_it(workspace: Path, homes: Path) -> None:
    outside = workspace / "kept"
    outside.mkdir()
    agent = python(f"""
home = os.environ["HOME"]
os.makedirs(home + "/shut/deep")
open(home + "/shut/deep/file", "w").close()
os.symlink({str(outside)!r}, home + "/link")
os.chmod(home + "/shut/deep", 0)
os.chmod(home + "/shut", 0)
os.chmod(home, 0)
print("done")
""")
    assert (await run(agent, CALL, workspace, 60)).result == "done"
    assert entries(homes) == []
    assert entries(workspace) == ["kept"]


async def test_a_result_is_read_from_a_file_and_from_nothing_else(workspace: Path) -> None:
    (workspace / "secret").write_text("not yours")
    write = 'open(os.environ["HOME"] + "/out.txt", "w").write("mine")'
    link = f'os.symlink({str(workspace / "secret")!r}, os.environ["HOME"] + "/out.txt")'
    pipe = 'os.mkfifo(os.environ["HOME"] + "/out.txt")'
    result = {"file": "out.txt"}
    assert (await run(python(write, result=result), CALL, workspace, 60)).result == "mine"
    for trick in (link, pipe):
        outcome = await run(python(trick, result=result), CALL, workspace, 60)
        assert outcome.trouble is Trouble.NO_RESULT, outcome


async def test_a_bad_end_is_an_outcome(workspace: Path) -> None:
    outcome = await run(python("sys.exit('it is over')"), CALL, workspace, 60)
    assert (outcome.trouble, outcome.reason) == (Trouble.EXIT_CODE, "exit code 1: it is over")
    outcome = await run(python("os.kill(os.getpid(), signal.SIGSEGV)"), CALL, workspace, 60)
    assert outcome.reason == "ended by SIGSEGV"


async def test_a_program_that_is_not_there_is_told_with_what_to_install(workspace: Path, homes: Path) -> None:
    agent = python("", command=["no-such-agent"], install={"npm": ["no-such-agent@1"]})
    outcome = await run(agent, CALL, workspace, 60)
    assert outcome.trouble is Trouble.NOT_INSTALLED
    assert outcome.reason == "no-such-agent is not on the env-worker's PATH: install no-such-agent@1"
    assert entries(homes) == []


async def test_what_can_not_be_run_says_so(workspace: Path) -> None:
    broken = workspace / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    outcome = await run(python("", command=[str(broken)]), CALL, workspace, 60)
    assert (outcome.trouble, "can't be started" in outcome.reason) == (Trouble.EXIT_CODE, True)


async def test_a_prompt_that_no_argument_can_hold_is_an_outcome(workspace: Path, homes: Path) -> None:
    agent = python("", command=[*python("").command, "{prompt}"])
    outcome = await run(agent, replace(CALL, prompt="x" * 200_000), workspace, 60)
    assert outcome.trouble is Trouble.NOT_CALLABLE
    assert entries(homes) == []


async def test_time_that_is_up_ends_all_that_it_started(workspace: Path, homes: Path) -> None:
    outcome = await run(python(STAYING), CALL, workspace, 2)
    assert (outcome.trouble, outcome.log_tail) == (Trouble.TIMED_OUT, "still here")
    assert all(map(gone, pids_in(workspace, 3)))
    assert entries(homes) == []


STAYING = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
note()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(str(child.pid), "x").close()
leave(lambda: time.sleep(600))
print("still here", end="", file=sys.stderr, flush=True)
time.sleep(600)
"""


async def test_a_program_that_ends_leaves_nobody_behind(workspace: Path) -> None:
    """Even one that has left its session, its parent and its environment, and holds the output open."""
    outcome = await run(python("leave(lambda: time.sleep(600))\nprint('done')"), CALL, workspace, 60)
    assert outcome.result == "done"
    assert all(map(gone, pids_in(workspace, 1)))


async def test_cancelling_ends_it(workspace: Path, homes: Path) -> None:
    running = asyncio.create_task(run(python(STAYING), CALL, workspace, 600))
    pids = await asyncio.to_thread(pids_in, workspace, 3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert all(map(gone, pids))
    assert entries(homes) == []


async def test_cancelling_leaves_nothing_at_whatever_moment(workspace: Path, homes: Path) -> None:
    """From before its home is made until it runs."""
    for moment in range(12):
        running = asyncio.create_task(run(python("note()\ntime.sleep(600)"), CALL, workspace, 600))
        await asyncio.sleep(moment / 100)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert entries(homes) == []
        wait_until(lambda: all(map(gone, pids_in(workspace, 0))), "a program goes on")


async def test_a_flood_of_output_costs_no_memory(workspace: Path) -> None:
    """Three hundred times what is kept of it; the end is what counts."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flood = f"""
for stream in (sys.stdout, sys.stderr):
    for _ in range(150):
        stream.write("x" * {MOST_OF_STREAM})
print()
print("the end")
"""
    outcome = await run(python(flood, result={"read": "last_line"}), CALL, workspace, 120)
    assert outcome.result == "the end", outcome.reason
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 10 * MOST_OF_STREAM >> 10


async def test_many_at_once(workspace: Path) -> None:
    agents = [python(f"print({number})") for number in range(8)]
    outcomes = await asyncio.gather(*(run(agent, CALL, workspace, 60) for agent in agents))
    assert [outcome.result for outcome in outcomes] == [str(number) for number in range(8)]
