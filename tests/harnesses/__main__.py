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
    chosen = ("-m", "harness", "-k", " or ".join(arguments.only), "tests/harnesses", *arguments.rest)
    python = (sys.executable, "-m")
    os.execvp(ALONE[0], [*ALONE, *python, "tests.harnesses.alone", *python, "pytest", *chosen])


if __name__ == "__main__":
    main()
