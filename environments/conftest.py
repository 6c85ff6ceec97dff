"""Recorded rollouts of NeMo Gym's servers, for the environments that behave as they do."""

import os
from collections.abc import Callable

import pytest

from tests.oracle import recordings as oracle


@pytest.fixture
def recordings() -> Callable[[str], list[oracle.Recording]]:
    """The recordings of an environment, in the order of the file."""

    def read(name: str) -> list[oracle.Recording]:
        folder = oracle.folder(name)
        if not folder.is_dir():
            message = f"no recorded rollouts in {folder}; ODRADEK_SHARED says where they are"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        return oracle.read(name)

    return read
