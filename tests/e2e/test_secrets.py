"""Secrets are planted in a stack, whose values lie on S3; nothing that it leaves behind or says has one of them."""

import asyncio
import base64
import json
import stat
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
import zstandard
from typer.testing import CliRunner

from odradek.models import ModelSettings
from odradek_cli.app import app
from odradek_schemas.rollouts import Limits
from tests.chaos.scenarios.code import row
from tests.support.log import run_requested
from tests.support.s3 import SECRET_KEY, S3Server, refusal, s3_server, times
from tests.support.stack import MISCHIEF, RunningStack, running_stack

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]

MODEL_KEY = "sk-planted-model-key-0123456789"
OF_ENVIRONMENT = {
    "PLANTED_MODEL_KEY": MODEL_KEY,
    "HF_TOKEN": "hf_planted-token-of-somebody-else",
    "PGPASSWORD": "planted-password-of-somebody-else",
}
PROGRAM = """
name = "env-teller"
about = "Tells all that its environment holds"
dialect = "chat"
streams = false
command = ["sh", "-c", "printenv | tr '\\\\n' ' '"]
stdin = "{prompt}"
[environment]
MODEL = "{model}"
OPENAI_BASE_URL = "{base_url}/v1"
OPENAI_API_KEY = "{token}"
[result]
read = "last_line"
"""
REPEATING = ("refusing", "raging", "limiting", "flattering")
"""Models whose server repeats the headers that it was sent."""
MOST_FILES = 200_000


class Repeating(BaseHTTPRequestHandler):
    """Tells whoever asks what they sent: as an error, as text, or as an answer."""

    keys: list[str] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sent = self.headers["Authorization"]
        self.keys.append(sent)
        choice = {"message": {"role": "assistant", "content": f"You sent {sent}"}, "finish_reason": "stop"}
        status, told = {
            "refusing": (401, {"error": {"message": f"Incorrect API key provided: {sent}", "code": sent}}),
            "raging": (500, {"detail": {"headers": dict(self.headers)}}),
            "limiting": (429, {"error": f"too many requests of {sent}"}),
            "flattering": (200, {"choices": [choice]}),
        }[asked["model"]]
        content = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Planted:
    """A stack, its bucket, and all that was said."""

    stack: RunningStack
    s3: S3Server
    bucket: str
    environment: dict[str, str]
    said: list[bytes]

    @property
    def secrets(self) -> dict[str, bytes]:
        keys = self.stack.settings.folder / "keys"
        return {
            **{name: value.encode() for name, value in OF_ENVIRONMENT.items()},
            "the S3 secret key": SECRET_KEY.encode(),
            "the sealing private key": (keys / "sealing-private.key").read_bytes().strip(),
            "the access secret": (keys / "access.secret").read_bytes().strip(),
        }

    def leaks(self, content: bytes) -> set[str]:
        """The secrets in `content`, plain or in base64."""
        return {
            name
            for name, secret in self.secrets.items()
            if secret in content or base64.b64encode(secret).rstrip(b"=")[:-1] in content
        }

    def odradek(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
        """What a command prints; all that it says is kept."""
        environment = {**self.environment, "ODRADEK_DATA_DIR": str(self.stack.settings.folder)}
        done = CliRunner().invoke(app, list(arguments), env=environment)
        self.said.extend((done.stdout.encode(), done.stderr.encode(), repr(done.exception).encode()))
        assert done.exit_code in codes, (arguments, done.stdout, done.stderr, done.exception)
        return done.stdout


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    folder = tmp_path_factory.mktemp("planted")
    programs = folder / "programs"
    programs.mkdir()
    (programs / "env-teller.toml").write_text(PROGRAM)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Repeating)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    models = {
        name: ModelSettings.at(url, model=name, api_key_env="PLANTED_MODEL_KEY", tries=2)
        for name in REPEATING
    }
    with s3_server() as s3:
        bucket = s3.make_bucket("planted")
        environment = {
            **MISCHIEF,
            **OF_ENVIRONMENT,
            **s3.environment,
            "ODRADEK_PROGRAMS_DIR": str(programs),
        }
        with running_stack(
            folder, environment, local_model=False, blob_store=f"s3://{bucket}/blobs", more_models=models
        ) as stack:
            yield Planted(stack, s3, bucket, environment, [])
    server.shutdown()
    server.server_close()


def played(
    planted: Planted, environment: str, model: str, rows: list[Any], folder: Path, **wishes: Any
) -> str:
    """A run, played to its end."""
    path = folder / f"{model}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))

    async def play() -> str:
        run = await planted.stack.log.start(run_requested(environment, model, path, **wishes))
        await planted.stack.log.finished(run, 150)
        return run

    return asyncio.run(play())


