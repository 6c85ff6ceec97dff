"""What can go wrong between a worker and the log, by what must be done about it."""

from aiokafka.errors import InvalidProducerEpoch, KafkaError, ProducerFenced


class WorkerError(Exception):
    """The worker can't go on: it ends with this message, and its supervisor decides."""


class CommitFailedError(Exception):
    """A cycle was not committed and its producer is discarded: acquire the partition again."""


class FencedError(Exception):
    """Another producer took the partition's transactional id: leave the group, join it, acquire again."""


class NotOwnedError(Exception):
    """The partition went to another member while it was being acquired."""


def classify(error: Exception) -> Exception:
    """What a failed transaction means for its owner.

    Fenced is not the same as not owning: a live owner is fenced too. What is neither Kafka's nor the network's is a
    bug, and stays what it is: acquiring again would only repeat it.
    """
    if isinstance(error, ProducerFenced | InvalidProducerEpoch):
        return FencedError(str(error) or type(error).__name__)
    if isinstance(error, KafkaError | TimeoutError | OSError):
        return CommitFailedError(f"{type(error).__name__}: {error}")
    return error
