"""The guide's example is what it says: complete, typed and green."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
GUIDE = REPOSITORY / "docs" / "environments.md"


def example() -> str:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    return "\n\n".join(blocks)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "test_guessing.py"
    path.write_text(example())
    return path


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, cwd=cwd, timeout=170, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_of_the_guide_passes_its_own_test(source):
    assert "1 passed" in run("pytest", "-q", "-p", "no:cacheprovider", source.name, cwd=source.parent)


@pytest.mark.slow
def test_the_example_of_the_guide_is_strictly_typed(source):
    config = str(REPOSITORY / "pyproject.toml")
    run("mypy", "--strict", "--config-file", config, str(source), cwd=REPOSITORY)
