"""`python -m tests.vllm [ARGUMENT ...]`: installs vLLM in a cache, and runs its tests; arguments are pytest's."""

import os
import sys

from tests.vllm.installing import install

if __name__ == "__main__":
    print(f"vLLM: installed in {install():.0f} s", flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-m", "vllm", "tests/vllm", *sys.argv[1:]])
