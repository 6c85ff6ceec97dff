"""One shape for every task: a container that prepares the volumes, and the service's own, which has no rights."""

from pathlib import Path

from odradek_ecs.blocks import HEALTH_PORT, SECRETS, STATE, Block
from odradek_ecs.config import Config
from odradek_ecs.names import Names
from odradek_ecs.prepare import PREFIX
from odradek_schemas.base import JsonObject

USER = 10001
"""Whom the images run as."""

PREPARE = "prepare"
PREPARE_MIB = 64
RESTART_AFTER_SECONDS = 60
"""A container that has run for so long is started again in its place when it ends; one that ends earlier ends its task."""

_VOLUMES = {"secrets": SECRETS, "state": STATE, "scratch": "/tmp"}
_KEPT_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER")
_DEFAULT_CAPABILITIES = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
)  # fmt: skip
_ASK_HEALTH = f"import urllib.request as r; r.urlopen('http://127.0.0.1:{HEALTH_PORT}/healthz', timeout=4)"


def task_definition(block: Block, config: Config, roles: tuple[str, str]) -> JsonObject:
    """What RegisterTaskDefinition is asked for. `roles` are the ARNs of the task's and of the execution role."""
    task_role, execution_role = roles
    disk: JsonObject = {"ephemeralStorage": {"sizeInGiB": block.disk_gib}} if block.disk_gib else {}
    return {
        "family": Names(config.deployment).of(block.name),
        "requiresCompatibilities": ["FARGATE"],
        "networkMode": "awsvpc",
        "cpu": str(block.size.cpu),
        "memory": str(block.size.memory),
        "runtimePlatform": {"cpuArchitecture": config.architecture, "operatingSystemFamily": "LINUX"},
        "taskRoleArn": task_role,
        "executionRoleArn": execution_role,
        "volumes": [{"name": name} for name in _VOLUMES],
        "containerDefinitions": [_preparing(block, config), _serving(block, config)],
        **disk,
    }


def _preparing(block: Block, config: Config) -> JsonObject:
    return {
        "name": PREPARE,
        "image": block.image,
        "essential": False,
        "memoryReservation": PREPARE_MIB,
        "user": "0",
        "readonlyRootFilesystem": True,
        "entryPoint": ["python3", "-c"],
        "command": [Path(__file__).with_name("prepare.py").read_text(), *_VOLUMES.values(), str(USER)],
        "secrets": [
            {"name": f"{PREFIX}{name}", "valueFrom": arn} for name, arn in sorted(block.files.items())
        ],
        "mountPoints": [_mount(name) for name in _VOLUMES],
        "linuxParameters": {
            "capabilities": {"drop": [one for one in _DEFAULT_CAPABILITIES if one not in _KEPT_CAPABILITIES]}
        },
        "logConfiguration": _logs(config),
    }


def _serving(block: Block, config: Config) -> JsonObject:
    container: JsonObject = {
        "name": block.name,
        "image": block.image,
        "essential": True,
        "memoryReservation": block.size.memory - PREPARE_MIB,
        "user": str(USER),
        "readonlyRootFilesystem": True,
        "stopTimeout": block.stop_seconds,
        "dependsOn": [{"containerName": PREPARE, "condition": "SUCCESS"}],
        "environment": [{"name": name, "value": value} for name, value in sorted(block.environment.items())],
        "secrets": [{"name": name, "valueFrom": arn} for name, arn in sorted(block.variables.items())],
        "portMappings": [{"containerPort": port, "protocol": "tcp"} for port in block.ports],
        "mountPoints": [_mount("secrets", read_only=True), _mount("state"), _mount("scratch")],
        "linuxParameters": {"initProcessEnabled": True, "capabilities": {"drop": ["ALL"]}},
        "logConfiguration": _logs(config),
    }
    if block.command:
        container["command"] = list(block.command)
    return container | (_kept_alive() if block.has_health else {})


def _kept_alive() -> JsonObject:
    """Alive is not ready: a worker that waits for Kafka is well, and is not to be killed for it."""
    return {
        "healthCheck": {
            "command": ["CMD", "python3", "-c", _ASK_HEALTH],
            "interval": 15,
            "timeout": 5,
            "retries": 4,
            "startPeriod": 120,
        },
        "restartPolicy": {"enabled": True, "restartAttemptPeriod": RESTART_AFTER_SECONDS},
    }


def _mount(volume: str, read_only: bool = False) -> JsonObject:
    return {"sourceVolume": volume, "containerPath": _VOLUMES[volume], "readOnly": read_only}


def _logs(config: Config) -> JsonObject:
    """`non-blocking`: a worker does not stand still because CloudWatch Logs does."""
    return {
        "logDriver": "awslogs",
        "options": {
            "awslogs-group": Names(config.deployment).log_group,
            "awslogs-region": config.region,
            "awslogs-stream-prefix": "odradek",
            "mode": "non-blocking",
            "max-buffer-size": "10m",
        },
    }
