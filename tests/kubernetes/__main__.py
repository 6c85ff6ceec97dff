"""`python -m tests.kubernetes [ARGUMENT ...]`: installs Helm and schemas in a cache, and tests the chart; arguments are pytest's."""

import os
import sys

from tests.kubernetes.installing import GoMissingError, install

if __name__ == "__main__":
    try:
        print(f"Helm, kubeconform and schemas: installed in {install():.0f} s", flush=True)
    except GoMissingError as error:
        sys.exit(f"make test-kubernetes: {error}")
    os.execv(
        sys.executable,
        [
            sys.executable,
            "-m",
            "pytest",
            "-m",
            "kubernetes or not kubernetes",
            "tests/kubernetes",
            *sys.argv[1:],
        ],
    )
