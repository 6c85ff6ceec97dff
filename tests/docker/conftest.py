"""One stack for the tests of a session, built anew and taken down at the end."""

from collections.abc import Iterator

import pytest

from tests.docker.stack import DockerStack, remove_images, running_stack


@pytest.fixture(scope="session")
def images() -> Iterator[None]:
    yield
    remove_images()


@pytest.fixture(scope="module")
def stack(images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerStack]:
    with running_stack(tmp_path_factory.mktemp("data")) as stack:
        yield stack


@pytest.fixture(scope="module")
def three_brokers(images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerStack]:
    data = tmp_path_factory.mktemp("data-of-three")
    with running_stack(data, "deploy/kafka/three-brokers.yml", brokers=3) as stack:
        yield stack
