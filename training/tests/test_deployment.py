"""Which deployment a stream reads."""

import pytest

from odradek_training.deployment import deployment_of
from odradek_training.errors import StreamError


@pytest.mark.parametrize("address", ["kafka", "kafka:x", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(StreamError, match="is not host:port"):
        deployment_of(address)


def test_a_setting_that_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_KAFKA_SECURITY_PROTOCOL", "TLS")
    with pytest.raises(StreamError, match="ODRADEK_KAFKA_SECURITY_PROTOCOL"):
        deployment_of("kafka:9092")
