"""`python -m tests.kubernetes [--server] [ARGUMENT ...]`: installs Helm and schemas in a cache, and tests the chart.

With `--server` it builds a real API server too, if there is none yet. The other arguments are pytest's.
"""

import os
import sys

from tests.kubernetes import api_server
from tests.kubernetes.installing import GoMissingError, install

if __name__ == "__main__":
    try:
        if "--server" in sys.argv:
            sys.argv.remove("--server")
            api_server.build()
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
