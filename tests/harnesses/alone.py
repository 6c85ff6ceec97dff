"""Runs a command where nothing but this machine can be reached: `python -m tests.harnesses.alone COMMAND...`.

To be started in a network and a mount namespace of its own (`ALONE`): there is nothing but the loopback device, and the
name server is the test's own, which notes what is asked for.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile

ALONE = ("unshare", "--net", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)))
MARK = "ODRADEK_ALONE"

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_REQUEST = "16sH14x"


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        asked = struct.pack(_REQUEST, b"lo", 0)
        _name, flags = struct.unpack(_REQUEST, fcntl.ioctl(handle, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(handle, _SIOCSIFFLAGS, struct.pack(_REQUEST, b"lo", flags | _IFF_UP))


def ask_here_for_names() -> None:
    """Names are asked of 127.0.0.1, for this mount namespace."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        file.flush()
        subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)


if __name__ == "__main__":
    raise_loopback()
    ask_here_for_names()
    os.environ[MARK] = "1"
    os.execvp(sys.argv[1], sys.argv[1:])
