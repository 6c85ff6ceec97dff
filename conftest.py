"""Fixtures for the tests of every package."""

pytest_plugins = ["odradek_local.testing"]
