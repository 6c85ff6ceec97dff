import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from odradek_training.announcing import PolicyAnnouncer, PolicyNotAnnounced


class Gateway(HTTPServer):
    """Takes one path from one token, as the model gateway does."""

    status = 200
    requests: list[Any]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Gateway

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], body))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b'{"error": "no such model"}')

    def log_message(self, *told: Any) -> None:
        """Not into the tests' output."""


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with Gateway(("127.0.0.1", 0), Handler) as server:
        server.requests = []
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


def test_a_version_is_announced_as_the_gateway_takes_it(gateway: Gateway) -> None:
    PolicyAnnouncer(f"{gateway.url}/", "a-token", "policy")("step-7")
    assert gateway.requests == [("/v1/policy", "Bearer a-token", {"model": "policy", "version": "step-7"})]


def test_a_refusal_says_why(gateway: Gateway) -> None:
    gateway.status = 404
    with pytest.raises(PolicyNotAnnounced, match=r"version 7 of 'policy'.*404.*no such model"):
        PolicyAnnouncer(gateway.url, "a-token", "policy")("7")


def test_a_gateway_that_is_not_there_is_told() -> None:
    with pytest.raises(PolicyNotAnnounced, match=r"127\.0\.0\.1:9/v1/policy.*odradek status"):
        PolicyAnnouncer("http://127.0.0.1:9", "a-token", "policy", within=5)("7")
