"""A laboratory on the real broker: topics of a test's own, tiny processors, and workers that run in the test."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "lab"))

from runtime_lab import TOPICS, Lab

from odradek_local.testing import create_topics


@pytest.fixture
async def lab(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[Lab]:
    """Topics with two partitions, no worker yet. Whatever runs at the test's end is stopped."""
    laboratory = Lab(kafka, prefix, tmp_path)
    await create_topics(kafka, prefix, laboratory.partitions, *TOPICS)
    await laboratory.set_up()
    yield laboratory
    await laboratory.tear_down()
