"""`python -m tests.observability [ARGUMENT ...]`: sees to Prometheus, and has it judge the rules; arguments are pytest's."""

import os
import sys

from tests.observability.installing import install

if __name__ == "__main__":
    try:
        install()
    except RuntimeError as error:
        sys.exit(str(error))
    command = [sys.executable, "-m", "pytest", "-m", "observability", "tests/observability", *sys.argv[1:]]
    os.execv(sys.executable, command)
