"""An S3 over real HTTP (moto's), in a thread of the test, which fails when it is told to."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Thread
from typing import Any

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

ACCESS_KEY, SECRET_KEY = "AKIAODRADEKTEST", "a-secret-key-of-the-tests"
Fault = Callable[[Request], Response | None]
"""What is answered instead; None: what S3 answers."""


class S3Server:
    """`fault`, when it is set, sees each request first; `requests` are those that S3 itself answered."""

    def __init__(self, port: int = 0) -> None:
        self._s3 = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", port, self._answer, threaded=True, request_handler=_Quiet)
        self.port = self._server.server_port
        self.fault: Fault | None = None
        self.requests: list[str] = []
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """By which boto3 finds it."""
        return {
            "AWS_ENDPOINT_URL_S3": self.url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @cached_property
    def client(self) -> Any:
        """A plain client, to look at what lies there."""
        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )

    def make_bucket(self, name: str) -> str:
        self.client.create_bucket(Bucket=name)
        return name

    def objects(self, bucket: str) -> dict[str, bytes]:
        """All that lies in a bucket, by key."""
        client = self.client
        keys = [each["Key"] for each in client.list_objects_v2(Bucket=bucket).get("Contents", [])]
        return {key: client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ)
        instead = self.fault(request) if self.fault else None
        if instead is not None:
            return instead(environ, start_response)
        self.requests.append(f"{request.method} {request.path}")
        answer: Iterable[bytes] = self._s3(environ, start_response)
        return answer


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_: Any) -> None:
        """Nothing."""


def refusal(status: int, code: str, message: str = "as the test wants it") -> Response:
    """An error as S3 words it."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return Response(body, status, content_type="application/xml")


def times(number: int, answer: Callable[[], Response], method: str = "") -> Fault:
    """Answers so to the first `number` requests (of `method`), and leaves the others alone."""
    left = number

    def fault(request: Request) -> Response | None:
        nonlocal left
        if left and method in ("", request.method):
            left -= 1
            return answer()
        return None

    return fault


@contextmanager
def s3_server(port: int = 0) -> Iterator[S3Server]:
    server = S3Server(port)
    try:
        yield server
    finally:
        server.stop()
