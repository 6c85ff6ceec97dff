"""A whole deployment on a Kafka that asks for TLS and a login: the five workers and the command."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from odradek.models import ModelSettings
from odradek_local.settings import LocalSettings
from odradek_local.stack import Part, Stack
from tests.support.secure_kafka import PASSWORD, secure_kafka
from tests.support.stack import start_scripted_model

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

HEALTHY_SECONDS = 90.0


@dataclass(frozen=True)
class Secured:
    """A running deployment: the environment by which it is found, and where its processes write."""

    environment: Mapping[str, str]
    folder: Path

    def odradek(self, *arguments: str, code: int = 0, **changed: str) -> str:
        """All that the command prints; fails unless it exits with `code`."""
        done = subprocess.run(
            [Path(sys.executable).with_name("odradek"), *arguments],
            env={**os.environ, **self.environment, **changed},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=150,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    with ExitStack() as running:
        kafka = running.enter_context(secure_kafka(folder / "broker"))
        model, url, _ = start_scripted_model(folder, "--script", "instant")
        running.callback(model.wait, 10)
        running.callback(model.terminate)
        stack = Stack(
            LocalSettings(
                data_dir=folder / "data",
                kafka_port=0,
                valkey_port=0,
                services_port=0,
                front_port=0,
                partitions=2,
                local_model=False,
                models={"mcqa": ModelSettings.at(url, model="mcqa")},
            )
        )
        login = kafka.scram()
        deployment = Secured(
            login | {"ODRADEK_PARTITIONS": "2", "ODRADEK_BLOB_STORE": stack.blob_store}, folder
        )
        deployment.odradek("topics", "apply", "--replication-factor", "1")
        for service in stack.services:
            service.process.env |= login
        parts: list[Part] = [stack.valkey, *stack.services]
        for part in parts:
            running.callback(part.stop)
            part.start()
        asyncio.run(_healthy(parts))
        yield deployment


async def _healthy(parts: list[Part]) -> None:
    await asyncio.gather(*(part.healthy(HEALTHY_SECONDS) for part in parts))


def test_a_run_behind_tls_and_a_password(secured: Secured) -> None:
    told = secured.odradek("run", "mcqa", "--model", "mcqa", "--samples", "2", "--limit", "8")
    run = json.loads(secured.odradek("results", "--json"))["run_id"]
    told += secured.odradek("show", f"{run}/0/0") + secured.odradek("status")
    audit = json.loads(secured.odradek("audit", run, "--json"))
    assert (audit["verdict"], audit["rollouts"], audit["rewards"]) == ("clean", 16, 16)
    assert PASSWORD not in told + "".join(path.read_text() for path in secured.folder.rglob("data/**/*.log"))


def test_a_wrong_password_is_one_clear_line(secured: Secured, tmp_path: Path) -> None:
    wrong = tmp_path / "password"
    wrong.write_text("planted-wrong-password")
    told = secured.odradek("runs", code=3, ODRADEK_KAFKA_PASSWORD_FILE=str(wrong))
    assert "refused user odradek (SCRAM-SHA-512)" in told
    assert "planted" not in told
    missing = secured.odradek("runs", code=2, ODRADEK_KAFKA_PASSWORD_FILE=str(tmp_path / "none"))
    assert missing.startswith("error: ODRADEK_KAFKA_PASSWORD_FILE=")
