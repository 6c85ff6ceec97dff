"""What AWS would be asked for: pure functions of the file. No moto."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic_settings import BaseSettings

from odradek_agent_worker.settings import AgentSettings
from odradek_ecs.blocks import Block, blocks
from odradek_ecs.config import Config, read_config
from odradek_ecs.fargate import MEMORY
from odradek_ecs.names import EXPORTER, SERVICES, TOPICS, Names, Place
from odradek_ecs.scaling import track, wake, wake_alarm
from odradek_ecs.services import callers
from odradek_ecs.stack import EVERYTHING, steps
from odradek_env_worker.settings import EnvSettings
from odradek_model_gateway.settings import GatewaySettings, load_settings
from odradek_runtime.kafka_security import KafkaSecurity
from odradek_runtime.settings import SealingKeys, WorkerSettings
from odradek_scaling.cloudwatch import NAMESPACE, metrics_of
from odradek_scaling.load import PoolLoad
from odradek_scaling.settings import ExporterSettings
from odradek_schemas.topics import AGENT, ENV, GATEWAY, PRODUCER, VERIFIER, WORKERS
from odradek_task_producer.settings import ProducerSettings
from odradek_verifier_worker.settings import VerifierSettings

EXAMPLE = Path(__file__).parent.parent / "example.toml"
PLACE = Place("aws", "123456789012", "eu-central-1", "vpc-1")
SETTINGS: Mapping[str, type[BaseSettings]] = {
    PRODUCER: ProducerSettings,
    AGENT: AgentSettings,
    ENV: EnvSettings,
    VERIFIER: VerifierSettings,
    GATEWAY: GatewaySettings,
    EXPORTER: ExporterSettings,
    TOPICS: WorkerSettings,  # what the CLI reads of the environment are names of these
}
IAM = """
sasl_mechanism = "AWS_MSK_IAM"
msk_cluster = "arn:aws:kafka:eu-central-1:123456789012:cluster/example/01234567-89ab-cdef-0123-456789abcdef-1"
"""


class Everything(dict[str, str]):
    """Ids for all that is asked after."""

    def __missing__(self, key: str) -> str:
        return f"id-of-{key}"


@pytest.fixture(scope="module")
def config() -> Config:
    return read_config(EXAMPLE)


@pytest.fixture(scope="module")
def on_msk_with_iam(tmp_path_factory: pytest.TempPathFactory) -> Config:
    text = EXAMPLE.read_text()
    start, end = text.index("sasl_mechanism"), text.index("# MSK with IAM instead")
    path = tmp_path_factory.mktemp("iam") / "ecs.toml"
    path.write_text(text[:start] + IAM + text[end:])
    return read_config(path)


def asked(config: Config, kind: str) -> dict[str, Any]:
    """What is asked for things of a kind, by name."""
    return {step.name: step.build(Everything()) for step in steps(config, PLACE) if step.kind == kind}


def containers(config: Config) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each service with its preparing and its own container."""
    for name, task in asked(config, "task definition").items():
        preparing, serving = task["containerDefinitions"]
        yield name, preparing, serving


def statements(config: Config, role: str) -> list[dict[str, Any]]:
    policy = asked(config, "role")[role]["policy"]
    return [] if policy is None else list(policy["Statement"])


def known(settings: type[BaseSettings]) -> set[str]:
    """The environment variables that a settings class reads."""
    prefix = settings.model_config.get("env_prefix", "")
    return {f"{prefix}{name}".upper() for name in settings.model_fields}


def enter(block: Block, monkeypatch: pytest.MonkeyPatch, at: Path) -> None:
    """Be in a service's container: its settings, and its secrets' files."""
    for name in block.files:
        (at / name).write_text("x" * 32)
    for variable, value in block.environment.items():
        monkeypatch.setenv(variable, value.replace("/run/secrets", str(at)))


