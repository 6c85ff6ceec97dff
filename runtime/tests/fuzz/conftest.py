"""The fuzz's own modules lie beside its tests."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_patches import fuzzing


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    """The runtime over Kafka's rules in memory, on virtual time, without a word."""
    logging.disable(logging.CRITICAL)
    try:
        with fuzzing():
            yield
    finally:
        logging.disable(logging.NOTSET)
