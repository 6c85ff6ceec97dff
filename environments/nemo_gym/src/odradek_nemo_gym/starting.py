"""Starts a NeMo Gym resources server from its folder: `python starting.py PARENT_PID PORT FOLDER [OVERRIDES]`.

Run by NeMo Gym's own Python, as a file: it imports nothing of Odradek. The server is started as NeMo Gym's command
starts it, with the configuration in two environment variables; `OVERRIDES` is a JSON object that is laid over the
server's own. The process ends with the one that started it.
"""

import ctypes
import json
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
HOST = "127.0.0.1"
KIND = "resources_servers"


def main() -> None:
    parent, port, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]).resolve()
    overrides = json.loads(sys.argv[4]) if sys.argv[4:] else {}
    end_with(parent)
    name, implementation, settings = configuration(folder)
    server = {**settings, **overrides, "host": HOST, "port": port}
    os.environ["NEMO_GYM_CONFIG_PATH"] = name
    os.environ["NEMO_GYM_CONFIG_DICT"] = json.dumps(
        {
            name: {KIND: {implementation: server}},
            "head_server": {
                "host": HOST,
                "port": port,
            },  # asked for by name, never called by a resources server
            "dry_run": False,
        }
    )
    if folder.parent.name == KIND:
        sys.path.insert(0, str(folder.parent.parent))
    os.chdir(folder)
    sys.argv = [str(server["entrypoint"])]
    sys.path.insert(0, str(folder))
    runpy.run_path(str(folder / server["entrypoint"]), run_name="__main__")


def configuration(folder: Path) -> tuple[str, str, dict[str, Any]]:
    """The server of this folder as its own files configure it: its name, its implementation's, its settings."""
    files = sorted(
        (folder / "configs").glob("*.yaml"), key=lambda path: (path.stem != folder.name, path.name)
    )
    for path in files:
        for name, entry in _yaml(path).items():
            implementations = entry.get(KIND) if isinstance(entry, dict) else None
            if isinstance(implementations, dict) and folder.name in implementations:
                return str(name), folder.name, implementations[folder.name]
    return folder.name, folder.name, {"entrypoint": "app.py", "domain": "other"}


def _yaml(path: Path) -> dict[Any, Any]:
    from omegaconf import OmegaConf  # of NeMo Gym's Python

    content = OmegaConf.to_container(OmegaConf.load(path))
    return content if isinstance(content, dict) else {}


def end_with(parent: int) -> None:
    """Ask the kernel for SIGTERM at the parent's end."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the process that started this one is gone")


if __name__ == "__main__":
    main()
