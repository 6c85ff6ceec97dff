"""The demo: a local stack in a folder of its own, two environments played by the small model, and their rewards."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND_WITHIN_S = 300.0
ODRADEK = Path(sys.executable).with_name("odradek")
RUNS = (
    ["run", "mcqa", "--model", "smollm2", "--limit", "8", "--temperature", "0"],
    ["run", "example_session_state_mgmt", "--model", "smollm2", "--limit", "4", "--temperature", "0"],
)


def main() -> int:
    """Plays the demo; the exit code is 0 when every command succeeded. The stack is stopped in any case."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as an exception, so that the stack is stopped
    with tempfile.TemporaryDirectory(prefix="odradek-demo-") as folder:
        os.environ["ODRADEK_DATA_DIR"] = folder
        print("A model of 135 million parameters plays: it answers and calls tools, but expect low rewards.")
        try:
            return next((code for command in commands() if (code := odradek(*command))), 0)
        except KeyboardInterrupt:
            return 130
        finally:
            odradek("down")


def commands() -> list[list[str]]:
    """The commands of the demo, in order."""
    played = [command for run in RUNS for command in (run, ["results", "--rollouts"])]
    return [["up"], *played]


def odradek(*arguments: str) -> int:
    """Runs one command of the CLI, shown as a user would type it, and returns its exit code."""
    print(f"\n$ odradek {' '.join(arguments)}", flush=True)
    command = [ODRADEK, *arguments]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, timeout=COMMAND_WITHIN_S, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        print(f"not done within {COMMAND_WITHIN_S:.0f} s: given up", file=sys.stderr)
        return 124


if __name__ == "__main__":
    sys.exit(main())
