import pytest
from aiokafka.errors import (
    InvalidProducerEpoch,
    KafkaConnectionError,
    KafkaError,
    MessageSizeTooLargeError,
    ProducerFenced,
    UnknownError,
)

from odradek_runtime.errors import CommitFailedError, FencedError, classify


@pytest.mark.parametrize("error", [ProducerFenced(), InvalidProducerEpoch()])
def test_a_fenced_producer_is_told_from_a_failed_commit(error: Exception) -> None:
    assert isinstance(classify(error), FencedError)


@pytest.mark.parametrize(
    "error",
    [
        MessageSizeTooLargeError(),
        UnknownError(),
        KafkaConnectionError(),
        KafkaError("?"),
        TimeoutError(),
        OSError("x"),
    ],
)
def test_what_the_broker_or_the_network_refuses_is_a_failed_commit(error: Exception) -> None:
    assert isinstance(classify(error), CommitFailedError)
    assert type(error).__name__ in str(classify(error))


@pytest.mark.parametrize("error", [ValueError("bug"), KeyError("bug"), AssertionError()])
def test_a_bug_stays_what_it_is(error: Exception) -> None:
    assert classify(error) is error
