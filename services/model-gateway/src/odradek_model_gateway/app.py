"""What the model gateway is made of."""

import os
import sys

from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.handler import ModelCalls
from odradek_model_gateway.settings import GatewaySettings, SettingsError, load_settings
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.service import run_service
from odradek_schemas.topics import GATEWAY, MODEL_CALLS


def create_processor(settings: GatewaySettings) -> ConcurrentProcessor:
    """One gateway and one HTTP client for all partitions of this process."""
    client = HttpClient(connections=sum(model.most_at_once for model in settings.models.values()))
    upstreams = {
        name: Upstream(model, client, model.key(os.environ)) for name, model in settings.models.items()
    }
    gateway = Gateway(upstreams)
    return ConcurrentProcessor(
        name=GATEWAY,
        inputs=(MODEL_CALLS.name,),
        create=lambda context: ModelCalls(gateway, client),
        max_in_flight=settings.max_in_flight,
    )


def main() -> None:
    """Run the service until it is told to stop."""
    try:
        settings = load_settings()
    except SettingsError as error:
        sys.exit(f"odradek-model-gateway: {error}")
    run_service(create_processor(settings), settings)