@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("login", ["SCRAM-SHA-512", "AWS_MSK_IAM"])
def test_every_setting_is_one_that_the_service_has(
    config: Config,
    on_msk_with_iam: Config,
    name: str,
    login: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    deployment = config if login == "SCRAM-SHA-512" else on_msk_with_iam
    block = blocks(deployment)[name]
    ours = {variable for variable in block.environment if variable.startswith("ODRADEK_")}
    assert ours - known(SETTINGS[name]) - known(SealingKeys) - known(KafkaSecurity) == set()

    enter(block, monkeypatch, tmp_path)
    settings: Any = SETTINGS[name]()
    assert settings.bootstrap_servers == deployment.kafka.bootstrap_servers
    assert settings.topic_prefix == deployment.topic_prefix
    assert KafkaSecurity().sasl_mechanism == login
    for file in block.files:
        assert str(tmp_path / file) in {os.environ[variable] for variable in ours}, (
            "a secret that nobody reads"
        )


def test_the_gateway_reads_the_models_of_the_file(
    config: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    enter(blocks(config)[GATEWAY], monkeypatch, tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "of the secret")
    settings = load_settings()
    assert settings.models == dict(config.models)
    assert settings.front_port == 8400


def test_a_task_has_a_size_that_fargate_has_and_stops_in_its_time(config: Config) -> None:
    for name, task in asked(config, "task definition").items():
        assert int(task["memory"]) in MEMORY[int(task["cpu"])]
        assert task["requiresCompatibilities"] == ["FARGATE"]
        assert task["networkMode"] == "awsvpc"
        reserved = sum(container["memoryReservation"] for container in task["containerDefinitions"])
        assert reserved <= int(task["memory"])
        stop = task["containerDefinitions"][1]["stopTimeout"]
        assert stop <= 120, "Fargate's most"
        drain = blocks(config)[name].environment.get("ODRADEK_DRAIN_TIMEOUT_SECONDS")
        assert drain is None or float(drain) < stop, "what is in flight is committed before the kill"


def test_a_service_has_no_rights(config: Config) -> None:
    for name, preparing, serving in containers(config):
        assert serving["user"] == "10001", name
        assert serving["readonlyRootFilesystem"], name
        assert serving["linuxParameters"]["capabilities"] == {"drop": ["ALL"]}, name
        assert {mount["containerPath"] for mount in serving["mountPoints"] if not mount["readOnly"]} == {
            "/tmp",
            "/var/lib/odradek",
        }
        assert serving["dependsOn"] == [{"containerName": preparing["name"], "condition": "SUCCESS"}]
        assert not preparing["essential"], "it ends, and its end is not the task's"
        assert {"CHOWN", "DAC_OVERRIDE", "FOWNER"}.isdisjoint(
            preparing["linuxParameters"]["capabilities"]["drop"]
        )
        assert preparing["readonlyRootFilesystem"]


def test_who_has_which_secret(config: Config) -> None:
    files = {name: set(block.files) - {"kafka_password"} for name, block in blocks(config).items()}
    assert files == {
        PRODUCER: {"sealing_public_key"},
        AGENT: set(),
        ENV: {"access_secret"},
        VERIFIER: {"sealing_private_key"},
        GATEWAY: {"access_secret"},
        EXPORTER: set(),
        TOPICS: set(),
    }
    for name, _preparing, serving in containers(config):
        arns = [secret["valueFrom"] for secret in serving["secrets"]]
        assert arns == ([config.model_keys["OPENAI_API_KEY"]] if name == GATEWAY else []), name


def test_secrets_are_named_by_arn_alone(config: Config) -> None:
    for _name, preparing, serving in containers(config):
        for secret in (*preparing["secrets"], *serving["secrets"]):
            assert secret["valueFrom"].startswith("arn:aws:secretsmanager:")
        assert "environment" not in preparing
        assert not [
            one for one in serving["environment"] if "PASSWORD" in one["name"] and "FILE" not in one["name"]
        ]


def test_a_role_reaches_what_its_service_needs_and_no_more(config: Config) -> None:
    everywhere = {
        (name, action)
        for name in EVERYTHING
        for role in (Names("prod").of(name), Names("prod").execution_role(name))
        for statement in statements(config, role)
        if statement["Resource"] == ["*"]
        for action in statement["Action"]
    }
    assert everywhere == {
        (EXPORTER, "cloudwatch:PutMetricData"),
        (EXPORTER, "servicediscovery:DiscoverInstances"),
        *((name, "ecr:GetAuthorizationToken") for name in EVERYTHING),
    }
    for name in EVERYTHING:
        own = statements(config, Names("prod").of(name))
        blobs = [one for one in own if one["Action"] == ["s3:GetObject", "s3:PutObject"]]
        assert [one["Resource"] for one in blobs] == (
            [["arn:aws:s3:::example-odradek-blobs/prod/*"]] if name in WORKERS else []
        )
        start = statements(config, Names("prod").execution_role(name))
        read = {
            arn
            for one in start
            if "secretsmanager:GetSecretValue" in one["Action"]
            for arn in one["Resource"]
        }
        block = blocks(config)[name]
        assert read == {arn.split(":public_key")[0].split(":private_key")[0].split(":password")[0]
                        for arn in (*block.files.values(), *block.variables.values())}  # fmt: skip
        assert not any("*" in action for one in (*own, *start) for action in one["Action"])


def test_with_iam_only_the_job_makes_topics_and_only_the_producer_purges(on_msk_with_iam: Config) -> None:
    def may(name: str) -> set[str]:
        return {
            action.removeprefix("kafka-cluster:")
            for one in statements(on_msk_with_iam, Names("prod").of(name))
            for action in one["Action"]
            if action.startswith("kafka-cluster:")
        }

    assert {name for name in EVERYTHING if "CreateTopic" in may(name)} == {TOPICS}
    assert {name for name in EVERYTHING if "DeleteTopic" in may(name)} == {PRODUCER}
    assert {name for name in EVERYTHING if "WriteData" in may(name)} == set(WORKERS)
    assert {name for name in EVERYTHING if "AlterTransactionalId" in may(name)} == set(WORKERS)
    assert may(EXPORTER) == {"Connect", "DescribeCluster", "DescribeTopic", "ReadData", "DescribeGroup"}
    topics = [
        one["Resource"]
        for one in statements(on_msk_with_iam, Names("prod").of(AGENT))
        if "kafka-cluster:WriteData" in one["Action"]
    ]
    assert topics == [
        [
            "arn:aws:kafka:eu-central-1:123456789012:topic/example/01234567-89ab-cdef-0123-456789abcdef-1/odradek.*"
        ]
    ]
    assert "kafka_password" not in blocks(on_msk_with_iam)[AGENT].files


def test_only_the_exporter_and_programs_reach_a_task(config: Config) -> None:
    assert callers(config) == {
        PRODUCER: [(EXPORTER, 9400)],
        AGENT: [(EXPORTER, 9400)],
        ENV: [(EXPORTER, 9400)],
        VERIFIER: [(EXPORTER, 9400)],
        GATEWAY: [(EXPORTER, 9400), (ENV, 8400)],
    }
    for service in asked(config, "service").values():
        network = service["networkConfiguration"]["awsvpcConfiguration"]
        assert network["assignPublicIp"] == "DISABLED"
        assert len(network["securityGroups"]) <= 5, "AWS's most"


def test_programs_ask_the_gateway_by_the_name_that_cloud_map_gives_it(config: Config) -> None:
    url = blocks(config)[ENV].environment["ODRADEK_GATEWAY_URL"]
    namespace = next(name for name in asked(config, "namespace"))
    assert url == f"http://{GATEWAY}.{namespace}:8400"
    assert GATEWAY in asked(config, "discovery")
    assert {"containerPort": 8400, "protocol": "tcp"} in asked(config, "task definition")[GATEWAY][
        "containerDefinitions"
    ][1]["portMappings"]


def test_a_roll_out_takes_nothing_away_before_the_new_is_well(config: Config) -> None:
    for name, service in asked(config, "service").items():
        how = service["deploymentConfiguration"]
        assert how["deploymentCircuitBreaker"] == {"enable": True, "rollback": True}
        assert how["minimumHealthyPercent"] == 100
        first = service["capacityProviderStrategy"][0]
        assert first == {"capacityProvider": "FARGATE", "base": 1, "weight": 1}, name
        spot = [
            one for one in service["capacityProviderStrategy"] if one["capacityProvider"] == "FARGATE_SPOT"
        ]
        weight = config.pools[name].spot_weight if name in WORKERS else 0
        assert [one["weight"] for one in spot] == ([weight] if weight else [])


def test_scaling_looks_at_metrics_that_are_published(config: Config) -> None:
    load = PoolLoad(pool=VERIFIER, backlog=1, in_flight=1, load=1, members=0)
    published = {
        (NAMESPACE, metric["MetricName"], json.dumps(metric["Dimensions"]), "Count")
        for metric in metrics_of(load, "prod", None)  # type: ignore[arg-type]
    }
    policy: Any = track(VERIFIER, config.pools[VERIFIER], "prod")
    metric = policy["TargetTrackingScalingPolicyConfiguration"]["CustomizedMetricSpecification"]
    alarm: Any = wake_alarm(VERIFIER, config.pools[VERIFIER], "prod", "arn:policy")
    for one in (metric, alarm):
        assert (one["Namespace"], one["MetricName"], json.dumps(one["Dimensions"]), "Count") in published
    assert blocks(config)[EXPORTER].environment["ODRADEK_CLOUDWATCH_DEPLOYMENT"] == "prod"


def test_a_pool_that_may_be_empty_is_woken_and_no_other(config: Config) -> None:
    empty = {name for name, pool in config.pools.items() if pool.min == 0}
    assert empty == {VERIFIER}
    for name, pool in config.pools.items():
        policy: Any = wake(pool)
        assert (policy is not None) == (name in empty)
        assert (wake_alarm(name, pool, "prod", "arn") is not None) == (name in empty)
        if policy:
            step = policy["StepScalingPolicyConfiguration"]["StepAdjustments"]
            assert step == [{"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}], "it only ever adds"


def test_names_fit_what_aws_allows() -> None:
    longest = Names("a" * 24)
    for name in EVERYTHING:
        assert len(longest.execution_role(name)) <= 64
    assert set(SERVICES) < set(EVERYTHING)
