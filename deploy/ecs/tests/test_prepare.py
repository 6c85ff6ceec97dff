"""What runs before a service, run as ECS runs it: the text as the command, the secrets in the environment."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from odradek_ecs.blocks import blocks
from odradek_ecs.config import read_config
from odradek_ecs.task import task_definition

EXAMPLE = Path(__file__).parent.parent / "example.toml"


def run(folders: list[Path], user: int, secrets: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    config = read_config(EXAMPLE)
    task: Any = task_definition(blocks(config)["verifier-worker"], config, ("arn:task", "arn:start"))
    container = task["containerDefinitions"][0]
    assert container["entryPoint"] == ["python3", "-c"]
    command = [sys.executable, "-I", "-c", container["command"][0], *map(str, folders), str(user)]
    return subprocess.run(command, env=secrets, capture_output=True, text=True, timeout=30, check=False)


def test_secrets_become_files_of_the_service_alone(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("secrets", "state", "scratch")]
    for folder in folders:
        folder.mkdir(mode=0o755)
    user = 10001 if os.getuid() == 0 else os.getuid()

    ended = run(folders, user, {"SECRET_FILE_sealing_private_key": "planted", "OTHER": "else"})
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")

    secrets, state, scratch = folders
    assert [path.name for path in secrets.iterdir()] == ["sealing_private_key"]
    file = secrets / "sealing_private_key"
    assert file.read_text() == "planted"
    assert (file.stat().st_mode & 0o777, file.stat().st_uid) == (0o400, user)
    for folder in (secrets, state):
        assert (folder.stat().st_mode & 0o7777, folder.stat().st_uid) == (0o700, user)
    assert scratch.stat().st_mode & 0o7777 == 0o1777


def test_a_volume_that_is_not_there_stops_the_task_and_tells_no_secret(tmp_path: Path) -> None:
    missing = [tmp_path / name for name in ("secrets", "state", "scratch")]
    ended = run(missing, os.getuid(), {"SECRET_FILE_kafka_password": "planted"})
    assert ended.returncode != 0
    assert "No such file" in ended.stderr
    assert "planted" not in ended.stderr
