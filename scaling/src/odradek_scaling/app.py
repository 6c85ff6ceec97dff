"""The load exporter, put together."""

import asyncio
import signal
import sys

import uvloop

from odradek_runtime.logs import configure_logs
from odradek_runtime.names import Names
from odradek_runtime.settings import SettingsError, read_settings
from odradek_scaling.meter import Meter
from odradek_scaling.server import LoadServer
from odradek_scaling.settings import ExporterSettings
from odradek_scaling.telling import FindWorkers, by_name

NAME = "load-exporter"


def create_meter(settings: ExporterSettings) -> Meter:
    return Meter(settings.brokers, Names(settings.topic_prefix), _finder(settings))


def _finder(settings: ExporterSettings) -> FindWorkers | None:
    """How workers are found. What speaks to AWS is loaded where AWS is named alone."""
    if settings.load_workers_cloud_map is not None:
        from odradek_scaling.cloudmap import by_cloud_map

        return by_cloud_map(settings.load_workers_cloud_map)
    return None if settings.load_workers_dns is None else by_name(settings.load_workers_dns)


async def _publish(meter: Meter, settings: ExporterSettings) -> None:
    """Tell CloudWatch, where its metrics have a deployment."""
    if settings.cloudwatch_deployment is not None:
        from odradek_scaling.cloudwatch import Publisher, publish_loads

        publisher = Publisher(settings.cloudwatch_deployment)
        await publish_loads(meter.loads, publisher, settings.cloudwatch_every_seconds)


async def serve(settings: ExporterSettings) -> None:
    """Serve until SIGTERM or SIGINT. Raises OSError: it can't listen there."""
    meter = create_meter(settings)
    server = LoadServer(meter, settings.http_host, settings.http_port)
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await server.start()
    publishing = asyncio.create_task(_publish(meter, settings))
    publishing.add_done_callback(lambda task: told.set() if _broke(task) else None)
    await told.wait()
    publishing.cancel()
    await server.stop()
    await meter.close()
    if _broke(publishing):
        publishing.result()


def _broke(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None


def main() -> None:
    """Run the service until it is told to stop."""
    try:
        settings = read_settings(ExporterSettings)
        configure_logs(NAME, settings.log_level, settings.log_format)
        uvloop.run(serve(settings))
    except SettingsError as error:
        sys.exit(f"odradek-{NAME}: {error}")
    except OSError as error:
        sys.exit(f"odradek-{NAME}: ODRADEK_HTTP_PORT: can't listen there: {error.strerror or error}")
