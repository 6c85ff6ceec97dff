"""The published contracts are what the code says."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from odradek_schemas.generate import FOLDER, event_types, stale, write
from odradek_schemas.topics import TOPICS, Topic

ASYNCAPI: dict[str, Any] = yaml.safe_load((FOLDER / "asyncapi.yaml").read_text(encoding="utf-8"))


def test_committed_files_are_fresh() -> None:
    assert stale() == [], "run `python -m odradek_schemas.generate` and commit the result"


def test_a_changed_a_missing_and_a_left_over_file_are_stale(tmp_path: Path) -> None:
    write(tmp_path)
    assert stale(tmp_path) == []
    (tmp_path / "json/RunRequested.json").write_text("{}")
    (tmp_path / "asyncapi.yaml").unlink()
    (tmp_path / "json/RunWished.json").write_text("{}")
    assert stale(tmp_path) == ["asyncapi.yaml", "json/RunRequested.json", "json/RunWished.json"]
    write(tmp_path)
    assert stale(tmp_path) == []


def test_generation_does_not_depend_on_the_process() -> None:
    code = "import sys; from odradek_schemas.generate import documents; sys.stdout.write(repr(documents()))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


@pytest.mark.parametrize("name", sorted(event_types()))
def test_each_schema_is_a_schema_and_takes_the_documented_example(name: str) -> None:
    schema = json.loads((FOLDER / f"json/{name}.json").read_text(encoding="utf-8"))
    jsonschema_rs.meta.validate(schema)
    for example in ASYNCAPI["components"]["messages"][name]["examples"]:
        jsonschema_rs.Draft202012Validator(schema).validate(example["payload"])


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (value for key, value in node.items() if key == "$ref")
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from references(child)


def test_every_reference_leads_somewhere() -> None:
    for reference in set(references(ASYNCAPI)):
        if reference.startswith("./"):
            assert (FOLDER / reference).is_file(), reference
            continue
        node = ASYNCAPI
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_each_topic_is_a_channel_with_its_writers_and_readers(topic: Topic) -> None:
    channel = ASYNCAPI["channels"][topic.name]
    assert set(channel["messages"]) == topic.types
    operations = {(o["action"], o["tags"][0]["name"]) for o in _operations_of(topic)}
    assert operations == {("send", s) for s in topic.written_by} | {("receive", s) for s in topic.read_by}


def _operations_of(topic: Topic) -> list[dict[str, Any]]:
    channel = {"$ref": f"#/channels/{topic.name}"}
    return [o for o in ASYNCAPI["operations"].values() if o["channel"] == channel]


def test_the_package_needs_pydantic_alone() -> None:
    code = (
        "import sys, odradek_schemas.codec, odradek_schemas.topics, odradek_schemas.generate;"
        "print([m for m in ('yaml', 'hypothesis', 'aiokafka') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
