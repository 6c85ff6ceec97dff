"""How a program is kept apart from the machine that it runs on: command lines of bubblewrap and util-linux.

From strong to weak: `bubblewrap` shows it an own file system, process table and network; `namespaces` (unshare(1)) an own
process table and network; `plain` none of these. Under each, a program has limits, no environment variables of ours, and,
where the verifier is root, a user id that nobody else has.
"""

import os
import resource
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from odradek.verifiers.programs.jobs import Limits, RunnerUnavailable

_FIRST_UID, _UIDS = 61184, 4336
"""The range that systemd gives to dynamic users: no person and no service is in it (systemd's UIDS-GIDS)."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache")
_FILES, _SCRATCH = "/program", "/scratch"
"""Where bubblewrap shows a place's folders."""

_STACK_MIB = 64
_OPEN_FILES = 256
_SCRATCH_BYTES = 256 << 20


class Isolation(StrEnum):
    """What stands between a program and the machine."""

    BUBBLEWRAP = "bubblewrap"
    NAMESPACES = "namespaces"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for one run: `files` to read, `scratch` to write in."""

    root: Path

    @property
    def files(self) -> Path:
        return self.root / "files"

    @property
    def scratch(self) -> Path:
        return self.root / "scratch"


@dataclass(frozen=True, slots=True)
class Fence:
    """An isolation for programs of one interpreter, by one user."""

    isolation: Isolation
    python: Path
    uid: int | None
    """The user that programs run as; None where the verifier can't become another."""

    @property
    def shows_whole_machine(self) -> bool:
        return self.isolation is not Isolation.BUBBLEWRAP

    def files_seen(self, place: Place) -> Path:
        """Where a program finds the files of `place`."""
        return place.files if self.shows_whole_machine else Path(_FILES)

    def scratch_seen(self, place: Place) -> Path:
        return place.scratch if self.shows_whole_machine else Path(_SCRATCH)

    def command(self, place: Place, program: Sequence[str], limits: Limits) -> list[str]:
        """The whole command line that runs `program`.

        Raises:
            RunnerUnavailable: a tool is not installed.
        """
        return [*self._outer(place), *self._inner(limits), *program]

    def _outer(self, place: Place) -> list[str]:
        match self.isolation:
            case Isolation.BUBBLEWRAP:
                return self._bubblewrap(place)
            case Isolation.NAMESPACES:
                return [*_dying_with_parent(), *self._namespaces()]
            case Isolation.PLAIN:
                return []

    def _bubblewrap(self, place: Place) -> list[str]:
        powers = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        return [
            *(tool("bwrap"), "--die-with-parent", "--unshare-ipc", "--unshare-pid", "--unshare-net"),
            *("--unshare-uts", "--unshare-cgroup-try"),
            *(["--unshare-user"] if self.uid is None else powers),
            *_shown([*_SYSTEM, *_SETTINGS]),
            *("--proc", "/proc", "--dev", "/dev", *_scratch("/dev/shm"), "--remount-ro", "/dev"),
            *_scratch("/tmp"),
            *_scratch(_SCRATCH),
            *_reachable(_prefixes(self.python)),
            *("--ro-bind", str(place.files), _FILES, "--chdir", _SCRATCH, "--"),
        ]

    def _namespaces(self) -> list[str]:
        own_user = ["--user", "--map-current-user"] if self.uid is None else []
        kinds = ["--net", "--ipc", "--uts", "--pid", "--mount-proc"]
        return [tool("unshare"), *own_user, *kinds, "--fork", "--kill-child=KILL", "--"]

    def _inner(self, limits: Limits) -> list[str]:
        """Limits count from here: inside a user namespace of its own, those of processes count its own alone."""
        dying = self.isolation is not Isolation.BUBBLEWRAP  # its own process one dies with us
        return [*_as_user(self.uid, dying), tool("prlimit"), *_ceilings(limits, self._others()), "--"]

    def _others(self) -> int:
        """The tasks that count against the user's limit and are not the program's."""
        if self.uid is None and self.isolation is Isolation.PLAIN:
            return tasks_of(os.geteuid())
        return 0


def own_uid() -> int | None:
    """A user id for the programs of this process, or None where it may not change to another."""
    return _FIRST_UID + os.getpid() % _UIDS if os.geteuid() == 0 else None


def tasks_of(uid: int) -> int:
    """How many processes and threads user `uid` has."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            count += len(os.listdir(process / "task")) if process.stat().st_uid == uid else 0
        except OSError:  # it ended meanwhile
            continue
    return count


def tool(name: str) -> str:
    """The path of an installed program.

    Raises:
        RunnerUnavailable: it is not there.
    """
    found = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin") or shutil.which(name)
    if found is None:
        package = "bubblewrap" if name == "bwrap" else "util-linux"
        raise RunnerUnavailable(f"{name} is not installed: install the package {package}")
    return found


def _dying_with_parent() -> list[str]:
    return [tool("setpriv"), "--pdeathsig", "KILL", "--"]


def _as_user(uid: int | None, dying: bool) -> list[str]:
    changed = [] if uid is None else ["--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    bound = ["--pdeathsig", "KILL"] if dying else []
    return [tool("setpriv"), "--no-new-privs", *changed, *bound, "--"]


def _ceilings(limits: Limits, others: int) -> list[str]:
    wanted = {
        "as": limits.memory_mib << 20,
        "fsize": limits.output_bytes,
        "cpu": int(limits.seconds) + 2,
        "nproc": limits.processes + others,
        "stack": min(_STACK_MIB, limits.memory_mib) << 20,
        "nofile": _OPEN_FILES,
        "core": 0,
    }
    return [f"--{name}={_allowed(name, value)}" for name, value in wanted.items()]


def _allowed(name: str, value: int) -> int:
    """A limit that we have ourselves can be lowered only."""
    kind = getattr(resource, f"RLIMIT_{name.upper()}")
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _prefixes(python: Path) -> list[str]:
    """The folders in which a Python keeps its library; a virtual environment has two."""
    return [str(python.parent.parent), str(python.resolve().parent.parent)]


def _shown(paths: Sequence[str]) -> list[str]:
    return [word for path in dict.fromkeys(paths) for word in ("--ro-bind-try", path, path)]


def _reachable(folders: Sequence[str]) -> list[str]:
    """Shown, in parents that another user may enter: those of a Python in a home folder may not be so outside."""
    parents = [str(parent) for folder in folders for parent in reversed(Path(folder).parents[:-1])]
    made = [word for parent in dict.fromkeys(parents) for word in ("--perms", "0755", "--dir", parent)]
    return [*made, *_shown(folders)]


def _scratch(path: str) -> list[str]:
    return ["--perms", "1777", "--size", str(_SCRATCH_BYTES), "--tmpfs", path]
