"""The rules, as promtool sees them: their syntax, the configuration around them, and their own tests."""

import subprocess
from pathlib import Path

import pytest

from tests.observability.installing import program

FOLDER = Path(__file__).parents[2] / "deploy" / "observability"
SECONDS = 60

pytestmark = pytest.mark.observability


def promtool(*arguments: str) -> None:
    tool = program("promtool")
    assert tool is not None, "`make test-observability` gets it"
    done = subprocess.run(
        [tool, *arguments], cwd=FOLDER, timeout=SECONDS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_configuration_and_the_rules_are_well_formed() -> None:
    promtool("check", "config", "prometheus.yml")


@pytest.mark.parametrize("group", sorted(path.stem for path in FOLDER.glob("tests/*.yml")))
def test_alerts_fire_when_they_should_and_else_do_not(group: str) -> None:
    promtool("test", "rules", f"tests/{group}.yml")
