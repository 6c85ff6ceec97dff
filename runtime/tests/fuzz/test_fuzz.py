"""The real workers and the real client against Kafka's rules in memory: exactly once under every interleaving tried.

`make test` tries a fixed few hundred interleavings; `make fuzz` some thousands, new ones each time (FUZZ_EXAMPLES).
"""

import logging
import os
from collections.abc import Iterator

import pytest
from fuzz_machine import Fuzz
from fuzz_world import fuzzing
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
CHOICE = settings(
    max_examples=EXAMPLES or 60,
    derandomize=not EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    report_multiple_bugs=False,
    **({} if EXAMPLES else {"database": None}),
)


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    with fuzzing():
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("kind", ["journal", "table", "loose", "ordered"])
@pytest.mark.timeout(0 if EXAMPLES else 180)
def test_every_input_is_accounted_for_exactly_once(kind: str) -> None:
    run_state_machine_as_test(type("Fuzz", (Fuzz,), {"kind": kind}), settings=CHOICE)
