"""The file that says what a deployment is (`example.toml`), read and checked before AWS is asked anything."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from odradek.models import ModelSettings, unlike
from odradek.toml_files import TomlError, read_toml, say_problem
from odradek_ecs.fargate import MOST_STOP_SECONDS, check_size
from odradek_schemas.topics import AGENT, ENV, GATEWAY, PRODUCER, WORKERS

_SECRET = (
    r"^arn:aws[a-z-]*:(secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+(:[\w-]*:[\w-]*:[\w-]*)?"
    r"|ssm:[a-z0-9-]+:\d{12}:parameter/[\w./-]+)$"
)
_CLUSTER = r"^arn:aws[a-z-]*:kafka:[a-z0-9-]+:\d{12}:cluster/[\w-]+/[\w-]+$"
_LOG_DAYS = (
    1,
    3,
    5,
    7,
    14,
    30,
    60,
    90,
    120,
    150,
    180,
    365,
    400,
    545,
    731,
    1096,
    1827,
    2192,
    2557,
    2922,
    3288,
    3653,
)

SecretArn = Annotated[str, Field(pattern=_SECRET)]
"""A secret of Secrets Manager (optionally `:KEY::` of its JSON) or a parameter of Parameter Store. Never its value."""

Variable = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]


class ConfigError(Exception):
    """The file can't be used. A line for each mistake: where, what, what to do."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Network(_Part):
    """Where tasks run. `security_groups` are given to each task besides its own: one that Kafka lets in, say."""

    subnets: tuple[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]+$")], ...] = Field(
        min_length=1, max_length=16
    )
    security_groups: tuple[Annotated[str, Field(pattern=r"^sg-[0-9a-f]+$")], ...] = Field(
        default=(), max_length=4
    )
    assign_public_ip: bool = False


class Kafka(_Part):
    """How Kafka is reached."""

    bootstrap_servers: str = Field(min_length=1)
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "SASL_SSL"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "AWS_MSK_IAM"] | None = None
    username: str | None = None
    password: SecretArn | None = None
    ca: SecretArn | None = None
    certificate: SecretArn | None = None
    key: SecretArn | None = None
    msk_cluster: Annotated[str, Field(pattern=_CLUSTER)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.security_protocol.startswith("SASL_") != (self.sasl_mechanism is not None):
            raise ValueError("sasl_mechanism: is needed with a SASL_* security_protocol, and only then")
        if self.sasl_mechanism == "AWS_MSK_IAM":
            if self.security_protocol != "SASL_SSL" or self.msk_cluster is None:
                raise ValueError(
                    "AWS_MSK_IAM: needs security_protocol SASL_SSL and the cluster's ARN, msk_cluster"
                )
        elif self.sasl_mechanism and not (self.username and self.password):
            raise ValueError(f"{self.sasl_mechanism}: needs username, and password as the ARN of a secret")
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate, key: one is of no use without the other")
        return self


class Secrets(_Part):
    """Odradek's own secrets."""

    sealing_public_key: SecretArn
    sealing_private_key: SecretArn
    access_secret: SecretArn | None = None
    kms_keys: tuple[str, ...] = Field(
        default=(), description="ARNs of the keys that secrets are encrypted with, where not AWS's own."
    )


class Size(_Part):
    """How large one task is."""

    cpu: int = Field(description="CPU units; 1,024 are one vCPU.")
    memory: int = Field(description="MiB.")

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        check_size(self.cpu, self.memory)
        return self


class Pool(Size):
    """One pool: how large a worker is, how many there may be, and what makes it grow."""

    min: int = Field(ge=0, description="Fewest workers.")
    max: int = Field(ge=1, description="Most workers.")
    load_per_worker: float = Field(gt=0, description="The load that one worker is to have (docs/ecs.md).")
    scale_out_seconds: int = Field(
        default=90, ge=0, description="Pause after growing: a task needs as long to start."
    )
    scale_in_seconds: int = Field(default=300, ge=0, description="Pause after shrinking.")
    spot_weight: int = Field(
        default=0, ge=0, le=1000, description="Tasks on Spot for each one that is not; 0: none."
    )
    disk_gib: int | None = Field(
        default=None, ge=21, le=200, description="Ephemeral disk; None: Fargate's 20 GiB."
    )
    stop_seconds: int = Field(default=MOST_STOP_SECONDS, ge=30, le=MOST_STOP_SECONDS)
    environment: dict[Annotated[str, Field(pattern=r"^ODRADEK_[A-Z0-9_]+$")], str] = Field(
        default_factory=dict, description="More settings of the worker."
    )

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self


def _check_log_days(days: int) -> int:
    if days not in _LOG_DAYS:
        raise ValueError(f"CloudWatch Logs keeps logs for one of {', '.join(map(str, _LOG_DAYS))} days")
    return days


class Config(_Part):
    """A deployment."""

    deployment: str = Field(pattern=r"^[a-z][a-z0-9-]{0,22}[a-z0-9]$", description="Part of each name.")
    region: str = Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")
    registry: str = Field(min_length=1, description="Images are REGISTRY/odradek/SERVICE:VERSION.")
    version: str = Field(pattern=r"^[\w][\w.-]{0,127}$")
    architecture: Literal["X86_64", "ARM64"] = "X86_64"
    topic_prefix: str = Field(default="odradek.", pattern=r"^[\w.-]*$")
    partitions: int = Field(ge=1)
    blob_store: str = Field(pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w./-]*)?$")
    log_days: Annotated[int, AfterValidator(_check_log_days)] = 30
    agent_programs: bool = Field(
        default=False, description="Whether agent programs run, and the gateway serves HTTP."
    )
    env_opens_answers: bool = Field(
        default=False, description="Whether environments' evidence needs the answers."
    )
    network: Network
    kafka: Kafka
    secrets: Secrets
    redis_url: str | None = Field(default=None, pattern=r"^rediss?://[^@\s]+$")
    redis_url_secret: SecretArn | None = None
    models: dict[str, ModelSettings] = Field(min_length=1)
    model_keys: dict[Variable, SecretArn] = Field(
        default_factory=dict, description="Variable of a key: its secret."
    )
    load_exporter: Size = Size(cpu=256, memory=512)
    pools: dict[str, Pool]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if problems := [*_pool_problems(self), *_secret_problems(self), *unlike_models(self)]:
            raise ValueError("; ".join(problems))
        return self

    @property
    def limits_are_shared(self) -> bool:
        """Whether all gateways keep one count."""
        return self.redis_url is not None or self.redis_url_secret is not None


