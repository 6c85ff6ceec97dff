"""The chart with Helm: what it renders, what Kubernetes' schemas say of that, and which values it refuses."""

import json
import subprocess
from pathlib import Path

import pytest

from odradek.models.presets import PRESETS
from tests.kubernetes.chart import (
    CHART,
    EXAMPLES,
    RENDER_SECONDS,
    VERSION,
    RefusedError,
    golden,
    parsed,
    render,
    values,
)
from tests.kubernetes.installing import Tools
from tests.kubernetes.rules import broken

pytestmark = pytest.mark.kubernetes

SCRAM = ['kafka.securityProtocol="SASL_SSL"', 'kafka.saslMechanism="SCRAM-SHA-512"', 'kafka.username="me"']
VARIANTS: dict[str, list[str]] = {
    "no autoscaling": ["autoscaling.enabled=false", "loadExporter.enabled=false"],
    "the trigger kafka": ['autoscaling.trigger="kafka"', "pools.verifier-worker.autoscaling.minReplicas=1"],
    "the trigger kafka, with SCRAM and TLS": [
        *SCRAM,
        'kafka.passwordSecret={"name": "kafka-user"}',
        'kafka.caSecret={"name": "kafka-ca"}',
        'autoscaling.trigger="kafka"',
        "pools.verifier-worker.autoscaling.minReplicas=1",
    ],
    "the trigger kafka, with MSK": [
        'kafka.securityProtocol="SASL_SSL"',
        'kafka.saslMechanism="AWS_MSK_IAM"',
        'kafka.awsRegion="eu-central-1"',
        'autoscaling.trigger="kafka"',
        "pools.verifier-worker.autoscaling.minReplicas=1",
    ],
    "client certificates": [
        'kafka.securityProtocol="SSL"',
        'kafka.certificateSecret={"name": "kafka-client"}',
        'kafka.caSecret={"name": "kafka-ca"}',
    ],
    "the cluster's own tokens": [
        'kafka.securityProtocol="SASL_SSL"',
        'kafka.saslMechanism="OAUTHBEARER"',
        'kafka.serviceAccountToken={"audience": "kafka"}',
    ],
    "a name of the user from the secret": [
        *SCRAM[:2],
        'kafka.passwordSecret={"name": "kafka-user", "usernameKey": "username"}',
    ],
    "answers opened by env-workers": ["pools.env-worker.opensAnswers=true"],
    "no HTTP": [
        "pools.model-gateway.frontEnd=false",
        "access={}",
        "pools.model-gateway.autoscaling.minReplicas=0",
    ],
    "a claim that is there": ['blobs.volume={"existingClaim": "shared"}'],
    "another model than the file of values has": [
        "models.policy=null",
        'models.other={"base_url": "http://gpu:8000/v1", "model": "m"}',
    ],
    "models in a file": [
        "models=null",
        'odradekToml="[models.a]\\npreset = \\"vllm\\"\\nmodel = \\"m\\"\\nbase_url = \\"http://gpu:8000/v1\\"\\n"',
    ],
    "everything that pods can be given": [
        'image={"registry": "r.example.com", "tag": "7", "pullSecrets": ["pull"]}',
        'podLabels={"team": "rl"}',
        'podAnnotations={"note": "n"}',
        'priorityClassName="batch"',
        'poolDefaults.tolerations=[{"key": "spot", "operator": "Exists"}]',
        'poolDefaults.affinity={"nodeAffinity": {}}',
        'poolDefaults.secretEnv={"TOKEN": {"secret": "s", "key": "k"}}',
        'poolDefaults.env={"TZ": "UTC"}',
        'poolDefaults.volumes=[{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}]',
        'poolDefaults.volumeMounts=[{"name": "data", "mountPath": "/data"}]',
        'poolDefaults.seccompProfile={"type": "Localhost", "localhostProfile": "profiles/namespaces.json"}',
        "monitoring.podMonitor.enabled=true",
    ],
    "no network policies": ["networkPolicy.enabled=false"],
}

