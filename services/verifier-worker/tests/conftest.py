"""Trajectories to verify, and a pool that finds the tests' own environment."""

from tests.support.scoring import _plugins, finished, job, own_pool, pool, record

__all__ = ["_plugins", "finished", "job", "own_pool", "pool", "record"]
