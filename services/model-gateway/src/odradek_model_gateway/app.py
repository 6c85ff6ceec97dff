"""What the model gateway is made of."""

import os
import sys

from odradek_model_gateway.front.front_end import FrontEnd
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.handler import ModelCalls
from odradek_model_gateway.limits import Limits, LocalLimits
from odradek_model_gateway.settings import GatewaySettings, load_settings
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_runtime.access import AccessError, Signer
from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.logs import configure_logs, get_logger
from odradek_runtime.service import run_service
from odradek_runtime.settings import SettingsError
from odradek_schemas.topics import GATEWAY, MODEL_CALLS

log = get_logger(__name__)


def create_processor(settings: GatewaySettings, gateway: Gateway, client: HttpClient) -> ConcurrentProcessor:
    """The front end for Kafka: one gateway and one HTTP client for all partitions of this process."""
    return ConcurrentProcessor(
        name=GATEWAY,
        inputs=(MODEL_CALLS.name,),
        create=lambda context: ModelCalls(gateway, client),
        max_in_flight=settings.max_in_flight,
        measures=gateway.metrics,
    )


def create_front_end(settings: GatewaySettings, gateway: Gateway, client: HttpClient) -> FrontEnd | None:
    """The front end for programs, where one is wanted. Raises AccessError."""
    if settings.front_port is None or settings.access_secret_file is None:
        return None
    return FrontEnd(settings, Signer.from_file(settings.access_secret_file), gateway, client)


def create_gateway(settings: GatewaySettings, client: HttpClient) -> Gateway:
    """The core, with all models behind it."""
    limits = open_limits(settings)
    upstreams = {
        name: Upstream(model, client, model.key(os.environ), name, limits)
        for name, model in settings.models.items()
    }
    gateway = Gateway(upstreams)
    gateway.metrics.watch(limits)
    return gateway


def open_limits(settings: GatewaySettings) -> Limits:
    """Shared by all gateways where they are told of a Redis."""
    if settings.redis_url is None:
        log.warning("limits are this process's own", reason="ODRADEK_REDIS_URL is not set")
        return LocalLimits()
    from odradek_model_gateway.shared import SharedLimits  # here: its client takes long to import

    return SharedLimits(str(settings.redis_url), f"{settings.topic_prefix}limits:", LocalLimits())


def main() -> None:
    """Run the service until it is told to stop."""
    try:
        settings = load_settings()
        configure_logs(GATEWAY, settings.log_level, settings.log_format)
        client = HttpClient(connections=sum(model.most_at_once for model in settings.models.values()))
        gateway = create_gateway(settings, client)
        front_end = create_front_end(settings, gateway, client)
    except (SettingsError, AccessError) as error:
        sys.exit(f"odradek-model-gateway: {error}")
    run_service(create_processor(settings, gateway, client), settings, front_end)
