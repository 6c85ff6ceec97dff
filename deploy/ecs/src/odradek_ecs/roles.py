"""What each service may do in AWS: its task's role, and the role with which ECS starts it. No more than it needs."""

import re
from collections.abc import Sequence

from odradek_ecs.blocks import Block
from odradek_ecs.config import Config
from odradek_ecs.names import EXPORTER, TOPICS, Names, Place
from odradek_schemas.base import JsonObject
from odradek_schemas.topics import PRODUCER

CLOUDWATCH_NAMESPACE = "Odradek"

_READS = ("DescribeTopic", "ReadData")
_WORKS = (*_READS, "WriteData")
_MAKES = (
    "CreateTopic",
    "DescribeTopic",
    "AlterTopic",
    "DescribeTopicDynamicConfiguration",
    "AlterTopicDynamicConfiguration",
)


def task_role(block: Block, config: Config, place: Place) -> JsonObject:
    """The role of a service's own container."""
    statements = [*_blobs(block, config, place), *_kafka(block, config), *_measures(block, config)]
    return _role(statements, Condition=_of_this_account(place))


def execution_role(block: Block, config: Config, place: Place) -> JsonObject:
    """The role with which ECS fetches the image and the secrets, and writes logs. The container never has it."""
    arns = [*block.files.values(), *block.variables.values()]
    logs = f"arn:{place.partition}:logs:{place.region}:{place.account}:log-group:{Names(config.deployment).log_group}"
    statements = [
        *_image(config, place),
        _allow(["logs:CreateLogStream", "logs:PutLogEvents"], [f"{logs}:*"]),
        *_secrets(arns),
        *(
            [_allow(["kms:Decrypt"], list(config.secrets.kms_keys))]
            if arns and config.secrets.kms_keys
            else []
        ),
    ]
    return _role(statements)


def _role(statements: Sequence[JsonObject], **trust: JsonObject) -> JsonObject:
    """`trust`: who may take the role, ECS for its tasks; `policy`: None where it may do nothing."""
    ecs: JsonObject = {
        "Effect": "Allow",
        "Principal": {"Service": "ecs-tasks.amazonaws.com"},
        "Action": "sts:AssumeRole",
        **trust,
    }
    return {"trust": _document([ecs]), "policy": _document(list(statements)) if statements else None}


def _of_this_account(place: Place) -> JsonObject:
    """Against the confused deputy: ECS takes the role for tasks of this account and region alone."""
    return {
        "StringEquals": {"aws:SourceAccount": place.account},
        "ArnLike": {"aws:SourceArn": f"arn:{place.partition}:ecs:{place.region}:{place.account}:*"},
    }


def _document(statements: list[JsonObject]) -> JsonObject:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _allow(actions: Sequence[str], resources: Sequence[str], **more: JsonObject) -> JsonObject:
    return {"Effect": "Allow", "Action": list(actions), "Resource": list(resources), **more}


def _blobs(block: Block, config: Config, place: Place) -> list[JsonObject]:
    """Workers read and write blobs; to delete them is `odradek blobs gc`'s, with credentials of its own."""
    if "ODRADEK_BLOB_STORE" not in block.environment:
        return []
    bucket, _, prefix = config.blob_store.removeprefix("s3://").partition("/")
    within = f"{prefix.rstrip('/')}/*" if prefix else "*"
    of = f"arn:{place.partition}:s3:::{bucket}"
    condition: JsonObject = {"StringLike": {"s3:prefix": within}}
    return [
        _allow(["s3:GetObject", "s3:PutObject"], [f"{of}/{within}"]),
        _allow(["s3:ListBucket"], [of], Condition=condition),
    ]


def _measures(block: Block, config: Config) -> list[JsonObject]:
    """The load exporter finds workers and publishes metrics; both know no resources, but conditions."""
    if block.name != EXPORTER:
        return []
    within: JsonObject = {
        "StringEquals": {"servicediscovery:NamespaceName": Names(config.deployment).namespace}
    }
    ours: JsonObject = {"StringEquals": {"cloudwatch:namespace": CLOUDWATCH_NAMESPACE}}
    return [
        _allow(["servicediscovery:DiscoverInstances"], ["*"], Condition=within),
        _allow(["cloudwatch:PutMetricData"], ["*"], Condition=ours),
    ]


def _kafka(block: Block, config: Config) -> list[JsonObject]:
    """What MSK asks for, where it goes by roles. Source: Amazon MSK developer guide, IAM access control."""
    cluster = config.kafka.msk_cluster
    if cluster is None:
        return []

    def of(kind: str) -> str:
        return f"{cluster.replace(':cluster/', f':{kind}/')}/{config.topic_prefix}*"

    connect = ["Connect", "DescribeCluster"]
    if block.name == TOPICS:
        return [_msk([*connect, "DescribeClusterDynamicConfiguration"], cluster), _msk(_MAKES, of("topic"))]
    if block.name == EXPORTER:
        return [_msk(connect, cluster), _msk(_READS, of("topic")), _msk(["DescribeGroup"], of("group"))]
    purges = ["DeleteTopic"] if block.name == PRODUCER else []  # Kafka asks it of whoever deletes records
    return [
        _msk([*connect, "WriteDataIdempotently"], cluster),
        _msk([*_WORKS, *purges], of("topic")),
        _msk(["DescribeGroup", "AlterGroup"], of("group")),
        _msk(["DescribeTransactionalId", "AlterTransactionalId"], of("transactional-id")),
    ]


def _msk(actions: Sequence[str], resource: str) -> JsonObject:
    return _allow([f"kafka-cluster:{action}" for action in actions], [resource])


def _secrets(arns: Sequence[str]) -> list[JsonObject]:
    """Exactly the secrets that the service names; a version or a key of the JSON is not part of the resource."""
    secrets = sorted({_secret(arn) for arn in arns if ":secretsmanager:" in arn})
    parameters = sorted({arn for arn in arns if ":ssm:" in arn})
    return [
        *([_allow(["secretsmanager:GetSecretValue"], secrets)] if secrets else []),
        *([_allow(["ssm:GetParameters"], parameters)] if parameters else []),
    ]


def _secret(arn: str) -> str:
    return ":".join(arn.split(":")[:7])


def _image(config: Config, place: Place) -> list[JsonObject]:
    """Where the registry is ECR, this service's account's or another's."""
    ecr = re.match(r"^(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?:/(.+))?$", config.registry)
    if ecr is None:
        return []
    account, region, below = ecr.groups()
    images = (
        f"arn:{place.partition}:ecr:{region}:{account}:repository/{f'{below}/' if below else ''}odradek/*"
    )
    return [
        _allow(["ecr:GetAuthorizationToken"], ["*"]),
        _allow(
            ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], [images]
        ),
    ]
