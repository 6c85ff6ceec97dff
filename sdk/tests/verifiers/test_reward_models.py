"""Reward models over HTTP: each way to fail has its kind, and none is a score."""

import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from odradek import Message, Unscored
from odradek.verifiers.reward_models import RewardModel
from odradek_schemas.failures import FailureKind

TALK = [Message(role="user", content="Hi"), Message(role="assistant", content="Hello")]


@contextmanager
def serving(*replies):
    """A server that gives each request the next of `replies`, (status, body); the last one for good."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, dict(self.headers), json.loads(body)))
            status, content = replies[min(len(seen), len(replies)) - 1]
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/score?x=1", seen
    finally:
        server.shutdown()
        server.server_close()


def failed(model):
    with pytest.raises(Unscored) as raised:
        model.rate(TALK)
    return raised.value.failure


def test_a_conversation_is_rated(monkeypatch):
    monkeypatch.setenv("SCORER_KEY", "secret")
    with serving((200, b'{"data": [{"score": -1.5}]}')) as (url, seen):
        model = RewardModel(
            url, model="rm", score="data.0.score", key_variable="SCORER_KEY", body={"pool": "last"}
        )
        assert model.rate(TALK) == -1.5
    [(path, headers, body)] = seen
    assert path == "/score?x=1"
    assert headers["Authorization"] == "Bearer secret"
    assert body == {
        "pool": "last",
        "model": "rm",
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    }


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, b"", FailureKind.AUTH),
        (403, b"", FailureKind.AUTH),
        (404, b"", FailureKind.INVALID_REQUEST),
        (302, b"", FailureKind.INVALID_REQUEST),
        (429, b"", FailureKind.RATE_LIMITED),
        (500, b"", FailureKind.UPSTREAM_UNAVAILABLE),
        (200, b"", FailureKind.MALFORMED_REPLY),
        (200, b"{}", FailureKind.MALFORMED_REPLY),
        (200, b"[1]", FailureKind.MALFORMED_REPLY),
        (200, b'{"score": "1"}', FailureKind.MALFORMED_REPLY),
        (200, b'{"score": true}', FailureKind.MALFORMED_REPLY),
        (200, b'{"score": NaN}', FailureKind.MALFORMED_REPLY),
        (200, b'{"score": null}', FailureKind.MALFORMED_REPLY),
        (200, b" " * (2 << 20), FailureKind.MALFORMED_REPLY),
    ],
)
def test_each_failure_has_its_kind(status, body, kind):
    with serving((status, body)) as (url, _):
        failure = failed(RewardModel(url, tries=1))
    assert failure.kind is kind
    assert url in failure.message


def test_what_may_pass_is_tried_again():
    with serving((503, b""), (429, b""), (200, b'{"score": 1}')) as (url, seen):
        assert RewardModel(url).rate(TALK) == 1.0
    assert len(seen) == 3


def test_tries_are_bounded_and_what_will_not_pass_is_tried_once():
    with serving((503, b"")) as (url, seen):
        assert failed(RewardModel(url, tries=2)).kind is FailureKind.UPSTREAM_UNAVAILABLE
        assert len(seen) == 2
    with serving((404, b"")) as (url, seen):
        failed(RewardModel(url))
        assert len(seen) == 1


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        failure = failed(RewardModel(f"http://127.0.0.1:{free.getsockname()[1]}/", tries=1))
    assert failure.kind is FailureKind.UPSTREAM_UNAVAILABLE


def test_a_server_that_says_nothing_is_waited_for_in_vain():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        failure = failed(RewardModel(f"http://127.0.0.1:{silent.getsockname()[1]}/", seconds=0.2))
    assert failure.kind is FailureKind.MODEL_DEADLINE


def test_a_key_that_is_not_there(monkeypatch):
    monkeypatch.delenv("SCORER_KEY", raising=False)
    with serving((200, b'{"score": 1}')) as (url, seen):
        failure = failed(RewardModel(url, key_variable="SCORER_KEY"))
    assert (failure.kind, seen) == (FailureKind.AUTH, [])
    assert "SCORER_KEY" in failure.message


def test_a_server_that_repeats_the_key_is_not_repeated(monkeypatch):
    """Caught: a key in a failure, which is kept in the log for ever."""
    monkeypatch.setenv("SCORER_KEY", "sk-planted-key")
    for status in (401, 200):
        with serving((status, b'"bad key: Bearer sk-planted-key"')) as (url, seen):
            failure = failed(RewardModel(url, key_variable="SCORER_KEY", tries=1))
        assert seen[0][1]["Authorization"] == "Bearer sk-planted-key"
        assert "sk-planted-key" not in failure.message


@pytest.mark.parametrize(
    "bad", [{"url": "ftp://x"}, {"url": "http://x", "tries": 0}, {"url": "http://x", "seconds": 0}]
)
def test_models_are_checked(bad):
    with pytest.raises(ValueError, match="reward model"):
        RewardModel(**bad)
