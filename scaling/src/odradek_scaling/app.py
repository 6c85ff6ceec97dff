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
from odradek_scaling.telling import by_name

NAME = "load-exporter"


def create_meter(settings: ExporterSettings) -> Meter:
    find = None if settings.load_workers_dns is None else by_name(settings.load_workers_dns)
    return Meter(settings.brokers, Names(settings.topic_prefix), find)


async def serve(settings: ExporterSettings) -> None:
    """Serve until SIGTERM or SIGINT. Raises OSError: it can't listen there."""
    meter = create_meter(settings)
    server = LoadServer(meter, settings.http_host, settings.http_port)
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await server.start()
    await told.wait()
    await server.stop()
    await meter.close()


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
