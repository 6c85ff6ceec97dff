"""What a worker's log leaves out."""

import logging

from odradek_runtime.logs import REPEAT_SECONDS, Sparing


def record(logger: str, message: str, at: float) -> logging.LogRecord:
    made = logging.LogRecord(logger, logging.ERROR, "file.py", 1, message, ("127.0.0.1",), None)
    made.created = at
    return made


def test_a_client_that_repeats_itself_is_heard_once_in_a_while() -> None:
    spare = Sparing()
    told = [spare.filter(record("aiokafka", "no connection to %s", 100 + n / 10)) for n in range(40)]
    assert told == [True] + [False] * 39
    assert spare.filter(record("aiokafka", "another thing of %s", 100.1))
    assert spare.filter(record("aiokafka", "no connection to %s", 100.1 + REPEAT_SECONDS))


def test_our_own_messages_are_all_heard() -> None:
    spare = Sparing()
    assert all(spare.filter(record("odradek_runtime.worker", "owner lost", 100.0)) for _ in range(3))
