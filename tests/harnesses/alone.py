"""Runs a command where nothing but this machine can be reached: `python -m tests.harnesses.alone COMMAND...`.

It is to be started in a network namespace and a mount namespace of its own (`ALONE`): there is only the loopback device, and the name server is the test's
own, which notes what is asked for.
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


def become_the_name_server() -> None:
    """Names are asked of 127.0.0.1, for this mount namespace."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as file:
        file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)


if __name__ == "__main__":
    raise_loopback()
    become_the_name_server()
    os.environ[MARK] = "1"
    os.execvp(sys.argv[1], sys.argv[1:])
