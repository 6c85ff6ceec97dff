"""Kafka behind TLS and a login: what settings are refused, and what a real broker says to each."""

import asyncio
import base64
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import trustme
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from odradek_runtime.brokers import Brokers
from odradek_runtime.kafka_security import PLAINTEXT, KafkaSecurity
from odradek_runtime.settings import SettingsError, WorkerSettings, read_settings
from odradek_runtime.topics import BrokerAwayError, apply_topics, diff_topics
from odradek_runtime.unreachable import why_unreachable
from tests.support.secure_kafka import PASSWORD, USER, SecureKafka, secure_kafka, unsecured_token

WRONG = "planted-wrong-password"


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ODRADEK_KAFKA_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with secure_kafka(tmp_path_factory.mktemp("secure")) as running:
        yield running


def settings(monkeypatch: pytest.MonkeyPatch, given: Mapping[str, str]) -> WorkerSettings:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return read_settings(WorkerSettings)


def ca_file(folder: Path) -> str:
    path = folder / "ca.pem"
    trustme.CA().cert_pem.write_to_path(path)
    return str(path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"SECURITY_PROTOCOL": "SASL"}, "ODRADEK_KAFKA_SECURITY_PROTOCOL: Input should be"),
        ({"SECURITY_PROTOCOL": "SASL_SSL"}, "set both or neither"),
        ({"SASL_MECHANISM": "PLAIN"}, "set both or neither"),
        ({"SECURITY_PROTOCOL": "SASL_SSL", "SASL_MECHANISM": "PLAIN"}, "PLAIN needs ODRADEK_KAFKA_USERNAME"),
        (
            {"SECURITY_PROTOCOL": "SASL_SSL", "SASL_MECHANISM": "SCRAM-SHA-512", "USERNAME": "u"},
            "either ODRADEK_KAFKA_PASSWORD or ODRADEK_KAFKA_PASSWORD_FILE",
        ),
        (
            {
                "SECURITY_PROTOCOL": "SASL_SSL",
                "SASL_MECHANISM": "SCRAM-SHA-512",
                "USERNAME": "u",
                "PASSWORD_FILE": "/nowhere/password",
            },
            "ODRADEK_KAFKA_PASSWORD_FILE=/nowhere/password can't be read",
        ),
        (
            {"SECURITY_PROTOCOL": "SASL_SSL", "SASL_MECHANISM": "OAUTHBEARER"},
            "needs ODRADEK_KAFKA_TOKEN_FILE",
        ),
        (
            {"SECURITY_PROTOCOL": "SASL_SSL", "SASL_MECHANISM": "AWS_MSK_IAM"},
            "needs ODRADEK_KAFKA_AWS_REGION",
        ),
        ({"USERNAME": "u", "PASSWORD": WRONG}, "ODRADEK_KAFKA_USERNAME goes with"),
        ({"TOKEN_FILE": "/nowhere/token"}, "ODRADEK_KAFKA_TOKEN_FILE goes with"),
        ({"KEY_PASSWORD_FILE": "/nowhere/p"}, "ODRADEK_KAFKA_KEY_PASSWORD_FILE goes with"),
        (
            {"SECURITY_PROTOCOL": "SASL_SSL", "SASL_MECHANISM": "PLAIN", "USERNAME": "u", "PASSWORD": ""},
            "PLAIN needs",
        ),
        ({"CA_FILE": "/nowhere/ca.pem"}, "ODRADEK_KAFKA_CA_FILE goes with"),
        (
            {"SECURITY_PROTOCOL": "SSL", "CA_FILE": "/nowhere/ca.pem"},
            "ODRADEK_KAFKA_CA_FILE=/nowhere/ca.pem: No such",
        ),
        (
            {"SECURITY_PROTOCOL": "SSL", "KEY_FILE": "/nowhere/key"},
            "KEY_FILE goes with ODRADEK_KAFKA_CERTIFICATE_FILE",
        ),
        (
            {"SECURITY_PROTOCOL": "SSL", "CERTIFICATE_FILE": __file__},
            f"ODRADEK_KAFKA_CERTIFICATE_FILE={__file__}: it is not PEM",
        ),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    given: Mapping[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError) as refused:
        settings(monkeypatch, {f"ODRADEK_KAFKA_{name}": value for name, value in given.items()})
    assert told in str(refused.value)


def test_what_is_empty_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"ODRADEK_KAFKA_CA_FILE": "", "ODRADEK_KAFKA_SECURITY_PROTOCOL": "", "ODRADEK_KAFKA_USERNAME": ""}
    assert settings(monkeypatch, given).brokers.client()["security_protocol"] == "PLAINTEXT"


@pytest.mark.parametrize(
    "wrong", ["", "kafka", "kafka:x", "kafka:99999", ":9092", ":::,,", "a:1,", "a:1,b:²", "a:0"]
)
def test_addresses_that_are_none_are_refused_at_once(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"ODRADEK_BOOTSTRAP_SERVERS: .* is not host:port"):
        settings(monkeypatch, {"ODRADEK_BOOTSTRAP_SERVERS": wrong})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PORT", "99999"),
        ("PARTITIONS", "99999"),
        ("SESSION_TIMEOUT_SECONDS", "inf"),
        ("DRAIN_TIMEOUT_SECONDS", "nan"),
    ],
)
def test_numbers_that_no_worker_can_use_are_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match=f"ODRADEK_{name}: Input should be"):
        settings(monkeypatch, {f"ODRADEK_{name}": value})


