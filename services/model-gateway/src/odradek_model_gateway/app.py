"""What the model gateway is made of."""

import os
import sys

from odradek_model_gateway.front.front_end import FrontEnd
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.handler import ModelCalls
from odradek_model_gateway.settings import GatewaySettings, SettingsError, load_settings
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_runtime.access import AccessError, Signer
from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.service import run_service
from odradek_schemas.topics import GATEWAY, MODEL_CALLS


def create_processor(settings: GatewaySettings, gateway: Gateway, client: HttpClient) -> ConcurrentProcessor:
    """The front end for Kafka: one gateway and one HTTP client for all partitions of this process."""
    return ConcurrentProcessor(
        name=GATEWAY,
        inputs=(MODEL_CALLS.name,),
        create=lambda context: ModelCalls(gateway, client),
        max_in_flight=settings.max_in_flight,
    )


def create_front_end(settings: GatewaySettings, gateway: Gateway, client: HttpClient) -> FrontEnd | None:
    """The front end for programs, where one is wanted. Raises AccessError."""
    if settings.front_port is None or settings.access_secret_file is None:
        return None
    return FrontEnd(settings, Signer.from_file(settings.access_secret_file), gateway, client)


def main() -> None:
    """Run the service until it is told to stop."""
    try:
        settings = load_settings()
        client = HttpClient(connections=sum(model.most_at_once for model in settings.models.values()))
        gateway = Gateway(
            {name: Upstream(model, client, model.key(os.environ)) for name, model in settings.models.items()}
        )
        front_end = create_front_end(settings, gateway, client)
    except (SettingsError, AccessError) as error:
        sys.exit(f"odradek-model-gateway: {error}")
    run_service(create_processor(settings, gateway, client), settings, front_end)
