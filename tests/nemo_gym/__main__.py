"""`python -m tests.nemo_gym [ARGUMENT ...]`: installs NeMo Gym in a cache, and runs its tests; arguments are pytest's."""

import os
import sys

from tests.nemo_gym.installing import NoPython, install

if __name__ == "__main__":
    try:
        print(f"NeMo Gym: installed in {install():.0f} s", flush=True)
    except NoPython as error:
        sys.exit(f"test-nemo-gym: {error}")
    os.execv(
        sys.executable, [sys.executable, "-m", "pytest", "-m", "nemo_gym", "tests/nemo_gym", *sys.argv[1:]]
    )
