"""`python -m tests.reasoning_gym [ARGUMENT ...]`: installs the reasoning-gym library in a cache, and scores with it."""

import os
import sys
from pathlib import Path

from tests.reasoning_gym.installing import install

ROOT = Path(__file__).parents[2]
TESTS = ("environments/reasoning_gym", "tests/oracle")

if __name__ == "__main__":
    os.environ["PYTHONPATH"] = str(install())
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-m", "", *TESTS, *sys.argv[1:]])