def _pool_problems(config: Config) -> list[str]:
    if set(config.pools) != set(WORKERS):
        return [f"pools: there must be {', '.join(WORKERS)}, each once; here are {', '.join(config.pools)}"]
    problems = [
        f"pools.{name}.max: {pool.max} workers share {config.partitions} partitions: the rest would have nothing to do"
        for name, pool in config.pools.items()
        if pool.max > config.partitions
    ]
    reasons = {
        PRODUCER: "it ends runs at their deadlines, also when nothing arrives",
        AGENT: "it keeps rollouts' deadlines, also when nothing arrives",
        **({GATEWAY: "agent programs ask it over HTTP, which wakes nobody"} if config.agent_programs else {}),
    }
    never = [
        f"pools.{name}.min: at least 1; {why}" for name, why in reasons.items() if config.pools[name].min < 1
    ]
    return problems + never


def _secret_problems(config: Config) -> list[str]:
    problems = []
    if config.agent_programs and config.secrets.access_secret is None:
        problems.append("secrets.access_secret: is needed with agent_programs, to sign their tokens")
    if config.agent_programs and config.env_opens_answers:
        problems.append("env_opens_answers: an env-worker with the key to answers must run no agent_programs")
    if config.redis_url is not None and config.redis_url_secret is not None:
        problems.append("redis_url, redis_url_secret: give one of them")
    named = {model.api_key_env for model in config.models.values() if model.api_key_env}
    problems += [
        f"model_keys.{name}: is missing; a model names it" for name in sorted(named - set(config.model_keys))
    ]
    problems += [f"model_keys.{name}: no model names it" for name in sorted(set(config.model_keys) - named)]
    return problems


def unlike_models(config: Config) -> list[str]:
    """What models that share a limit say unlike each other."""
    return [f"models.{where} {what}" for where, what in unlike(config.models)]


def notes(config: Config) -> list[str]:
    """What is allowed, but should be known."""
    found = []
    if not config.limits_are_shared and config.pools[GATEWAY].max > 1:
        found.append(
            "without redis_url each model-gateway has limits of its own: the models' limits count per worker"
        )
    if config.kafka.security_protocol in ("PLAINTEXT", "SASL_PLAINTEXT"):
        found.append(
            f"kafka.security_protocol {config.kafka.security_protocol}: what is sent can be read on the way"
        )
    if config.pools[ENV].min == 0:
        found.append(
            "pools.env-worker.min 0: to wake it takes minutes; a session has 120 s to open and an action 60 s, unless the "
            "runs' limits say more: then rollouts begin anew, or fail"
        )
    if config.agent_programs and config.pools[ENV].spot_weight:
        found.append(
            "pools.env-worker.spot_weight: a program at work when Spot takes its task back begins anew"
        )
    return found


def read_config(path: Path) -> Config:
    """The deployment that a file describes.

    Raises:
        ConfigError: the file can't be read, is not TOML, or says what can't be.
    """
    try:
        return Config.model_validate(read_toml(path))
    except TomlError as error:
        raise ConfigError(str(error)) from error
    except ValidationError as error:
        problems: list[dict[str, Any]] = [
            dict(each) for each in error.errors(include_url=False, include_input=False)
        ]
        raise ConfigError("\n".join(f"{path}: {say_problem(problem)}" for problem in problems)) from error
