"""Helm, where `make test-kubernetes` has installed it."""

import pytest

from tests.kubernetes.installing import Tools, is_installed, tools


@pytest.fixture(scope="session")
def installed() -> Tools:
    if not is_installed():
        pytest.skip("Helm is not installed: make test-kubernetes")
    return tools()
