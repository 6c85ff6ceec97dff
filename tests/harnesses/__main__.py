"""`python -m tests.harnesses [--only NAME ...] [-- ARGUMENTS OF PYTEST]`: installs agent programs and plays each of them.

They are kept in a cache, `$XDG_CACHE_HOME/odradek/harnesses`, and play where nothing but this machine can be reached.
"""

import argparse
import os
import sys

from odradek.programs import find_program
from tests.harnesses.alone import ALONE
from tests.harnesses.installing import install
from tests.harnesses.test_programs import TESTED


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=TESTED, default=TESTED, help="programs, by name")
    parser.add_argument("rest", nargs="*", help="arguments for pytest, after --")
    arguments = parser.parse_args()
    for name in arguments.only:
        print(f"{name}: installed in {install(find_program(name, {})):.0f} s", flush=True)
    chosen = " or ".join(arguments.only)
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "harness",
        "-k",
        chosen,
        "tests/harnesses",
        *arguments.rest,
    ]
    alone = [*ALONE, sys.executable, "-m", "tests.harnesses.alone", *tests]
    os.execvp(alone[0], alone)


if __name__ == "__main__":
    main()
