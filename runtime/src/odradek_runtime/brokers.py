"""A deployment's Kafka as its clients find it: addresses, and how they log in."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator

from odradek_runtime.bounds import MOST_PORT
from odradek_runtime.kafka_security import KafkaSecurity


def check_addresses(bootstrap: str) -> str:
    """The same addresses.

    Raises:
        ValueError: they are not `host:port,host:port`.
    """
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if not (host.strip(":") and port.isascii() and port.isdecimal() and 0 < int(port) <= MOST_PORT):
            raise ValueError(
                f"{address!r} is not host:port, such as kafka:9092; several with commas in between"
            )
    return bootstrap


Addresses = Annotated[str, AfterValidator(check_addresses)]
"""Kafka's `host:port,host:port`."""


@dataclass(frozen=True)
class Brokers:
    """`bootstrap` is `host:port,host:port`. As text it is that alone: secrets are not told."""

    bootstrap: str
    security: KafkaSecurity = field(default_factory=KafkaSecurity)

    def client(self) -> dict[str, Any]:
        """The arguments by which any client of aiokafka reaches these brokers.

        Raises:
            ValueError: a file of the security settings can't be read any more.
        """
        return {"bootstrap_servers": self.bootstrap, **self.security.client()}

    def __str__(self) -> str:
        return self.bootstrap