def test_addresses_may_be_of_version_6(monkeypatch: pytest.MonkeyPatch) -> None:
    given = "[::1]:9092, kafka-2.internal:9093"
    assert settings(monkeypatch, {"ODRADEK_BOOTSTRAP_SERVERS": given}).brokers.bootstrap == given


def test_a_refusal_does_not_show_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"ODRADEK_KAFKA_SASL_MECHANISM": "PLAIN", "ODRADEK_KAFKA_PASSWORD": WRONG}
    with pytest.raises(SettingsError) as refused:
        settings(monkeypatch, given)
    assert WRONG not in str(refused.value)
    with pytest.raises(ValueError) as raw:  # noqa: PT011 - pydantic's own, as a traceback would show it
        KafkaSecurity()
    assert WRONG not in str(raw.value)


def test_brokers_show_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {
        "ODRADEK_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "ODRADEK_KAFKA_SASL_MECHANISM": "SCRAM-SHA-256",
        "ODRADEK_KAFKA_USERNAME": USER,
        "ODRADEK_KAFKA_PASSWORD": WRONG,
        "ODRADEK_KAFKA_CA_FILE": ca_file(tmp_path),
    }
    brokers = settings(monkeypatch, given).brokers
    assert brokers.client()["sasl_plain_password"] == WRONG
    assert WRONG not in f"{brokers} {brokers!r} {settings(monkeypatch, {})!r}"


def test_a_renewed_password_counts_for_the_next_client(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    password = tmp_path / "password"
    password.write_text("old\n")
    given = {
        "ODRADEK_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "ODRADEK_KAFKA_SASL_MECHANISM": "PLAIN",
        "ODRADEK_KAFKA_USERNAME": USER,
        "ODRADEK_KAFKA_PASSWORD_FILE": str(password),
    }
    brokers = settings(monkeypatch, given).brokers
    password.write_text("new\n")
    assert brokers.client()["sasl_plain_password"] == "new"


async def test_msk_tokens_are_signed_with_the_callers_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "ODRADEK_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "ODRADEK_KAFKA_SASL_MECHANISM": "AWS_MSK_IAM",
        "ODRADEK_KAFKA_AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "AKIAPLANTED",
        "AWS_SECRET_ACCESS_KEY": WRONG,
    }
    client = settings(monkeypatch, given).brokers.client()
    assert client["sasl_mechanism"] == "OAUTHBEARER"
    token = await client["sasl_oauth_token_provider"].token()
    signed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    assert signed.startswith("https://kafka.eu-central-1.amazonaws.com/?Action=kafka-cluster%3AConnect")
    assert "AKIAPLANTED" in signed
    assert WRONG not in signed


LOGINS = {
    "scram-512": lambda kafka: kafka.scram(),
    "scram-256": lambda kafka: kafka.scram("SCRAM-SHA-256"),
    "plain": lambda kafka: kafka.scram("PLAIN"),
    "token": lambda kafka: kafka.bearer(),
    "certificate": lambda kafka: kafka.certificate(),
}


@pytest.mark.kafka
@pytest.mark.parametrize("login", LOGINS)
async def test_every_login_reads_and_writes(
    login: str, secure: SecureKafka, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers = settings(monkeypatch, LOGINS[login](secure)).brokers
    await apply_topics(brokers, prefix, 1)
    assert await diff_topics(brokers, prefix, 1) == []
    assert await why_unreachable(brokers) == ""
    async with (
        AIOKafkaProducer(**brokers.client(), transactional_id=prefix) as producer,
        producer.transaction(),
    ):
        await producer.send_and_wait(f"{prefix}runs", b"hello")
    reading = AIOKafkaConsumer(f"{prefix}runs", **brokers.client(), auto_offset_reset="earliest")
    async with reading as consumer, asyncio.timeout(20):
        assert (await consumer.getone()).value == b"hello"


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ODRADEK_KAFKA_USERNAME": "nobody"}, "refused user nobody (SCRAM-SHA-512)"),
        ({"ODRADEK_KAFKA_CA_FILE": "another"}, "certificate that can't be trusted"),
        (
            {"ODRADEK_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT", "ODRADEK_KAFKA_CA_FILE": ""},
            "does it speak SASL_PLAINTEXT",
        ),
        ({"ODRADEK_BOOTSTRAP_SERVERS": "127.0.0.1:1"}, "127.0.0.1:1 refuses connections"),
    ],
)
async def test_who_is_not_let_in_is_told_why(
    change: Mapping[str, str], told: str, secure: SecureKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = secure.scram() | change
    if given["ODRADEK_KAFKA_CA_FILE"] == "another":
        given["ODRADEK_KAFKA_CA_FILE"] = ca_file(tmp_path)
    given = {name: value for name, value in given.items() if value}
    with pytest.raises(BrokerAwayError) as away:
        await diff_topics(settings(monkeypatch, given).brokers, "x.", 1, timeout_seconds=10)
    assert told in str(away.value)
    assert PASSWORD not in str(away.value)


@pytest.mark.kafka
async def test_a_plain_client_is_told_what_the_broker_may_want(secure: SecureKafka) -> None:
    assert "ODRADEK_KAFKA_SECURITY_PROTOCOL" in await why_unreachable(Brokers(secure.sasl, PLAINTEXT))


@pytest.mark.kafka
async def test_a_stale_token_is_refused_until_it_is_renewed(
    secure: SecureKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text(unsecured_token(USER, seconds=-600))
    given = secure.bearer() | {"ODRADEK_KAFKA_TOKEN_FILE": str(token)}
    brokers = settings(monkeypatch, given).brokers
    assert "refused the token" in await why_unreachable(brokers)
    token.write_text(unsecured_token(USER))
    assert await why_unreachable(brokers) == ""
