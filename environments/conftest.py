"""Recorded rollouts of NeMo Gym's servers, for the environments that behave as they do."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek import JsonObject
from tests.oracle import recordings as oracle


@pytest.fixture
def recordings() -> Callable[[str], list[oracle.Recording]]:
    """The recordings of an environment, in the order of the file."""

    def read(name: str) -> list[oracle.Recording]:
        _folder(name)
        return oracle.read(name)

    return read


@pytest.fixture
def gym_rows() -> Callable[[str, str], list[JsonObject]]:
    """The rows of one of an environment's files, `example.jsonl` or `example_rollouts.jsonl`, as they are."""
    return lambda name, file: oracle.rows(_folder(name) / file)


def _folder(name: str) -> Path:
    folder = oracle.folder(name)
    if not folder.is_dir():
        message = f"no recorded rollouts in {folder}; ODRADEK_SHARED says where they are"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder
