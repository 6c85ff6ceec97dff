"""The env-worker, put together."""

import os
import sys

from odradek.sessions import Sessions, no_programs
from odradek_env_worker.flights import Flights
from odradek_env_worker.gateway import Gateway
from odradek_env_worker.host import SessionHost, remembering
from odradek_env_worker.metrics import EnvMetrics
from odradek_env_worker.playing import Player
from odradek_env_worker.settings import EnvSettings
from odradek_env_worker.threads import ToolThreads
from odradek_env_worker.watchdog import Watchdog
from odradek_runtime.access import AccessError, Signer
from odradek_runtime.handlers import ConcurrentProcessor, HandlerContext
from odradek_runtime.sealing import Opener, Sealer, SealError
from odradek_runtime.service import run_service
from odradek_runtime.settings import SealingKeys, SettingsError, read_settings
from odradek_schemas.topics import ENV, SESSIONS, TOOL_ACTIONS

LOST_THREADS_EXIT = 70


def create_processor(settings: EnvSettings) -> ConcurrentProcessor:
    keys = SealingKeys()
    open_answer = Opener.from_file(keys.private_key_file).open if keys.private_key_file else None
    seal = Sealer.from_file(keys.public_key_file).seal if keys.public_key_file else None
    player = create_player(settings)
    flights = Flights(settings.flights_file)
    threads = ToolThreads(settings.tool_threads, settings.lost_threads, lambda: _give_up(flights))
    watchdog = Watchdog(settings.stall_seconds)
    metrics = EnvMetrics(threads)

    def create(context: HandlerContext) -> SessionHost:
        watchdog.start()
        sessions = Sessions(
            open_answer=open_answer,
            seal=seal,
            remember=remembering(context.commit),
            play=player.at(context.partition) if player is not None else no_programs,
        )
        host = SessionHost(sessions, threads, flights)
        metrics.watch(host)
        return host

    return ConcurrentProcessor(
        name=ENV,
        inputs=(TOOL_ACTIONS.name,),
        changelog=SESSIONS.name,
        ordered=True,
        create=create,
        measures=metrics,
    )


def create_player(settings: EnvSettings) -> Player | None:
    """Lets agent programs play, where there is a gateway for them. Raises AccessError."""
    if settings.gateway_url is None or settings.access_secret_file is None:
        return None
    signer = Signer.from_file(settings.access_secret_file)
    return Player(Gateway(settings.gateway_url), signer, settings.programs)


def _give_up(flights: Flights) -> None:
    """Stuck threads can only be ended with their process. What was in flight is handed out again after the restart;
    it is not to blame: those who are have had their answer."""
    flights.forgive()
    os._exit(LOST_THREADS_EXIT)


def main() -> None:
    try:
        settings = read_settings(EnvSettings)
        processor = create_processor(settings)
    except (SettingsError, SealError, AccessError, ValueError, OSError) as error:
        sys.exit(f"odradek-env-worker: {error}")
    run_service(processor, settings)
