"""Fixtures for the tests of every package."""

# At the start: else its plug-in imports it in the run's last moment, so deep that Python 3.11's parser gives up.
import hypothesis  # noqa: F401

pytest_plugins = ["odradek_local.testing"]
