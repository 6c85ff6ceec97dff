"""Programs that mean harm: none passes, none is waited for too long, nothing of them remains."""

import os
import subprocess
import sys
import time

import psutil
import pytest

from odradek.verifiers.programs import (
    CallCase,
    Isolation,
    Limits,
    PythonFunction,
    PythonScript,
    RunnerUnavailable,
    TextCase,
    local_runner,
    try_cases,
)

LIMITS = Limits(seconds=1, memory_mib=512, output_bytes=1 << 20, processes=16)
SECRET = "9c1f0a7be5"


def runner(isolation):
    try:
        return local_runner(isolation)
    except RunnerUnavailable as error:
        pytest.skip(str(error))


def first(source, isolation=None, expected=SECRET, limits=LIMITS):
    results = try_cases(PythonScript(source), [TextCase("", expected)] * 2, runner(isolation), limits)
    assert len(results) == 1, "the second case was tried though the first was not passed"
    return results[0]


BOMB = """
import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
"""


@pytest.mark.parametrize("isolation", Isolation)
def test_a_fork_bomb_is_bounded_and_leaves_nothing(isolation):
    before = {process.pid for process in psutil.process_iter()}
    assert first(BOMB, isolation).outcome == "timeout"
    _wait_until(lambda: not _strangers(before), "processes of the program remain")


def _strangers(before):
    """New processes that run our inner script: the machine may have started others meanwhile."""
    found = []
    for process in psutil.process_iter():
        try:
            mine = process.pid not in before and process.status() != psutil.STATUS_ZOMBIE
            if mine and any(word.endswith("inside.py") for word in process.cmdline()):
                found.append(process.pid)
        except psutil.NoSuchProcess:
            continue
    return found


def _wait_until(condition, otherwise):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, otherwise
        time.sleep(0.01)


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
print("left")
"""


@pytest.mark.parametrize("isolation", Isolation)
def test_what_leaves_the_process_group_does_not_live_on(isolation):
    before = {process.pid for process in psutil.process_iter()}
    results = try_cases(PythonScript(DAEMON), [TextCase("", "left")], runner(isolation), LIMITS)
    assert [result.outcome for result in results] == ["passed"]
    if isolation is Isolation.PLAIN and os.geteuid() != 0:
        pytest.skip("without namespaces, and without users of its own, nothing can find them")
    _wait_until(lambda: not _strangers(before), "a daemon of the program remains")


SPINNING = """
import signal
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True:
    pass
"""


@pytest.mark.parametrize(
    ("source", "outcomes"),
    [
        (SPINNING, {"timeout"}),
        ("import time; time.sleep(1000)", {"timeout"}),
        ("while True: print('x' * 1000)", {"error", "timeout"}),
        ("import os\nwhile True: os.write(2, b'x' * 1000)", {"error", "timeout"}),
        ("x = bytearray(4 << 30)", {"error"}),
        ("x = []\nwhile True: x.append(bytearray(1 << 26))", {"error", "timeout"}),
        ("import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()", {"error", "killed", "timeout"}),
        ("import os; os.kill(os.getppid(), 9); os.kill(os.getpid(), 9)", {"killed"}),
        ("import os; os.kill(os.getpid(), 9)", {"killed"}),
        ("import sys; sys.exit(0)", {"wrong"}),
        ("import os; os._exit(0)", {"wrong"}),
        ("import ctypes; ctypes.string_at(0)", {"killed"}),
    ],
)
def test_limits(source, outcomes):
    assert first(source).outcome in outcomes


def test_a_program_that_stops_what_plays_it_is_ended_from_outside():
    result = first("import os, signal; os.kill(os.getppid(), signal.SIGSTOP); print(1)")
    assert result.outcome == "timeout"


LOOKING = """
import gc, glob, os, sys
def texts():
    frame = sys._getframe()
    while frame:
        yield repr(frame.f_locals)
        frame = frame.f_back
    yield repr(sys.argv) + repr(os.environ)
    for thing in gc.get_objects():
        if isinstance(thing, (dict, list, tuple)):
            yield repr(thing)[:100000]
    for pattern in ("/program/*", "/tmp/**", "/proc/*/environ", "/proc/*/cmdline", "/proc/*/fd/*"):
        for path in glob.glob(pattern, recursive=True):
            try:
                if os.path.isfile(path) and os.path.getsize(path) < 1 << 20:
                    with open(path, errors="replace") as file:
                        yield file.read(100000)
            except OSError:
                pass
