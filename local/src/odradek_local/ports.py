"""Ports on the loopback address."""

import asyncio
import fcntl
import os
import socket
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

HOST = "127.0.0.1"
TURN_WITHIN_S = 120.0
LOOK_EVERY_S = 0.2


@asynccontextmanager
async def turn_to_choose() -> AsyncIterator[None]:
    """One stack of this machine at a time chooses ports and starts to listen on them.

    Else two that start together find the same ports free, and one takes the other's broker for its own.
    Raises TimeoutError when another stack takes longer than two minutes.
    """
    path = Path(tempfile.gettempdir()) / f"odradek-ports-{os.getuid()}.lock"
    with path.open("w") as file:
        until = time.monotonic() + TURN_WITHIN_S
        while not locked(file.fileno()):
            if time.monotonic() > until:
                raise TimeoutError(
                    f"Another local stack has been starting for {TURN_WITHIN_S:.0f} s and keeps its turn to choose "
                    f"ports ({path}): try again when it is up, or end it."
                )
            await asyncio.sleep(LOOK_EVERY_S)
        yield


def locked(descriptor: int) -> bool:
    """Whether the lock of an open file could be had now; it is kept until the file is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Ports:
    """Hands out ports, never one twice; `notes` says which defaults were taken and what was chosen instead."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._given: set[int] = set()

    def choose(self, name: str, wanted: int) -> int:
        """The wanted port when it is free, else another that is."""
        port = wanted if wanted not in self._given else 0
        port = choose_port(port)
        while port in self._given:
            port = free_port()
        if wanted not in (0, port):
            self.notes.append(f"Port {wanted} is taken: {name} listens on {port}.")
        self._given.add(port)
        return port


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def listens(pid: int, port: int) -> bool:
    """Whether it is this process that listens on a port, whatever the address; another may answer there.

    Source: proc(5), `/proc/PID/net/tcp` (state 0A is LISTEN) and `/proc/PID/fd`.
    """
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _listening(pid, table, port)}
    try:
        return any(os.readlink(link.path) in sockets for link in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False  # it has just ended, or closed what was looked at


def _listening(pid: int, table: str, port: int) -> list[str]:
    """The inodes of the sockets that listen on a port, in the process's network."""
    try:
        rows = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    except OSError:
        return []
    columns = [row.split() for row in rows]
    return [row[9] for row in columns if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port]


def free_port() -> int:
    """A port that nobody listens on now; somebody else may still take it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def choose_port(wanted: int) -> int:
    """The wanted port when it is free, else (or for 0) another that is."""
    return wanted if wanted and is_free(wanted) else free_port()
