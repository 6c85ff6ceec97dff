"""A deployment's Kafka as its clients find it: addresses, and how they log in."""

from dataclasses import dataclass, field
from typing import Any

from odradek_runtime.kafka_security import KafkaSecurity


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