REFUSED: dict[str, tuple[list[str], str]] = {
    "an unknown value": (["kafka.bootstrap=1"], "'bootstrap' not allowed"),
    "an unknown setting": (['pools.env-worker.settings={"ODRADEK_PROGRAMZ": "4"}'], "ODRADEK_PROGRAMZ"),
    "a setting of the chart's": (
        ['pools.env-worker.settings={"ODRADEK_HTTP_PORT": "1"}'],
        "ODRADEK_HTTP_PORT",
    ),
    "a setting among others' variables": (
        ['pools.env-worker.env={"ODRADEK_PROGRAMS": "4"}'],
        "stand in pools.env-worker.settings",
    ),
    "a number where text goes": (
        ['pools.env-worker.settings={"ODRADEK_PROGRAMS": 4}'],
        "got number, want string",
    ),
    "a sixth pool": (["pools.judge={}"], "'judge' not allowed"),
    "an address without a port": (['kafka.bootstrapServers="kafka"'], "/kafka/bootstrapServers"),
    "no Kafka": (['kafka.bootstrapServers=""'], "kafka.bootstrapServers: where Kafka is"),
    "more workers than partitions": (["pools.env-worker.autoscaling.maxReplicas=9"], "kafka.partitions: 8"),
    "more fixed workers than partitions": (
        ["autoscaling.enabled=false", "pools.env-worker.replicas=9"],
        "kafka.partitions: 8",
    ),
    "bounds that cross": (["pools.env-worker.autoscaling.minReplicas=5"], "above maxReplicas"),
    "no task-producer": (["pools.task-producer.autoscaling.minReplicas=0"], "kept by living workers"),
    "no agent-worker": (["pools.agent-worker.autoscaling.minReplicas=0"], "kept by living workers"),
    "no gateway before a front end": (["pools.model-gateway.autoscaling.minReplicas=0"], "frontEnd=false"),
    "nobody, by raw lag": (['autoscaling.trigger="kafka"'], "raw lag does not see what is in hand"),
    "nothing to scale by": (["pools.env-worker.autoscaling.load=0"], "what one worker should have to do"),
    "no load exporter to ask": (["loadExporter.enabled=false"], "asks for the load exporter's figures"),
    "no Prometheus to ask": (['autoscaling.trigger="prometheus"'], "where Prometheus is"),
    "a protocol without its mechanism": (['kafka.securityProtocol="SASL_SSL"'], "set both or neither"),
    "a mechanism without its protocol": (['kafka.saslMechanism="PLAIN"'], "set both or neither"),
    "SCRAM without a password": (SCRAM, "needs a Secret with the password"),
    "SCRAM without a user": (
        [*SCRAM[:2], 'kafka.passwordSecret={"name": "s"}'],
        "needs either kafka.username",
    ),
    "MSK without a region": (
        ['kafka.securityProtocol="SASL_SSL"', 'kafka.saslMechanism="AWS_MSK_IAM"'],
        "needs kafka.awsRegion",
    ),
    "OAUTHBEARER without a token": (
        ['kafka.securityProtocol="SASL_SSL"', 'kafka.saslMechanism="OAUTHBEARER"'],
        "needs either kafka.tokenSecret",
    ),
    "an authority without TLS": (['kafka.caSecret={"name": "ca"}'], "go with kafka.securityProtocol SSL"),
    "two places for blobs": (['blobs.s3.url="s3://bucket/blobs"'], "either a bucket"),
    "no keys": (["sealing={}"], "sealing.secretName"),
    "no secret for tokens": (["access={}"], "access.secretName"),
    "no model": (["models.policy=null"], "name at least one"),
    "an API key in the values": (['models.policy.api_key="k"'], "/models/policy"),
    "a file of models that is none": (['odradekToml="[models"'], "odradekToml"),
    "a password in Redis' URL": (['redis.url="redis://:secret@host:6379/0"'], "/redis/url"),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_helm_finds_nothing_to_mend(example: str, installed: Tools) -> None:
    command: list[str | Path] = [installed.helm, "lint", "--strict", CHART, "--values", values(example)]
    done = subprocess.run(command, timeout=RENDER_SECONDS, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("example", EXAMPLES)
def test_renders_are_the_golden_ones(example: str, installed: Tools) -> None:
    assert render(installed.helm, example) == golden(example).read_text(), "make kubernetes writes them anew"


@pytest.mark.parametrize("example", EXAMPLES)
def test_golden_renders_fit_kubernetes(example: str, installed: Tools, tmp_path: Path) -> None:
    assert misfits(installed, golden(example).read_text(), tmp_path) == []


def test_what_does_not_fit_kubernetes_is_found(installed: Tools, tmp_path: Path) -> None:
    text = golden("strimzi").read_text()
    for right, wrong in (
        ("readinessProbe:", "readynessProbe:"),
        ("valueLocation: load", "valueLocation: 1"),
        ("pollingInterval: 15", "polingInterval: 15"),
        ("containerPort: 9400", "containerPort: http"),
    ):
        assert misfits(installed, text.replace(right, wrong), tmp_path), right


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_keep_the_rules(variant: str, installed: Tools, tmp_path: Path) -> None:
    text = render(installed.helm, "small", VARIANTS[variant])
    assert misfits(installed, text, tmp_path) == []
    left = broken(parsed(text))
    if variant == "no network policies":
        left = [
            problem
            for problem in left
            if "NetworkPolicy" not in problem
            and not problem.startswith(("reachable", "the_exporter", "env_workers"))
        ]
    assert left == []


@pytest.mark.parametrize("wrong", REFUSED)
def test_values_that_can_not_work_are_refused(wrong: str, installed: Tools) -> None:
    changes, said = REFUSED[wrong]
    with pytest.raises(RefusedError) as refused:
        render(installed.helm, "small", changes)
    assert said in str(refused.value)


@pytest.mark.parametrize("preset", [name for name, preset in PRESETS.items() if "api_key_env" in preset])
def test_a_provider_s_key_must_be_named(preset: str, installed: Tools) -> None:
    with pytest.raises(RefusedError, match=r"models\.a needs an API key"):
        render(installed.helm, "small", [f"models.a={json.dumps({'preset': preset, 'model': 'm'})}"])


def misfits(installed: Tools, text: str, folder: Path) -> list[str]:
    """What Kubernetes' own schemas, KEDA's and the Prometheus operator's have against a render."""
    path = folder / "render.yaml"
    path.write_text(text)
    where = f"{installed.schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    command: list[str | Path] = [
        installed.kubeconform,
        "-strict",
        "-output",
        "json",
        "-kubernetes-version",
        VERSION,
        "-schema-location",
        where,
        path,
    ]
    done = subprocess.run(command, timeout=RENDER_SECONDS, check=False, capture_output=True, text=True)
    found = json.loads(done.stdout)["resources"]
    assert bool(found) == bool(done.returncode), done.stderr
    return [f"{one['kind']} {one['name']}: {one['msg']}" for one in found]
