"""The runtime and the client as they are, put over the network in memory and on virtual time."""

from collections.abc import Iterator
from contextlib import contextmanager

import aiokafka.client
import structlog
from aiokafka.producer import sender
from fuzz_processors import declare_topics, withdraw_topics
from kafka_network import Network
from virtual_time import virtual_clock

from odradek_runtime import tuning
from odradek_runtime.membership import Membership
from odradek_runtime.tuning import tune_aiokafka


class Current:
    """The network of the world that exists now."""

    network: Network


CURRENT = Current()


@contextmanager
def fuzzing() -> Iterator[None]:
    """The runtime and the client as they are, over the network in memory and on virtual time; silent."""
    create_conn, backoff = aiokafka.client.create_conn, sender.BACKOFF_OVERRIDE
    constants = {name: getattr(tuning, name) for name in ("PRODUCER_BACKOFF_MS", "FETCH_MAX_WAIT_MS")}
    log_config = structlog.get_config()
    aiokafka.client.create_conn = lambda *args, **options: CURRENT.network.create_conn(*args, **options)
    tune_aiokafka()
    tuning.PRODUCER_BACKOFF_MS, tuning.FETCH_MAX_WAIT_MS = 50, 2000  # fewer steps, the same rules
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    poll = Membership.poll
    Membership.poll = lambda self, seconds: poll(self, 5 * seconds)  # type: ignore[method-assign]
    declare_topics()
    with virtual_clock("aiokafka", "odradek_runtime"):
        try:
            yield
        finally:
            withdraw_topics()
            Membership.poll = poll  # type: ignore[method-assign]
            structlog.configure(**log_config)
            for name, value in constants.items():
                setattr(tuning, name, value)
            aiokafka.client.create_conn, sender.BACKOFF_OVERRIDE = create_conn, backoff
