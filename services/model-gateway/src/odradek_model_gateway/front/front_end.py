"""The front end as a whole: what it is made of, from its start to its end."""

from datetime import UTC, datetime

from odradek_model_gateway.front.calls import Calls
from odradek_model_gateway.front.earlier import EarlierAnswers
from odradek_model_gateway.front.ended import LONGEST_ACCESS
from odradek_model_gateway.front.routes import Routes
from odradek_model_gateway.front.server import Server
from odradek_model_gateway.front.tokens import Tokens
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.settings import GatewaySettings
from odradek_model_gateway.upstream import HttpClient
from odradek_runtime.access import Signer
from odradek_runtime.errors import WorkerError
from odradek_runtime.intake import Intake
from odradek_runtime.log_follower import LogFollower
from odradek_runtime.log_writer import LogWriter
from odradek_runtime.service import Surroundings
from odradek_schemas.events import Event, PolicyUpdated
from odradek_schemas.topics import GATEWAY, MODEL_ACCESS


class FrontEnd:
    """Implements `odradek_runtime.service.Beside`."""

    def __init__(
        self, settings: GatewaySettings, signer: Signer, gateway: Gateway, client: HttpClient
    ) -> None:
        self._settings = settings
        self._signer = signer
        self._gateway = gateway
        self._client = client
        self._before: list[Event] = []
        self._calls: Calls | None = None
        self._server: Server | None = None
        self._parts: list[LogWriter | LogFollower | Calls | Server] = []

    async def start(self, surroundings: Surroundings) -> None:
        self._client.join()
        brokers, names = self._settings.brokers, surroundings.names
        intake = Intake(GATEWAY, surroundings.blobs)
        writer = LogWriter(brokers, GATEWAY, names, surroundings.blobs, self._settings.cycle_timeout_seconds)
        calls = self._calls = Calls(self._gateway, writer, EarlierAnswers(brokers, names, intake))
        for event in self._before:
            self.control(event)
        follower = LogFollower(brokers, names, MODEL_ACCESS.name, intake, calls.ended.take)
        routes = Routes(Tokens(self._signer), self._gateway, calls, writer)
        server = self._server = Server(
            routes.table(), self._settings.front_host, self._settings.front_port or 0
        )
        self._parts = [writer, follower, server, calls]
        await writer.start()
        await follower.start(
            self._settings.partitions,
            datetime.now(UTC) - LONGEST_ACCESS,
            self._settings.acquire_timeout_seconds,
        )
        try:
            await server.start()
        except OSError as error:
            raise WorkerError(
                f"ODRADEK_FRONT_PORT: {self._settings.front_host}:{self._settings.front_port}: {error.strerror or error}"
            ) from error

    @property
    def port(self) -> int:
        """Where it listens, once it does."""
        assert self._server is not None, "it has no port before it has started"
        return self._server.port

    def control(self, event: Event) -> None:
        if isinstance(event, PolicyUpdated):
            self._gateway.policies[event.model] = event.version
        elif self._calls is None:
            self._before.append(event)
        else:
            self._calls.ended.take(event)

    async def stop(self) -> None:
        for part in reversed(self._parts):
            await part.stop()
        await self._client.leave()
