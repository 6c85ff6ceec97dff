"""`python -m tests.ecs [ARGUMENT ...]`: runs the containers of ECS's task definitions in Docker; arguments are pytest's."""

import os
import sys

from tests.docker.preparing import NoDocker, prepare

if __name__ == "__main__":
    try:
        prepared = prepare()
    except NoDocker as error:
        sys.exit(f"make test-ecs: {error}")
    command = [sys.executable, "-m", "pytest", "-m", "docker", "tests/ecs", *sys.argv[1:]]
    os.execve(sys.executable, command, {**os.environ, **prepared})