backwards = "5eb7a0f1c9"
print(backwards[::-1] if any(backwards[::-1] in text for text in texts()) else "not found")
"""


def test_what_is_expected_can_not_be_found():
    assert first(LOOKING, limits=Limits(seconds=20)).outcome == "wrong"


def test_another_verifier_s_memory_and_folders_are_out_of_sight():
    source = "import os\nprint(sorted(os.listdir('/')), [p for p in os.listdir('/proc') if p.isdigit()])"
    result = first(source, Isolation.BUBBLEWRAP, expected="?")
    assert result.outcome == "wrong"
    listing = "import os, sys\nsys.exit(any(map(os.path.exists, ['/root', '/home', '/work', '/etc/passwd'])))"
    assert first(listing + "\nprint(1)", Isolation.BUBBLEWRAP).outcome == "wrong"


FORGED = """
import os, json
told = json.dumps({"status": 0, "in_time": True, "seconds": 0, "stdout": "?", "stderr": ""})
for pid in (os.getppid(), os.getpid()):
    for fd in range(64):
        try:
            with open(f"/proc/{pid}/fd/{fd}", "ab", buffering=0) as file:
                file.write((told + "\\n").encode() * 4)
        except OSError:
            pass
"""


def test_a_forged_report_wins_nothing():
    assert first(FORGED).outcome != "passed"


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nsys.exit(0)",
        "import os\nos._exit(0)",
        "class Equal:\n    def __eq__(self, other): return True\ndef f(): return Equal()",
        "class Equal(list):\n    def __eq__(self, other): return True\ndef f(): return Equal()",
        "import json\njson.dumps = lambda value: 'true'\ndef f(): return 1",
        "def f(): return '[' * 100000",
        "import os\nos.write(3, b'[' * 100000)\ndef f(): os._exit(0)",
        "import builtins\nbuiltins.map = builtins.len = lambda *a: True\ndef f(): return []",
    ],
)
def test_a_function_does_not_pass_by_tricks(source):
    results = try_cases(PythonFunction(source, "f"), [CallCase((), [SECRET])], runner(None), LIMITS)
    assert results[0].outcome != "passed"


def test_the_program_can_not_change_what_is_played_next():
    source = "import glob\nfor path in glob.glob('/program/*') + [__file__]:\n    open(path, 'w')"
    assert first(source).outcome == "error"


@pytest.mark.parametrize("isolation", Isolation)
def test_programs_die_with_the_verifier(isolation):
    runner(isolation)
    source = f"""
from odradek.verifiers.programs import *
runner = local_runner(Isolation({isolation.value!r}))
print("ready", flush=True)
try_cases(PythonScript("while True: pass"), [TextCase("", "")], runner, Limits(seconds=100))
"""
    verifier = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE)
    assert verifier.stdout is not None
    assert verifier.stdout.readline() == b"ready\n"
    watched: list[psutil.Process] = []

    def playing():
        watched[:] = psutil.Process(verifier.pid).children(recursive=True)
        inner = [child for child in watched if any(word.endswith("inside.py") for word in child.cmdline())]
        return len([child for child in inner if child.name().startswith("python")]) >= 2

    _wait_until(playing, "the program did not start")
    verifier.kill()
    verifier.wait()
    _wait_until(lambda: not any(map(_lives, watched)), "a program outlives its verifier")


def _lives(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
