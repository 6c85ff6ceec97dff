"""Known secrets never reach a log, whoever puts them there."""

import json
import logging

import pytest

from odradek_runtime.logs import configure_logs, get_logger
from odradek_runtime.redaction import HIDDEN, secrets_of

SECRETS = {
    "PROVIDER_API_KEY": "sk-planted-0123456789",
    "AWS_SECRET_ACCESS_KEY": 'planted/"secret"\\key',
    "ODRADEK_KAFKA_PASSWORD": "planted-kafka-password",
    "SOME_TOKEN": "planted-token-0123",
    "ODRADEK_REDIS_URL": "redis://user:planted-redis-pw@127.0.0.1:6379/0",
    "HTTPS_PROXY": "http://someone:planted-proxy-pw@proxy:3128",
}


def test_secrets_are_known_by_their_variables() -> None:
    harmless = {
        "ODRADEK_ACCESS_SECRET_FILE": "/run/secrets/access_secret",
        "API_KEY_ENV": "PROVIDER_API_KEY",
        "HOME": "/home/somebody",
        "SHORT_TOKEN": "true",
        "DATABASE": "http://host:8080/a@b",
    }
    assert secrets_of(harmless) == frozenset()
    assert secrets_of(SECRETS) == {
        *(value for name, value in SECRETS.items() if "://" not in value),
        "planted-redis-pw",
        "planted-proxy-pw",
    }


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_line_holds_a_secret(
    form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Caught: a secret in a message, a field, a foreign library's words, or a traceback."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    configure_logs("test", "info", form)  # type: ignore[arg-type]
    log = get_logger("test")
    for value in SECRETS.values():
        log.warning("told", value=value, nested={"headers": f"Bearer {value}"})
        logging.getLogger("foreign").error("can't use %s", value)
        try:
            raise ValueError(f"bad: {value}")
        except ValueError as error:
            log.error("failed", exc_info=error)
    told = capsys.readouterr().err
    assert told.count(HIDDEN) >= 4 * len(SECRETS)
    for secret in secrets_of(SECRETS):
        assert secret not in told
        assert json.dumps(secret)[1:-1] not in told
