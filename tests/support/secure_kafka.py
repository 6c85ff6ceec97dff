"""A real broker that asks for TLS and for a login: SASL over TLS on one port, client certificates on another."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from odradek_local.kafka import KafkaBroker, Secured
from odradek_local.ports import HOST, free_port

USER = "odradek"
PASSWORD = "planted-kafka-password-7f3a"
_LOGIN_MODULES = {
    "plain": f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}"',
    "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule required",
    "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule required",
    "oauthbearer": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required",
}


@dataclass(frozen=True)
class SecureKafka:
    """Where it listens, and the files that its clients need."""

    sasl: str
    tls: str
    ca: Path
    client: Path
    password: Path
    token: Path

    def scram(self, mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """The settings of a worker that logs in by password."""
        return {
            "ODRADEK_BOOTSTRAP_SERVERS": self.sasl,
            "ODRADEK_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "ODRADEK_KAFKA_CA_FILE": str(self.ca),
            "ODRADEK_KAFKA_SASL_MECHANISM": mechanism,
            "ODRADEK_KAFKA_USERNAME": USER,
            "ODRADEK_KAFKA_PASSWORD_FILE": str(self.password),
        }

    def bearer(self) -> dict[str, str]:
        """... by a token."""
        return {
            "ODRADEK_BOOTSTRAP_SERVERS": self.sasl,
            "ODRADEK_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "ODRADEK_KAFKA_CA_FILE": str(self.ca),
            "ODRADEK_KAFKA_SASL_MECHANISM": "OAUTHBEARER",
            "ODRADEK_KAFKA_TOKEN_FILE": str(self.token),
        }

    def certificate(self) -> dict[str, str]:
        """... by a certificate."""
        return {
            "ODRADEK_BOOTSTRAP_SERVERS": self.tls,
            "ODRADEK_KAFKA_SECURITY_PROTOCOL": "SSL",
            "ODRADEK_KAFKA_CA_FILE": str(self.ca),
            "ODRADEK_KAFKA_CERTIFICATE_FILE": str(self.client),
        }


@contextmanager
def secure_kafka(folder: Path) -> Iterator[SecureKafka]:
    """One broker with its data, and its clients' files, in `folder`."""
    found = _files(folder)
    broker = KafkaBroker(
        folder / "kafka",
        port=0,
        secured=Secured(
            {"SASL_SSL": found.sasl, "SSL": found.tls},
            _properties(folder),
            [
                word
                for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
                for word in ("--add-scram", f"{mechanism}=[name={USER},password={PASSWORD}]")
            ],
        ),
    )
    broker.start()
    try:
        broker.wait_healthy()
        yield found
    finally:
        broker.stop()


def _files(folder: Path) -> SecureKafka:
    folder.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    (folder / "broker.pem").write_bytes(_pkcs8(authority.issue_cert(HOST)))
    authority.issue_cert("worker@odradek").private_key_and_cert_chain_pem.write_to_path(folder / "client.pem")
    (folder / "password").write_text(PASSWORD + "\n")
    (folder / "token").write_text(unsecured_token(USER))
    return SecureKafka(
        f"{HOST}:{free_port()}",
        f"{HOST}:{free_port()}",
        *(folder / name for name in ("ca.pem", "client.pem", "password", "token")),
    )


def _pkcs8(issued: trustme.LeafCert) -> bytes:
    """Key and certificates as Java reads them: the key in PKCS#8 (RFC 5958)."""
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    packed = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return packed + b"".join(part.bytes() for part in issued.cert_chain_pems)


def unsecured_token(subject: str, seconds: float = 3600) -> str:
    """A JSON Web Token without a signature (RFC 7515, appendix A.5), which Kafka takes where it is told of no issuer."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + seconds})
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts) + "."
    )


def _properties(folder: Path) -> dict[str, str]:
    return {
        "sasl.enabled.mechanisms": ",".join(mechanism.upper() for mechanism in _LOGIN_MODULES),
        "listener.name.ssl.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.pem"),
        **{
            f"listener.name.sasl_ssl.{mechanism}.sasl.jaas.config": f"{module};"
            for mechanism, module in _LOGIN_MODULES.items()
        },
    }
