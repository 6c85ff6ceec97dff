"""The demo: a local stack in a folder of its own, two environments played by the small model, and their rewards."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ODRADEK = Path(sys.executable).with_name("odradek")
RUNS = (
    ["run", "mcqa", "--model", "smollm2", "--limit", "8"],
    ["run", "example_session_state_mgmt", "--model", "smollm2", "--limit", "4"],
)


def main() -> int:
    """Plays the demo; the exit code is 0 when every command succeeded. The stack is stopped in any case."""
    with tempfile.TemporaryDirectory(prefix="odradek-demo-") as folder:
        os.environ["ODRADEK_DATA_DIR"] = folder
        try:
            return next((code for command in commands() if (code := odradek(*command))), 0)
        except KeyboardInterrupt:
            return 130
        finally:
            odradek("down")


def commands() -> list[list[str]]:
    """The commands of the demo, in order."""
    played = [command for run in RUNS for command in (run, ["results"])]
    return [["up"], *played]


def odradek(*arguments: str) -> int:
    """Runs one command of the CLI, shown as a user would type it, and returns its exit code."""
    print(f"\n$ odradek {' '.join(arguments)}", flush=True)
    return subprocess.run([ODRADEK, *arguments], stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
