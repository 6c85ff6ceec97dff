"""Pools of containers, as `docker compose` made them: a driver over the Engine API.

A compose service is a pool. What `docker compose` itself knows a replica by are labels, so a replica that is made here
has them too: `docker compose ps`, `logs`, `kill` and `down` see it as their own. A new replica is a copy of the newest
one: its image, environment, mounts, limits, health check, networks. One that must go is stopped, which is SIGTERM and the
service's grace period, and then removed; of a pool that is to have none the last one stays, stopped, as the pattern for
the next.

Source: Docker Engine API 1.41 (containers: create, start, stop, inspect); docker/compose, pkg/api/labels.go.
"""

import asyncio
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from odradek_runtime.logs import get_logger
from odradek_scaling.controller import DriverError
from odradek_scaling.telling import Address

API_SECONDS = 20.0
"""Deadline of one question to the engine; the grace period of a container that is stopped comes on top."""

GRACE_SECONDS = 10
"""Of a container that does not say; Docker's own default."""

METRICS_PORT = 9400

LABEL = "com.docker.compose."
PROJECT, SERVICE, NUMBER, ONE_OFF, HASH = (
    LABEL + name for name in ("project", "service", "container-number", "oneoff", "config-hash")
)

Inspected = Mapping[str, Any]
"""What the engine tells of a container."""

_T = TypeVar("_T")

log = get_logger(__name__)


class ComposePools:
    """The pools of one compose project; its services are named for the pools.

    Raises:
        DriverError: the Docker SDK is not installed, or no engine answers.
    """

    def __init__(self, project: str) -> None:
        try:
            import docker  # an extra
            from docker.errors import DockerException, NotFound
        except ImportError as error:
            raise DriverError(f"{error}: pip install 'odradek-scaling[docker]'") from error
        self._errors: tuple[type[Exception], ...] = (DockerException, OSError)
        self._gone: type[Exception] = NotFound
        self._project = project
        self._going: set[str] = set()
        self._stops: set[asyncio.Task[None]] = set()
        try:
            self._api = docker.from_env(timeout=API_SECONDS).api
            self._api.version()
        except self._errors as error:
            raise DriverError(f"no Docker engine answers: {error}") from error

    async def replicas(self, pool: str) -> int:
        return len(await self._running(pool))

    async def scale(self, pool: str, replicas: int) -> None:
        running = await self._running(pool)
        if replicas > len(running):
            await self._grow(pool, replicas - len(running))
        for container in running[replicas:]:
            self._let_go(container, keep=replicas == 0 and container is running[0])

    async def workers(self, pool: str) -> Sequence[Address]:
        """Where the workers of a pool tell their metrics, on the containers' own network; none where the engine does not
        tell: who owns work and is not asked makes a load unknown."""
        try:
            shared = await self._own_networks()
            found = [address_of(container, shared) for container in await self._running(pool)]
        except DriverError as error:
            log.warning("it is not known where workers are", pool=pool, error=str(error))
            return []
        return [address for address in found if address is not None]

    async def _own_networks(self) -> frozenset[str]:
        """The networks that this process is in, where it runs in a container: a container's host name is its id."""
        own = await self._ask(self._inspect, socket.gethostname())
        return frozenset() if own is None else frozenset(own["NetworkSettings"]["Networks"])

    async def close(self) -> None:
        """Replicas that were told to go are waited for, so that none is left stopped and not removed."""
        if self._stops:
            await asyncio.wait(self._stops)
        self._api.close()

    async def _running(self, pool: str) -> list[Inspected]:
        """The running containers of a service that were not told to go, by their numbers."""
        return [c for c in await self._all(pool) if c["State"]["Running"] and c["Id"] not in self._going]

    async def _all(self, pool: str) -> list[Inspected]:
        labels = [f"{PROJECT}={self._project}", f"{SERVICE}={pool}", f"{ONE_OFF}=False"]
        listed = await self._ask(self._api.containers, all=True, filters={"label": labels})
        if not listed:
            raise DriverError(
                f"project {self._project!r} has no container of service {pool!r}: is it up, and --project right?"
            )
        found = [await self._ask(self._inspect, one["Id"]) for one in listed]
        return sorted((container for container in found if container is not None), key=number_of)

    def _inspect(self, name: str) -> Inspected | None:
        """None: it was removed just now."""
        try:
            inspected: Inspected = self._api.inspect_container(name)
        except self._gone:
            return None
        return inspected

    async def _grow(self, pool: str, more: int) -> None:
        there = await self._all(pool)
        pattern = max(there, key=lambda container: str(container["Created"]))
        resting = [c for c in there if not c["State"]["Running"] and _alike(c, pattern)]
        for container in resting[:more]:
            await self._ask(self._api.start, container["Id"])
        for number in free_numbers(there, more - len(resting)):
            await self._create(pattern, number)

    async def _create(self, pattern: Inspected, number: int) -> None:
        name = f"{self._project}-{pattern['Config']['Labels'][SERVICE]}-{number}"
        config, networks = copy_of(pattern, name, number)
        made = await self._ask(self._api.create_container_from_config, config, name)
        for network, aliases in networks.items():
            await self._ask(self._api.connect_container_to_network, made["Id"], network, aliases=aliases)
        await self._ask(self._api.start, made["Id"])

    def _let_go(self, container: Inspected, keep: bool) -> None:
        self._going.add(container["Id"])
        task = asyncio.ensure_future(self._stop(container, keep))
        self._stops.add(task)
        task.add_done_callback(self._stops.discard)

    async def _stop(self, container: Inspected, keep: bool) -> None:
        name, grace = container["Id"], container["Config"].get("StopTimeout") or GRACE_SECONDS
        try:
            await self._ask(self._api.stop, name, timeout=grace)
            if not keep:
                await self._ask(self._api.remove_container, name, v=True)
        except DriverError as error:
            log.warning("a replica that was told to go is still there", container=name[:12], error=str(error))
        finally:
            self._going.discard(name)

    async def _ask(self, question: Callable[..., _T], *args: Any, **named: Any) -> _T:
        try:
            return await asyncio.to_thread(question, *args, **named)
        except self._errors as error:
            raise DriverError(f"Docker: {error}") from error


