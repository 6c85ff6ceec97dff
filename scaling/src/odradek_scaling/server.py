"""The loads over HTTP: one pool as JSON, all pools for Prometheus.

Whoever scales by an answer must never be given an old number, or a 0 that only means that nobody was reached: what can't
be measured is a 503, which KEDA, the horizontal pod autoscaler and Prometheus take for "not known".
"""

from collections.abc import Mapping

from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from odradek_runtime.logs import get_logger
from odradek_scaling.load import POOLS, PoolLoad
from odradek_scaling.meter import Meter, Result

STOP_SECONDS = 2.0
"""How long answers that are being written hold up the end."""

_GAUGES = (
    ("odradek_pool_backlog", "backlog"),
    ("odradek_pool_in_flight", "in_flight"),
    ("odradek_pool_load", "load"),
    ("odradek_pool_members", "members"),
)
_TEXT = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}

log = get_logger(__name__)


class LoadServer:
    """Serves a meter's loads at `host`:`port`; port 0: a free one, which `port` tells."""

    def __init__(self, meter: Meter, host: str, port: int) -> None:
        self._meter = meter
        self._host, self.port = host, port
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/pools/{pool}", self._pool)
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=STOP_SECONDS
        )

    async def start(self) -> None:
        """Listen. Raises OSError: it can't."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self.port).start()
        self.port = self._runner.addresses[0][1]
        log.info("serving loads", host=self._host, port=self.port, paths=["/pools/POOL", "/metrics"])

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, request: web.Request) -> web.Response:
        """Ready while at least one pool can be measured: Kafka answers, and the topics are there."""
        results = await self._meter.loads()
        if _known(results):
            return web.Response(text="ok\n")
        return web.Response(status=503, text=_reasons(results))

    async def _metrics(self, request: web.Request) -> web.Response:
        results = await self._meter.loads()
        known = _known(results)
        if not known:
            return web.Response(status=503, text=_reasons(results))
        return web.Response(body=exposition(known), headers=_TEXT)

    async def _pool(self, request: web.Request) -> web.Response:
        pool = request.match_info["pool"]
        if pool not in POOLS:
            error = f"there is no pool {pool!r}; there are {', '.join(POOLS)}"
            return web.json_response({"error": error}, status=404)
        result = (await self._meter.loads())[pool]
        if isinstance(result, PoolLoad):
            return web.json_response(result.model_dump())
        return web.json_response({"error": str(result)}, status=503)


def exposition(loads: list[PoolLoad]) -> bytes:
    """Loads in Prometheus' text format; a pool that is not known is not there."""
    registry = CollectorRegistry()
    for name, field in _GAUGES:
        described = PoolLoad.model_fields[field].description or ""
        gauge = Gauge(name, described, ("pool",), registry=registry)
        for load in loads:
            gauge.labels(load.pool).set(getattr(load, field))
    text: bytes = generate_latest(registry)
    return text


def _known(results: Mapping[str, Result]) -> list[PoolLoad]:
    return [result for result in results.values() if isinstance(result, PoolLoad)]


def _reasons(results: Mapping[str, Result]) -> str:
    """Why nothing is known, each reason once."""
    return "".join(f"{reason}\n" for reason in dict.fromkeys(map(str, results.values())))
