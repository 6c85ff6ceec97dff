"""Programs that mean well, under each isolation that this machine allows."""

import sys

import pytest

from odradek.verifiers.programs import (
    CallCase,
    CompileError,
    Ended,
    Isolation,
    Job,
    Limits,
    LocalRunner,
    PythonFunction,
    PythonScript,
    RunnerUnavailable,
    TextCase,
    compile_cpp,
    local_runner,
    try_cases,
)

LIMITS = Limits(seconds=10, memory_mib=1024)
ADD = "print(sum(map(int, input().split())))"


@pytest.fixture(params=Isolation)
def each(request: pytest.FixtureRequest) -> LocalRunner:
    try:
        return local_runner(request.param)
    except RunnerUnavailable as error:
        pytest.skip(str(error))


def script(source, *cases, runner=None, **kwargs):
    return try_cases(
        PythonScript(source), [TextCase(*case) for case in cases], runner or local_runner(), LIMITS, **kwargs
    )


def function(source, *cases, name="f"):
    return try_cases(
        PythonFunction(source, name), [CallCase(*case) for case in cases], local_runner(), LIMITS
    )


def outcomes(results):
    return [result.outcome for result in results]


def test_each_isolation_tells_right_from_wrong(each):
    assert outcomes(script(ADD, ("1 2", "3"), ("2 2", "5"), ("0 0", "0"), runner=each)) == ["passed", "wrong"]


def test_each_isolation_hides_our_environment(each, monkeypatch):
    monkeypatch.setenv("ODRADEK_SECRET", "x")
    assert outcomes(
        script("import os\nprint('ODRADEK_SECRET' in os.environ)", ("", "False"), runner=each)
    ) == ["passed"]


def test_each_isolation_runs_programs_as_no_root(each):
    assert outcomes(
        script("import os\nprint(os.geteuid() == 0, os.getuid() == 0)", ("", "False False"), runner=each)
    ) == ["passed"]


@pytest.mark.parametrize("isolation", [Isolation.BUBBLEWRAP, Isolation.NAMESPACES])
def test_there_is_no_network(isolation):
    try:
        runner = local_runner(isolation)
    except RunnerUnavailable as error:
        pytest.skip(str(error))
    source = "import socket\nprint([name for _, name in socket.if_nameindex()])"
    assert outcomes(script(source, ("", "['lo']"), runner=runner)) == ["passed"]


def test_the_strongest_isolation_is_taken():
    available = [kind for kind in Isolation if _works(kind)]
    assert local_runner().name == available[0]


def _works(isolation):
    try:
        local_runner(isolation)
    except RunnerUnavailable:
        return False
    return True


def test_all_cases_are_tried_when_asked_for():
    results = script(
        ADD, ("1 2", "3"), ("2 2", "5"), ("0 0", "0"), ("x", "0"), ("1 1", "2"), all_of_them=True
    )
    assert outcomes(results) == ["passed", "wrong", "passed", "error", "passed"]


def test_many_cases_come_in_order():
    results = script(ADD, *[(f"{number} 1", str(number + 1)) for number in range(30)])
    assert outcomes(results) == ["passed"] * 30


def test_long_outputs_of_many_cases_are_no_fault():
    limits = Limits(seconds=10, output_bytes=1 << 20)
    cases = [TextCase("", "\x01" * 900_000)] * 5
    results = try_cases(PythonScript("print(chr(1) * 900_000)"), cases, local_runner(), limits)
    assert outcomes(results) == ["passed"] * 5


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("print(3); raise SystemExit(4)", "passed"),
        ("print(3); exit()", "passed"),
        ("import threading\nthreading.Thread(target=lambda: print(3)).start()", "passed"),
        ("import atexit\natexit.register(print, 3)", "passed"),
        ("import sys\nsys.stdout.buffer.write(b'3\\n')", "passed"),
        ("if __name__ == '__main__':\n    print(3)", "passed"),
        ("from __future__ import annotations\ndef f(x: Nothing): return 3\nprint(f(1))", "passed"),
        ("print(len(open(0).read()))", "passed"),
        ("def f(n): return n and 1 + f(n - 1)\nprint(f(40000) - 39997)", "passed"),
        ("print(len(str(10**5000)) - 4998)", "passed"),
        ("open('note', 'w').write('3')\nprint(open('note').read())", "passed"),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nprint(A(3).x)", "passed"),
        ("print(deque([3])[0], end=''); Counter(); List; stdin", "passed"),
        ("def main():\n    print(3)", "wrong"),
        ("print(3); print(3)", "wrong"),
        ("print(3); 1 / 0", "error"),
        ("print(3", "error"),
        ("print('\ud800')", "error"),
        ("import numpy", "error"),
    ],
)
def test_scripts(source, outcome):
    assert outcomes(script(source, ("abc", "3"))) == [outcome]


def test_a_case_finds_nothing_of_another():
    source = "import os\nprint(len(os.listdir('.')), 'x' in globals())\nx = 1"
    assert outcomes(script(source, *[("", "0 False")] * 3)) == ["passed"] * 3


def test_an_error_tells_where():
    (result,) = script("x = 1\nx / 0", ("", ""))
    assert "line 2" in result.note
    assert "ZeroDivisionError" in result.note


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def f(a, b): return a + [b]", "passed"),
        ("class Solution:\n    def f(self, a: List[int], b): return (*a, b)", "passed"),
        ("def f(a, b):\n    print('noise')\n    return [1, 2.0, 3]", "passed"),
        ("def f(a, b): return [1, 2, 4]", "wrong"),
        ("def f(a, b): print([1, 2, 3])", "wrong"),
        ("def f(a): return a", "error"),
        ("def g(a, b): return a", "error"),
        ("def f(a, b): return {1, 2, 3}", "error"),
    ],
)
def test_functions(source, outcome):
    assert outcomes(function(source, (([1, 2], 3), [1, 2, 3]))) == [outcome]


def test_a_compiled_program_is_tried_too():
    program = compile_cpp(
        '#include <cstdio>\nint main() { int a; scanf("%d", &a); printf("%d\\n", 6 / a); }', local_runner()
    )
    cases = [TextCase("2", "3"), TextCase("0", "0")]
    assert outcomes(try_cases(program, cases, local_runner(), LIMITS)) == ["passed", "killed"]


def test_what_does_not_compile_says_why():
    with pytest.raises(CompileError, match="expected"):
        compile_cpp("int main() {", local_runner())


def test_a_python_of_ones_own_brings_its_packages():
    try:
        runner = local_runner(Isolation.BUBBLEWRAP, sys.executable)
    except RunnerUnavailable as error:
        pytest.skip(str(error))
    assert outcomes(script("import pydantic\nprint(1)", ("", "1"), runner=runner)) == ["passed"]


def test_a_python_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RunnerUnavailable, match="nowhere"):
        local_runner(None, str(tmp_path / "nowhere"))


def test_a_job_alone():
    finished = local_runner().run(
        Job(("python3", "a.py"), {"a.py": b"import sys; sys.exit(int(input()))"}, b"7"), LIMITS
    )
    assert (finished.ended, finished.code, finished.stdout) == (Ended.EXITED, 7, b"")
