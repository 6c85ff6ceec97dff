"""AWS as moto plays it, with all that the example file names; every request is checked as strictly as AWS's models say."""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.model import ListShape, MapShape, OperationModel, Shape, StringShape, StructureShape
from moto import mock_aws

from odradek_ecs.aws import Aws
from odradek_ecs.config import Config, read_config
from odradek_ecs.names import Names
from odradek_ecs.stack import EVERYTHING

os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")  # half a second, for nothing that is used here

EXAMPLE = Path(__file__).parent.parent / "example.toml"
REGION = "eu-central-1"


def complaints(shape: Shape, value: Any, where: str) -> Iterator[str]:
    """What AWS's own model of a request has against a value: bounds, patterns and enumerations, which boto3 lets pass."""
    size = len(value) if isinstance(value, str | list) else value
    limits = shape.metadata
    if isinstance(size, int | float) and not limits.get("min", size) <= size <= limits.get("max", size):
        yield f"{where}: {size} is not in {limits.get('min')}..{limits.get('max')}"
    if isinstance(shape, StringShape):
        if shape.enum and value not in shape.enum:
            yield f"{where}: {value!r} is none of {shape.enum}"
        if (pattern := readable(limits.get("pattern"))) and not pattern.fullmatch(value):
            yield f"{where}: {value!r} is not like {pattern.pattern}"
    elif isinstance(shape, StructureShape):
        for name, inner in value.items():
            yield from complaints(shape.members[name], inner, f"{where}.{name}")
    elif isinstance(shape, ListShape):
        for inner in value:
            yield from complaints(shape.member, inner, f"{where}[]")
    elif isinstance(shape, MapShape):
        for inner in value.values():
            yield from complaints(shape.value, inner, f"{where}{{}}")


def readable(pattern: str | None) -> re.Pattern[str] | None:
    """A pattern, where Python reads it (some are Java's)."""
    try:
        return re.compile(pattern, re.DOTALL) if pattern else None
    except re.error:
        return None


class Calls:
    """Every request that was made, in order; one that AWS's models have something against is an error."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []
        self.altered: dict[str, Callable[[dict[str, Any]], None]] = {}

    def answer(self, parsed: dict[str, Any], model: OperationModel, **_more: Any) -> None:
        """Let a test alter what is answered to an operation."""
        self.altered.get(model.name, lambda answer: None)(parsed)

    def __call__(self, params: dict[str, Any], model: OperationModel, **_more: Any) -> None:
        name = f"{str(model.service_model.service_id).lower().replace(' ', '-')}.{model.name}"
        if model.input_shape is not None:
            against = list(complaints(model.input_shape, params, name))
            assert not against, against
        self.made.append((name, params))

    def changes(self) -> list[str]:
        """Those that change something."""
        asks = re.compile(r"\.(Describe|List|Get|Head)")
        return [name for name, _params in self.made if not asks.search(name)]

    def of(self, name: str) -> list[dict[str, Any]]:
        return [params for called, params in self.made if called == name]


@pytest.fixture(scope="module")
def session() -> boto3.Session:
    """One for all tests: it keeps AWS's models, which take long to read."""
    boto3.setup_default_session()
    assert boto3.DEFAULT_SESSION is not None
    return boto3.DEFAULT_SESSION


@pytest.fixture
def calls(session: boto3.Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    """AWS, empty but for a default network. Gives what it is asked."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws(config={"core": {"reset_boto3_session": False}}):
        calls = Calls()
        session.events.register("provide-client-params", calls)
        session.events.register("after-call", calls.answer)
        yield calls
        session.events.unregister("provide-client-params", calls)
        session.events.unregister("after-call", calls.answer)


@pytest.fixture
def world(calls: Calls, tmp_path: Path) -> Path:
    """The example's file with the ids of what is there: subnets, a group, a bucket, images and secrets."""
    text = EXAMPLE.read_text()
    ec2 = boto3.client("ec2")
    subnets = ec2.describe_subnets()["Subnets"]
    group = ec2.create_security_group(GroupName="kafka", Description="-", VpcId=subnets[0]["VpcId"])[
        "GroupId"
    ]
    text = text.replace("subnet-0123456789abcdef0", subnets[0]["SubnetId"])
    text = text.replace("subnet-0123456789abcdef1", subnets[1]["SubnetId"]).replace(
        "sg-0123456789abcdef0", group
    )
    boto3.client("s3").create_bucket(
        Bucket="example-odradek-blobs", CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    for target in {*EVERYTHING, "cli"} - {"topics"}:
        push(target, "0.1.0")
    for name in sorted({arn.split(":")[6] for arn in re.findall(r'"(arn:aws:secretsmanager:[^"]+)"', text)}):
        made = boto3.client("secretsmanager").create_secret(
            Name=name.removesuffix("-AbCdEf"), SecretString="planted"
        )
        text = text.replace(f":{name}", f":{made['ARN'].split(':')[6]}")
    calls.made.clear()
    path = tmp_path / "odradek-ecs.toml"
    path.write_text(text)
    return path


@pytest.fixture(name="push")
def _push(world: Path) -> Callable[[str, str], None]:
    return push


def push(target: str, tag: str) -> None:
    """Put an image of that name into the registry."""
    ecr, repository = boto3.client("ecr"), f"odradek/{target}"
    if not any(one["repositoryName"] == repository for one in ecr.describe_repositories()["repositories"]):
        ecr.create_repository(repositoryName=repository)
    kind = "application/vnd.oci.image.manifest.v1+json"
    content = {"schemaVersion": 2, "mediaType": kind, "config": {"digest": f"{target}:{tag}"}, "layers": []}
    ecr.put_image(repositoryName=repository, imageManifest=json.dumps(content), imageTag=tag)


@pytest.fixture
def config(world: Path) -> Config:
    return read_config(world)


@pytest.fixture
def aws(config: Config) -> Aws:
    return Aws(config.region, Names(config.deployment), pause=lambda seconds: None)


@pytest.fixture
def edit(world: Path) -> Callable[[str, str], Config]:
    """Change the file, and read it again."""

    def change(old: str, new: str) -> Config:
        text = world.read_text()
        assert old in text
        world.write_text(text.replace(old, new))
        return read_config(world)

    return change
