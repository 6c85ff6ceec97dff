"""`python -m tests.training [ARGUMENT ...]`: installs TRL in a cache, and trains; arguments are pytest's."""

import os
import sys

from tests.training.installing import install

if __name__ == "__main__":
    print(f"TRL: installed in {install():.0f} s", flush=True)
    os.execv(
        sys.executable, [sys.executable, "-m", "pytest", "-m", "training", "tests/training", *sys.argv[1:]]
    )
