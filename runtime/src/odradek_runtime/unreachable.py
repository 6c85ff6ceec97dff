"""Why Kafka can't be reached. A client that starts only says that none of its addresses will do."""

import asyncio
import ssl

from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

from odradek_runtime.brokers import Brokers
from odradek_runtime.kafka_security import KafkaSecurity

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
    except (OSError, KafkaError, TimeoutError) as error:
        return _told(error, brokers.security)
    try:
        welcome = await _welcome(connection)
    except (OSError, KafkaError, TimeoutError) as error:
        return _told(error, brokers.security)
    finally:
        connection.close()
    if welcome:
        return ""
    if brokers.security.sasl:
        return _told(SaslAuthenticationFailed(), brokers.security)
    return "answers, and knows of no broker: it is still starting"


async def _welcome(connection: AIOKafkaConnection) -> bool:
    """Whether a first question, about no topic, is answered well.

    A token that is refused shows only now: aiokafka takes any answer to it for a welcome. Who is not let in learns of
    no broker.
    """
    return bool((await connection.send(MetadataRequest([]))).brokers)


def _told(error: Exception, security: KafkaSecurity) -> str:
    mechanism = security.sasl_mechanism
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
        case IllegalSaslStateError():
            return (
                f"asks for no login here: see ODRADEK_KAFKA_SECURITY_PROTOCOL ({security.security_protocol})"
            )
        case ConnectionRefusedError():
            return "refuses connections: is Kafka running there?"
        case KafkaConnectionError():
            return f"closed the connection: does it speak {security.security_protocol} (ODRADEK_KAFKA_SECURITY_PROTOCOL)?"
    return f"can't be reached: {error or type(error).__name__}"
