"""Why Kafka can't be reached. A client that starts only says that none of its addresses will do."""

import asyncio
import ssl
from typing import Any

from aiokafka.conn import create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    IllegalSaslState,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from odradek_runtime.brokers import Brokers

LOOK_SECONDS = 5.0
"""For all addresses together."""


async def why_unreachable(brokers: Brokers) -> str:
    """What the first address that does not do says of itself, in one sentence; empty when all of them do."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            for address in brokers.bootstrap.split(","):
                if reason := await _why(brokers, address.strip()):
                    return f"{address.strip()} {reason}"
    except TimeoutError:
        return f"no answer within {LOOK_SECONDS:g} s"
    return ""


async def _why(brokers: Brokers, address: str) -> str:
    host, _, port = address.rpartition(":")
    client = brokers.client()
    del client["bootstrap_servers"]
    try:
        connection = await create_conn(host.strip("[]"), int(port), **client)
    except ValueError:
        return "is not host:port"
    except (OSError, KafkaError, TimeoutError) as error:
        return _told(error, brokers, client)
    connection.close()
    return ""


def _told(error: Exception, brokers: Brokers, client: dict[str, Any]) -> str:
    security = brokers.security
    mechanism = client.get("sasl_mechanism")
    match error:
        case ssl.SSLCertVerificationError():
            return (
                f"has a certificate that can't be trusted ({error.verify_message}): see ODRADEK_KAFKA_CA_FILE"
            )
        case ssl.SSLError():
            return f"and TLS don't get on ({error.reason or error}): see ODRADEK_KAFKA_SECURITY_PROTOCOL ({security.security_protocol})"
        case SaslAuthenticationFailed() | AuthenticationFailedError():
            who = f"user {security.username}" if security.username else "the token"
            return f"refused {who} ({mechanism}): see ODRADEK_KAFKA_USERNAME, _PASSWORD_FILE, _TOKEN_FILE"
        case UnsupportedSaslMechanismError():
            return f"does not offer {mechanism}: see ODRADEK_KAFKA_SASL_MECHANISM"
        case IllegalSaslState():
            return (
                f"asks for no login here: see ODRADEK_KAFKA_SECURITY_PROTOCOL ({security.security_protocol})"
            )
        case ConnectionRefusedError():
            return "refuses connections: is Kafka running there?"
        case KafkaError() if security.security_protocol == "PLAINTEXT":
            return f"closed the connection ({error}): does it ask for TLS or a login (ODRADEK_KAFKA_SECURITY_PROTOCOL)?"
    return f"can't be reached: {error or type(error).__name__}"
