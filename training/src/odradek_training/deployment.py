"""Where the log that a stream reads is."""

from dataclasses import dataclass, field

from odradek_runtime.brokers import Brokers, check_addresses
from odradek_runtime.kafka_security import KafkaSecurity
from odradek_runtime.names import Names
from odradek_runtime.settings import SettingsError, WorkerSettings, read_settings
from odradek_training.errors import StreamError


@dataclass(frozen=True)
class Deployment:
    """Kafka's address, the topics' prefix, and the blob store, where large rewards (those with many tokens) lie.

    `security` is what `ODRADEK_KAFKA_...` in the environment says, unless it is given.
    """

    bootstrap: str
    prefix: str = "odradek."
    blob_store: str = "file:///var/lib/odradek/blobs"
    security: KafkaSecurity = field(default_factory=KafkaSecurity)

    @property
    def brokers(self) -> Brokers:
        return Brokers(self.bootstrap, self.security)

    @property
    def names(self) -> Names:
        return Names(self.prefix)


def deployment_of(given: Deployment | str | None) -> Deployment:
    """The deployment that was given: whole, by Kafka's address, or not at all; `ODRADEK_` settings tell the rest.

    Raises:
        StreamError: a setting is wrong.
    """
    if isinstance(given, Deployment):
        return given
    try:
        settings = read_settings(WorkerSettings)
        bootstrap = check_addresses(given) if given else settings.bootstrap_servers
    except (SettingsError, ValueError) as error:
        raise StreamError(str(error)) from error
    return Deployment(bootstrap, settings.topic_prefix, settings.blob_store, settings.brokers.security)
