"""Which server a session is at: one that is there already, or one that this process starts for itself."""

import asyncio

from odradek import RowError, WorldFailed
from odradek_nemo_gym.server import GymServer, ServerError
from odradek_nemo_gym.settings import BridgeSettings
from odradek_schemas.failures import FailureKind

_UNSAID = "say which server: --set server_url=http://HOST:PORT, or --set server=FOLDER to have it started"


class Servers:
    """The server that the settings name. One that is started here is started once, for all who ask."""

    def __init__(self, settings: BridgeSettings) -> None:
        self._settings = settings
        self._starting: asyncio.Task[GymServer] | None = None

    def check(self) -> None:
        """Raises RowError: the settings name no server, or two."""
        if (self._settings.server_url is None) is (self._settings.server is None):
            raise RowError("settings", _UNSAID)

    async def url(self) -> str:
        """Without a slash at its end.

        Raises:
            WorldFailed: no server is named, or it can't be started.
        """
        if self._settings.server_url is not None:
            return str(self._settings.server_url).rstrip("/")
        if self._settings.server is None:
            raise WorldFailed(FailureKind.INVALID_REQUEST, _UNSAID)
        if self._starting is None or _is_over(self._starting):
            settings = self._settings
            start = GymServer.start(self._settings.server, settings.python, dict(settings.overrides))
            self._starting = asyncio.create_task(start)
        try:
            return (await asyncio.shield(self._starting)).url
        except ServerError as error:
            raise WorldFailed(FailureKind.UPSTREAM_UNAVAILABLE, f"NeMo Gym server: {error}") from error

    def check_alive(self, url: str) -> None:
        """Whether the server that began a session is there still; only of those that were started here it is known.

        Raises:
            WorldFailed: it is gone, and the session with it.
        """
        if self._settings.server_url is None and url != self._started():
            raise WorldFailed(
                FailureKind.SESSION_LOST, f"the NeMo Gym server at {url} ended, and its sessions with it"
            )

    def _started(self) -> str | None:
        task = self._starting
        return task.result().url if task is not None and task.done() and not _is_over(task) else None


def _is_over(starting: "asyncio.Task[GymServer]") -> bool:
    """Whether what was started is no more, or never was."""
    if not starting.done():
        return starting.get_loop().is_closed()
    return starting.cancelled() or starting.exception() is not None or starting.result().has_ended