def number_of(container: Inspected) -> int:
    return int(container["Config"]["Labels"].get(NUMBER, 0))


def free_numbers(there: Sequence[Inspected], more: int) -> list[int]:
    """The lowest numbers from 1 that no container has, as compose gives them."""
    taken = {number_of(container) for container in there}
    free = [number for number in range(1, len(taken) + max(0, more) + 1) if number not in taken]
    return free[: max(0, more)]


def copy_of(pattern: Inspected, name: str, number: int) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """What the engine is to create as another replica; and the networks that it is to be connected to besides, each with
    its names there.

    The engine takes one network at the creation (API 1.41). What was the pattern's own is left out: its host name, which
    is its id, its addresses, and its names in the networks.
    """
    own = {pattern["Id"][:12], pattern["Name"].removeprefix("/")}
    config = {key: value for key, value in pattern["Config"].items() if key not in ("Hostname", "MacAddress")}
    config["Labels"] = config["Labels"] | {NUMBER: str(number)}
    config["HostConfig"] = dict(pattern["HostConfig"])
    networks = {
        network: [*(alias for alias in endpoint.get("Aliases") or () if alias not in own), name]
        for network, endpoint in pattern["NetworkSettings"]["Networks"].items()
    }
    first = config["HostConfig"].get("NetworkMode")
    at_once = {first: {"Aliases": networks.pop(first)}} if first in networks else {}
    config["NetworkingConfig"] = {"EndpointsConfig": at_once}
    return config, networks


def address_of(container: Inspected, shared: Collection[str] = ()) -> Address | None:
    """Where a worker's HTTP side is, from its networks and its settings; None: it has no address.

    `shared`: the networks of who asks; empty: the machine itself, which is in all of them.
    """
    env = dict(line.partition("=")[::2] for line in container["Config"].get("Env") or ())
    port = int(env.get("ODRADEK_HTTP_PORT") or METRICS_PORT)
    networks = container["NetworkSettings"]["Networks"]
    near = [place for name, place in networks.items() if not shared or name in shared]
    return next(((place["IPAddress"], port) for place in near if place.get("IPAddress")), None)


def _alike(one: Inspected, other: Inspected) -> bool:
    """Whether two containers were made of the same image and the same configuration."""
    hashes = [container["Config"]["Labels"].get(HASH) for container in (one, other)]
    return bool(one["Image"] == other["Image"] and hashes[0] == hashes[1])
