"""The whole system: a local stack with scripted models, shared by the tests of a session."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stack import MISCHIEF, ROOT, RunningStack, running_stack, start_scripted_model

__all__ = ["ROOT", "RunningStack", "start_scripted_model"]


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    with running_stack(tmp_path_factory.mktemp("stack"), MISCHIEF) as stack:
        yield stack


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The example rows of NeMo Gym's servers, which CI must have."""
    path = Path(os.environ.get("ODRADEK_SHARED", ROOT.parent / "shared")) / "data" / "nemo-gym"
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{path} is not there: set ODRADEK_SHARED")
    return path
