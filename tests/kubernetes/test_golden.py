"""The golden renders of the chart keep all rules, and each rule can find what breaks it. Helm is not needed here."""

import copy
from collections.abc import Callable

import pytest

from tests.kubernetes import settings
from tests.kubernetes.chart import EXAMPLES, SCHEMA, golden, parsed
from tests.kubernetes.objects import Object, Rendered
from tests.kubernetes.rules import RULES, Rule, broken
from tests.kubernetes.write import schema

Break = Callable[[Rendered], object]


@pytest.mark.parametrize("example", EXAMPLES)
def test_golden_renders_keep_the_rules(example: str) -> None:
    assert broken(parsed(golden(example).read_text())) == []


def test_the_chart_knows_the_settings_as_they_are() -> None:
    assert SCHEMA.read_text() == schema(), "the settings have changed: make kubernetes"


def test_settings_of_the_chart_exist() -> None:
    known = {name for process in settings.processes() for name in settings.known(process)}
    assert set(settings.OF_THE_CHART) <= known


def container(rendered: Rendered, component: str) -> Object:
    return next(pod.container for pod in rendered.pods() if pod.component == component)


def policy(rendered: Rendered, component: str) -> Object:
    spec = rendered.named("NetworkPolicy", f"odradek-{component}")["spec"]
    assert isinstance(spec, dict)
    return spec


def variable(rendered: Rendered, component: str, name: str, value: str) -> None:
    container(rendered, component)["env"].append({"name": name, "value": value})


BREAKS: dict[str, list[Break]] = {
    "unprivileged": [
        lambda r: container(r, "cli")["securityContext"].update(readOnlyRootFilesystem=False),
        lambda r: next(r.pods()).spec["securityContext"].update(runAsUser=0),
        lambda r: r.named("ServiceAccount", "odradek-topics").update(automountServiceAccountToken=True),
    ],
    "bounded": [lambda r: container(r, "env-worker")["resources"]["limits"].pop("memory")],
    "settings_exist": [
        lambda r: variable(r, "env-worker", "ODRADEK_PROGRAMZ", "1"),
        lambda r: variable(r, "agent-worker", "ODRADEK_REDIS_URL", "redis://elsewhere"),
        lambda r: variable(r, "agent-worker", "ODRADEK_WORKER_ID", "agent-0"),
        lambda r: next(r.pods()).spec.update(enableServiceLinks=True),
    ],
    "settings_fit": [
        lambda r: r.named("ConfigMap", "odradek-settings")["data"].pop("ODRADEK_KAFKA_SASL_MECHANISM"),
        lambda r: r.named("ConfigMap", "odradek-models")["data"].update(
            {"models.json": '{"a": {"presett": 1}}'}
        ),
    ],
    "secrets_by_reference": [
        lambda r: variable(r, "cli", "ODRADEK_KAFKA_PASSWORD", "hunter2"),
        lambda r: r.objects.append({"kind": "Secret", "metadata": {"name": "all-of-it"}}),
    ],
    "files_are_there": [
        lambda r: variable(r, "cli", "ODRADEK_KAFKA_KEY_FILE", "/run/secrets/odradek/kafka_key.pem"),
        lambda r: container(r, "cli")["volumeMounts"].pop(),
    ],
    "probed": [
        lambda r: container(r, "task-producer").pop("readinessProbe"),
        lambda r: container(r, "task-producer")["ports"][0].update(containerPort=9401),
    ],
    "scraped": [
        lambda r: r.named("PodMonitor", "odradek")["spec"].update(jobLabel="team"),
        lambda r: r.named("PodMonitor", "odradek")["spec"]["selector"]["matchLabels"].update(team="rl"),
    ],
    "drained": [lambda r: variable(r, "model-gateway", "ODRADEK_DRAIN_TIMEOUT_SECONDS", "600")],
    "selected": [
        lambda r: r.named("PodDisruptionBudget", "odradek-env-worker")["spec"]["selector"][
            "matchLabels"
        ].popitem(),
        lambda r: r.named("Service", "odradek-gateway")["spec"]["selector"].update(
            {"app.kubernetes.io/component": "cli"}
        ),
    ],
    "every_pool_is_whole": [
        lambda r: r.objects.remove(r.named("PodDisruptionBudget", "odradek-env-worker")),
        lambda r: r.named("Deployment", "odradek-env-worker")["spec"].update(replicas=3),
    ],
    "scaled_within_reason": [
        lambda r: r.named("ScaledObject", "odradek-env-worker")["spec"].update(maxReplicaCount=25),
        lambda r: r.named("ScaledObject", "odradek-model-gateway")["spec"].update(minReplicaCount=0),
        lambda r: r.named("ScaledObject", "odradek-agent-worker")["spec"]["triggers"][0]["metadata"].update(
            url="http://odradek-load-exporter.odradek.svc:9400/pools/agent-workers"
        ),
        lambda r: r.objects.remove(r.named("Service", "odradek-load-exporter")),
    ],
    "asked_for_every_input": [
        lambda r: r.named("ScaledObject", "odradek-env-worker")["spec"]["triggers"][0].update(
            type="kafka", metadata={"topic": "odradek.tasks", "consumerGroup": "odradek.env-worker"}
        )
    ],
    "reachable": [
        lambda r: policy(r, "model-gateway")["egress"].pop(-2),
        lambda r: policy(r, "agent-worker")["egress"].append({"ports": [{"port": 443}]}),
        lambda r: policy(r, "agent-worker")["egress"].append({"to": []}),
        lambda r: policy(r, "agent-worker")["ingress"].append({"ports": [{"port": 9400}]}),
        lambda r: r.objects.remove(r.named("NetworkPolicy", "odradek-deny")),
    ],
    "env_workers_reach_the_gateway": [
        lambda r: policy(r, "model-gateway")["ingress"].pop(),
        lambda r: r.named("Service", "odradek-gateway")["spec"]["ports"][0].update(port=8300),
    ],
    "the_exporter_finds_workers": [
        lambda r: r.named("Service", "odradek-env-worker")["spec"].pop("clusterIP"),
        lambda r: policy(r, "env-worker")["ingress"][0]["from"].pop(0),
    ],
}


@pytest.fixture(scope="module")
def whole() -> Rendered:
    return parsed(golden("strimzi").read_text())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_finds_what_breaks_it(rule: Rule, whole: Rendered) -> None:
    for number, spoil in enumerate(BREAKS[rule.__name__]):
        spoilt = copy.deepcopy(whole)
        spoil(spoilt)
        assert list(rule(spoilt)), f"break {number} was not found"
