"""From what the log tells and what the workers tell to the load of a pool (pure)."""

import math
from collections.abc import Iterable, Sequence

from odradek_scaling.load import PoolLoad
from odradek_scaling.outside import Outside
from odradek_scaling.telling import Told
from odradek_schemas.topics import AGENT, ENV, GATEWAY

TELLING = (AGENT, ENV, GATEWAY)
"""The pools whose workers know what the log does not: unfinished rollouts, open sessions, upstreams' calls and limits."""

_LOAD_DEPENDS = (ENV, GATEWAY)


def combine(pool: str, outside: Outside, told: Sequence[Told] | None) -> PoolLoad:
    """The load of a pool; `told` None: its workers were not asked, and what the log has as begun is in flight.

    - env-worker: what waits, or the sessions that are open, whichever is more: a session needs its worker while the
      agent thinks.
    - model-gateway: unfinished calls, but no more than the upstreams admit at once: more gateways make no upstream
      faster.
    - the others: what waits.
    """
    backlog = outside.backlog
    in_flight = outside.begun if told is None else held(pool, told)
    load: float = backlog
    if pool == ENV:
        load = max(backlog, in_flight)
    elif pool == GATEWAY:
        load = min(max(backlog, in_flight), admitted(told or ()))
    return PoolLoad(pool=pool, backlog=backlog, in_flight=in_flight, load=int(load), members=outside.members)


def held(pool: str, told: Iterable[Told]) -> int:
    """What the workers of a pool that tells hold open."""
    if pool == ENV:
        return sum(worker.sessions for worker in told)
    if pool == AGENT:
        return sum(worker.rollouts for worker in told)
    return sum(worker.calls for worker in told)


def is_whole(pool: str, outside: Outside, told: Iterable[Told]) -> bool:
    """Whether nobody who owns part of the work kept silent, as far as the pool's load depends on it."""
    return pool not in _LOAD_DEPENDS or sum(worker.owned for worker in told) >= outside.owned


def admitted(told: Iterable[Told]) -> float:
    """How many calls the upstreams of all models bear at once; infinite: no gateway has told.

    Each gateway tells what a replica bears in all, as it has learnt it; the most that one believes counts.
    """
    limits: dict[tuple[str, str], int] = {}
    for worker in told:
        for replica, limit in worker.limits.items():
            limits[replica] = max(limit, limits.get(replica, 0))
    return sum(limits.values()) if limits else math.inf
