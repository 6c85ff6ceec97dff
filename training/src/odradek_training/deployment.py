"""Where the log that a stream reads is."""

from dataclasses import dataclass

from pydantic import ValidationError

from odradek_runtime.names import Names
from odradek_runtime.settings import WorkerSettings
from odradek_schemas.codec import explain
from odradek_training.errors import StreamError


@dataclass(frozen=True)
class Deployment:
    """Kafka's address, the topics' prefix, and the blob store, where large rewards (those with many tokens) lie."""

    bootstrap: str
    prefix: str = "odradek."
    blob_store: str = "file:///var/lib/odradek/blobs"

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
        settings = WorkerSettings()
    except ValidationError as error:
        raise StreamError(f"ODRADEK_ settings in the environment: {explain(error)}") from error
    return Deployment(given or settings.bootstrap_servers, settings.topic_prefix, settings.blob_store)
