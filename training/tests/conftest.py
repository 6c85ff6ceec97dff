"""A deployment of a test's own on the real broker, and events for it."""

import asyncio
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "lab"))

from stream_lab import PARTITIONS, Makes, World

from odradek_local.testing import create_topics


@pytest.fixture
def makes() -> Makes:
    return Makes()


@pytest.fixture
def world(kafka: str, prefix: str, tmp_path: Path) -> World:
    asyncio.run(create_topics(kafka, prefix, PARTITIONS, "runs", "control", "rewards"))
    return World(kafka, prefix, (tmp_path / "blobs").as_uri())
