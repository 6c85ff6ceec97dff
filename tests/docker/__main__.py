"""`python -m tests.docker [ARGUMENT ...]`: sees that Compose and a base image are there, and runs the tests with Docker;
arguments are pytest's."""

import os
import sys

from tests.docker.preparing import NoDocker, prepare

if __name__ == "__main__":
    try:
        prepared = prepare()
    except NoDocker as error:
        sys.exit(f"make test-docker: {error}")
    command = [sys.executable, "-m", "pytest", "-m", "docker", "tests/docker", *sys.argv[1:]]
    os.execve(sys.executable, command, {**os.environ, **prepared})
