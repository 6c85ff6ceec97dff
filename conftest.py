"""Fixtures for the tests of every package."""

# At the start: else its plug-in imports it in the run's last moment, so deep that Python 3.11's parser gives up.
import hypothesis

pytest_plugins = ["odradek_local.testing"]

# How long an example takes says something of the machine, and nothing of the code.
hypothesis.settings.register_profile(
    "odradek", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("odradek")
