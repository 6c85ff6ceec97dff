"""Ports on the loopback address."""

import socket

HOST = "127.0.0.1"


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


def free_port() -> int:
    """A port that nobody listens on now; somebody else may still take it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def choose_port(wanted: int) -> int:
    """The wanted port when it is free, else (or for 0) another that is."""
    return wanted if wanted and is_free(wanted) else free_port()
