"""`python -m tests.trainers [--only NAME ...] [-- ARGUMENT ...]`: installs trainers in a cache, and tries the adapters with
them; arguments are pytest's, which each trainer's own Python runs."""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.trainers.installing import PYTHONS, NoPython, install, python

HERE = Path(__file__).parent
TEST_SECONDS = 1800


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PYTHONS, default=list(PYTHONS), metavar="NAME")
    parser.add_argument("pytest", nargs="*")
    told = parser.parse_args()
    return max([_tried(name, told.pytest) for name in told.only])


def _tried(name: str, more: list[str]) -> int:
    """The exit status of a trainer's tests."""
    try:
        print(f"{name}: installed in {install(name):.0f} s", flush=True)
    except NoPython as error:
        print(f"test-trainers: {name}: {error}", file=sys.stderr)
        return 1
    where = [f"--config-file={HERE / 'pytest.ini'}", f"--confcutdir={HERE}", str(HERE / f"test_{name}.py")]
    command = [str(python(name)), "-m", "pytest", *where, *more]
    return subprocess.run(command, timeout=TEST_SECONDS, check=False, cwd=HERE).returncode


if __name__ == "__main__":
    sys.exit(main())
