"""A laboratory on the real broker: topics of a test's own, tiny processors, and workers that run in the test."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "lab"))

from runtime_lab import TOPICS, Lab

from odradek_local.testing import create_topics
from tests.support.s3 import S3Server, s3_server


@pytest.fixture
async def lab(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[Lab]:
    """Topics with two partitions, no worker yet. Whatever runs at the test's end is stopped."""
    laboratory = Lab(kafka, prefix, tmp_path)
    await create_topics(kafka, prefix, laboratory.partitions, *TOPICS)
    await laboratory.set_up()
    yield laboratory
    await laboratory.tear_down()


@pytest.fixture(scope="session")
def s3_of_session() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def s3(s3_of_session: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """An S3 that boto3 finds."""
    for name, value in s3_of_session.environment.items():
        monkeypatch.setenv(name, value)
    yield s3_of_session
    s3_of_session.fault = None
