"""The task definitions' containers with the real images, a real Kafka and moto's S3: `make test-ecs`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from odradek_ecs.blocks import blocks
from odradek_ecs.config import Config, read_config
from odradek_ecs.names import EXPORTER, TOPICS
from odradek_ecs.task import task_definition
from odradek_runtime.sealing import create_keys
from odradek_schemas.topics import PRODUCER, WORKERS
from tests.docker.stack import BUILD_SECONDS, IMAGES, DockerStack, remove_images, until, variables
from tests.ecs.tasks import Surroundings, Task, docker

EXAMPLE = Path(__file__).parents[2] / "deploy/ecs/example.toml"
WELL_SECONDS = 300.0
pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """The example, with the Kafka that is here."""
    text = EXAMPLE.read_text()
    start, end = text.index("bootstrap_servers"), text.index("# MSK with IAM instead")
    kafka = 'bootstrap_servers = "kafka:19092"\nsecurity_protocol = "PLAINTEXT"\n'
    path = tmp_path_factory.mktemp("ecs") / "ecs.toml"
    path.write_text(text[:start] + kafka + text[end:])
    return read_config(path)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerStack]:
    """Kafka alone, and the images of all that ECS starts."""
    stack = DockerStack(variables(tmp_path_factory.mktemp("data"), (), 1))
    try:
        stack.compose("--profile", "*", "build", "topics", EXPORTER, *WORKERS, seconds=BUILD_SECONDS)
        stack.compose("up", "--detach", "--build", "--wait", "kafka", seconds=BUILD_SECONDS)
        yield stack
    finally:
        stack.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "10")
        remove_images()


@pytest.fixture(scope="module")
def around(
    stack: DockerStack, config: Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Surroundings]:
    project = stack.variables["COMPOSE_PROJECT_NAME"]
    network = f"{project}_private"
    gateway = json.loads(docker("network", "inspect", network))[0]["IPAM"]["Config"][0]["Gateway"]
    server = ThreadedMotoServer(ip_address="0.0.0.0", port=0)
    server.start()
    address = f"http://{gateway}:{server.get_host_and_port()[1]}"
    aws = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL": address}
    place = {"LocationConstraint": config.region}
    boto3.client("s3", region_name=config.region, **own_aws(aws)).create_bucket(
        Bucket="example-odradek-blobs", CreateBucketConfiguration=place
    )
    secrets = _secrets(config, tmp_path_factory.mktemp("keys"))
    yield Surroundings(project, network, IMAGES, stack.variables["ODRADEK_TAG"], secrets, aws)
    server.stop()


def own_aws(variables: Mapping[str, str]) -> Any:
    """What a client of boto3 on this machine is told, for the same AWS."""
    return {name.lower(): value for name, value in variables.items() if name != "AWS_ENDPOINT_URL"} | {
        "endpoint_url": variables["AWS_ENDPOINT_URL"]
    }


def _secrets(config: Config, folder: Path) -> dict[str, str]:
    create_keys(folder / "public", folder / "private")
    own = config.secrets
    assert own.access_secret is not None
    return {
        own.sealing_public_key: (folder / "public").read_text(),
        own.sealing_private_key: (folder / "private").read_text(),
        own.access_secret: "planted-planted-planted-planted-planted",
        config.model_keys["OPENAI_API_KEY"]: "planted",
    }


def task(name: str, config: Config, around: Surroundings) -> Task:
    definition = task_definition(blocks(config)[name], config, ("arn:task", "arn:start"))
    return Task(definition, around)


@pytest.fixture(scope="module")
def topics(config: Config, around: Surroundings) -> None:
    """The job, run as ECS runs it."""
    job = task(TOPICS, config, around)
    try:
        container = job.start()
        assert docker("wait", container) == "0", job.logs()
    finally:
        job.remove()


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_starts_without_rights_is_well_and_stops_in_order(
    name: str, config: Config, around: Surroundings, topics: None
) -> None:
    worker = task(name, config, around)
    try:
        container = worker.start()
        try:
            until(worker.is_well, f"{name} is well", WELL_SECONDS)
        except AssertionError:
            print(worker.logs())
            raise
        assert worker.shell("id -u") == (0, "10001\n")
        assert worker.shell("touch /tmp/x /var/lib/odradek/x")[0] == 0
        assert worker.shell("touch /x")[0] != 0
        assert worker.shell("touch /run/secrets/x")[0] != 0
        capabilities = worker.shell("grep CapBnd /proc/self/status")[1].split()[-1]
        assert int(capabilities, 16) == 0
        _see_secrets(worker, name, config, around)
        docker("stop", "--time", str(worker.serving["stopTimeout"]), container)
        assert docker("inspect", "--format", "{{.State.ExitCode}}", container) == "0", worker.logs()
    finally:
        worker.remove()


def _see_secrets(worker: Task, name: str, config: Config, around: Surroundings) -> None:
    """Its files hold what the secrets hold, and no process has them in its environment."""
    files = blocks(config)[name].files
    assert set(worker.shell("ls /run/secrets")[1].split()) == set(files)
    environments = worker.shell("cat /proc/[0-9]*/environ | tr '\\0' '\\n'")[1]
    for file, arn in files.items():
        code, value = worker.shell(f"cat /run/secrets/{file}")
        assert (code, value) == (0, around.secrets[arn])
        assert value not in environments


def test_the_load_exporter_tells_cloudwatch(config: Config, around: Surroundings, topics: None) -> None:
    exporter = task(EXPORTER, config, around)
    watch = boto3.client("cloudwatch", region_name=config.region, **own_aws(around.variables))

    def told() -> set[tuple[str, str]]:
        """Metric and pool."""
        of = [{"Name": "Deployment", "Value": config.deployment}]
        found = watch.list_metrics(Namespace="Odradek", Dimensions=of)["Metrics"]
        return {(one["MetricName"], pair["Value"]) for one in found for pair in one["Dimensions"]}

    try:
        exporter.start()
        until(
            lambda: {("LoadPerWorker", name) for name in WORKERS} <= told(), "all pools' loads are published"
        )
        assert exporter.is_well()
    except AssertionError:
        print(exporter.logs())
        raise
    finally:
        exporter.remove()


def test_a_worker_says_which_secret_it_misses(config: Config, around: Surroundings, topics: None) -> None:
    producer = task(PRODUCER, config, around)
    producer.preparing["secrets"].clear()
    try:
        container = producer.start()
        assert docker("wait", container) != "0"
        assert "sealing key /run/secrets/sealing_public_key: No such file" in producer.logs()
    finally:
        producer.remove()