def test_large_values_lie_in_the_bucket_and_a_run_plays_with_them(planted: Planted, tmp_path: Path) -> None:
    """The bucket fails meanwhile, as one that repeats what it was sent."""
    denied = lambda: refusal(403, "AccessDenied", f"you sent {SECRET_KEY}")  # noqa: E731
    planted.s3.fault = times(2, denied, "PUT")
    run = played(
        planted, "chaos", "planned", [row(("recite", {"kib": 400}))], tmp_path, samples=2,
        limits=Limits(rollout_seconds=200, model_seconds=100, tool_seconds=100),
    )  # fmt: skip
    results = json.loads(planted.odradek("results", run, "--json"))
    assert [rollout["status"] for rollout in results["rollouts"]] == ["completed"] * 2
    kept = planted.s3.objects(planted.bucket)
    assert {key.split("/")[1] for key in kept} == {"days", "long"}
    assert (
        max(len(zstandard.ZstdDecompressor().decompressobj().decompress(blob)) for blob in kept.values())
        > 400 << 10
    )
    audit = json.loads(planted.odradek("audit", run, "--json"))
    assert audit["verdict"] == "clean", audit
    for command in (["show", f"{run}/0/0"], ["export", run, "--output", str(tmp_path / "out.jsonl")]):
        planted.odradek(*command)
    assert not planted.leaks((tmp_path / "out.jsonl").read_bytes())
    assert not (planted.stack.settings.folder / "blobs").exists()


def test_no_secret_is_left_behind_or_said(planted: Planted, shared_data: Path, tmp_path: Path) -> None:
    """Caught: a key that a provider repeats in its error, a secret in a program's environment, in arguments, in a log."""
    given = str(shared_data / "mcqa" / "example.jsonl")
    runs = []
    for model in REPEATING:
        planted.odradek("run", "mcqa", "--model", model, "--input", given, "--limit", "2", codes=(0, 5))
        runs.append(json.loads(planted.odradek("results", "--json"))["run_id"])
    task = {
        "id": "tell",
        "task": {"instruction": "Tell.", "files": {"question.txt": "?"}},
        "answer": {"expected_files": {"answer.txt": "!"}},
    }
    program = played(planted, "workspace", "instant", [task], tmp_path, harness="program:env-teller")
    told = planted.odradek("show", f"{program}/0/0")
    assert "PATH=" in told, "the program has told its environment"
    for run in [*runs, program]:
        for command in (
            ["show", f"{run}/0/0"],
            ["status", run],
            ["results", run, "--rollouts"],
            ["watch", run],
        ):
            planted.odradek(*command, codes=(0, 5))
        planted.odradek("audit", run)
        planted.odradek("export", run, "--output", str(tmp_path / f"{run}.jsonl"))
        planted.said.append((tmp_path / f"{run}.jsonl").read_bytes())
    for command in (["status"], ["status", "--json"], ["runs"], ["env"], ["doctor", "--json"]):
        planted.odradek(*command, codes=(0, 6))
    assert set(Repeating.keys) == {f"Bearer {MODEL_KEY}"}
    assert b"Incorrect API key provided: Bearer ***" in b"".join(planted.said)
    assert not {leak for said in planted.said for leak in planted.leaks(said)}
    assert _left_on_disk(planted) == {}
    assert _left_in_bucket(planted) == {}
    for part in planted.stack.state.parts:
        assert not planted.leaks(_metrics(part.port)), part.name


def test_only_key_files_hold_secrets_and_only_their_owner_reads_them(planted: Planted) -> None:
    for name in ("sealing-private.key", "access.secret"):
        mode = (planted.stack.settings.folder / "keys" / name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600, name


def test_arguments_of_processes_hold_no_secret_and_all_listen_on_loopback(planted: Planted) -> None:
    supervisor = psutil.Process(planted.stack.state.supervisor_pid)
    processes = [supervisor, *supervisor.children(recursive=True)]
    listening = set()
    for process in processes:
        assert not planted.leaks("\0".join(process.cmdline()).encode()), process
        listening |= {c.laddr for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    ours = {part.port for part in planted.stack.state.parts} | {
        int(planted.stack.state.gateway_url.rpartition(":")[2])
    }
    assert ours <= {address.port for address in listening}
    assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def _left_on_disk(planted: Planted) -> dict[str, set[str]]:
    """The files that hold secrets, but for the keys' own."""
    folder = planted.stack.settings.folder
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "keys"]
    assert 0 < len(files) < MOST_FILES
    contents = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    segments = b"".join(content for name, content in contents.items() if name.startswith("kafka/log/"))
    assert b"Incorrect API key provided: Bearer ***" in segments, "segments can be searched"
    assert any(name.startswith("logs/") and content for name, content in contents.items())
    return {name: found for name, content in contents.items() if (found := planted.leaks(content))}


def _left_in_bucket(planted: Planted) -> dict[str, set[str]]:
    unpacked = {
        key: zstandard.ZstdDecompressor().decompressobj().decompress(blob)
        for key, blob in planted.s3.objects(planted.bucket).items()
    }
    assert unpacked
    return {key: found for key, content in unpacked.items() if (found := planted.leaks(content))}


def _metrics(port: int) -> bytes:
    """What a part tells at /metrics, if it speaks HTTP at all."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            told: bytes = answer.read()
            return told
    except OSError:
        return b""
