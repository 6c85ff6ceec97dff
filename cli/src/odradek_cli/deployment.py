"""Which Odradek a command speaks to: one named by the environment, or the local stack that runs."""

import os
from dataclasses import dataclass

from odradek_cli import local
from odradek_cli.errors import CliError, Exit
from odradek_runtime.brokers import Brokers
from odradek_runtime.kafka_security import PLAINTEXT
from odradek_runtime.names import Names
from odradek_runtime.settings import SettingsError, WorkerSettings, read_settings

BOOTSTRAP_VARIABLE = "ODRADEK_BOOTSTRAP_SERVERS"


@dataclass(frozen=True)
class Deployment:
    """Where Kafka and the blob store are. `models` are those of the local stack; None: not known here."""

    brokers: Brokers
    prefix: str
    partitions: int
    blob_store: str
    models: tuple[str, ...] | None = None

    @property
    def local(self) -> bool:
        """Whether it is this machine's local stack."""
        return self.models is not None

    @property
    def names(self) -> Names:
        return Names(self.prefix)


def find_deployment() -> Deployment:
    """The deployment that `ODRADEK_BOOTSTRAP_SERVERS` names, else the running local stack.

    Raises:
        CliError: there is neither.
    """
    found = try_deployment()
    if found is None:
        raise CliError(
            "no stack is running",
            Exit.NO_STACK,
            f"`odradek up` starts one here; or set {BOOTSTRAP_VARIABLE} to use another",
        )
    return found


def try_deployment() -> Deployment | None:
    """The same, or None when there is no deployment."""
    if BOOTSTRAP_VARIABLE in os.environ:
        return from_environment()
    state = local.running_stack()
    if state is None:
        return None
    return Deployment(
        Brokers(state.bootstrap, PLAINTEXT),
        state.topic_prefix,
        state.partitions,
        state.blob_store,
        tuple(sorted(state.models)),
    )


def from_environment() -> Deployment:
    """What the environment's `ODRADEK_` settings say, with their defaults.

    Raises:
        CliError: one of them is wrong.
    """
    try:
        settings = read_settings(WorkerSettings)
    except SettingsError as error:
        raise CliError(str(error), Exit.USAGE) from error
    return Deployment(settings.brokers, settings.topic_prefix, settings.partitions, settings.blob_store)
