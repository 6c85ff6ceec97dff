"""What must be there before anything is made: network, secrets, images, the bucket. All that is missing is told at once."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from odradek_ecs.aws import Aws, DeployError
from odradek_ecs.blocks import blocks
from odradek_ecs.config import Config
from odradek_ecs.names import Place
from odradek_ecs.settle import telling

_MISSING = {
    "ResourceNotFoundException", "NoSuchBucket", "404", "InvalidSubnetID.NotFound",
    "InvalidGroup.NotFound", "ImageNotFoundException", "RepositoryNotFoundException",
}  # fmt: skip


def look_around(config: Config, aws: Aws) -> Place:
    """Where the deployment is to be.

    Raises:
        DeployError: no credentials, or something that it needs is not there; a line each.
    """
    with telling("credentials", "of this shell"):
        caller = aws.client("sts").get_caller_identity()
    with telling("what the deployment", "needs"):
        vpcs = {subnet: _vpc(aws, subnet) for subnet in config.network.subnets}
        problems = [
            *_network(config, aws, vpcs),
            *_secrets(config, aws),
            *_images(config, aws),
            *_bucket(config, aws),
        ]
    if problems:
        raise DeployError("\n".join(problems))
    vpc = next(iter(vpcs.values()))
    assert vpc is not None
    return Place(caller["Arn"].split(":")[1], caller["Account"], config.region, vpc)


def _vpc(aws: Aws, subnet: str) -> str | None:
    found = _there(aws.client("ec2").describe_subnets, SubnetIds=[subnet])
    return str(found["Subnets"][0]["VpcId"]) if found else None


def _network(config: Config, aws: Aws, vpcs: dict[str, str | None]) -> Iterator[str]:
    yield from (
        f"network.subnets: there is no {subnet} in {config.region}" for subnet, vpc in vpcs.items() if not vpc
    )
    if len(set(vpcs.values()) - {None}) > 1:
        yield f"network.subnets: they are of several VPCs ({', '.join(f'{s}: {v}' for s, v in vpcs.items())}): take one's"
    for group in config.network.security_groups:
        found = _there(aws.client("ec2").describe_security_groups, GroupIds=[group])
        if not found:
            yield f"network.security_groups: there is no {group} in {config.region}"
        elif found["SecurityGroups"][0]["VpcId"] not in vpcs.values():
            yield f"network.security_groups: {group} is of {found['SecurityGroups'][0]['VpcId']}, not of the subnets' VPC"


def _secrets(config: Config, aws: Aws) -> Iterator[str]:
    every = {
        arn for block in blocks(config).values() for arn in (*block.files.values(), *block.variables.values())
    }
    for arn in sorted(every):
        if arn.split(":")[3] != config.region:
            yield f"secret {arn}: is not in {config.region}; ECS reads secrets of its own region alone"
        elif ":secretsmanager:" in arn:
            whole = ":".join(arn.split(":")[:7])
            if not _there(aws.client("secretsmanager").describe_secret, SecretId=whole):
                yield f"secret {whole}: is not there; make it with `aws secretsmanager create-secret`"
        elif not _parameters(aws, arn.partition(":parameter")[2]):
            yield f"parameter {arn}: is not there; make it with `aws ssm put-parameter --type SecureString`"


def _parameters(aws: Aws, name: str) -> list[Any]:
    """The parameter, described: what it holds is not asked for. `/x` may be stored as `x`."""
    names = [{"Key": "Name", "Values": [name, name.removeprefix("/")]}]
    found: list[Any] = aws.client("ssm").describe_parameters(ParameterFilters=names)["Parameters"]
    return found


def _images(config: Config, aws: Aws) -> Iterator[str]:
    """Those of this account's ECR; another registry is ECS's to ask."""
    host, _, _ = config.registry.partition("/")
    account, *rest = host.split(".")
    if rest[:3] != ["dkr", "ecr", config.region]:
        return
    for image in sorted({block.image for block in blocks(config).values()}):
        repository, tag = image.removeprefix(f"{host}/").rsplit(":", 1)
        ids = [{"imageTag": tag}]
        asked = aws.client("ecr").describe_images
        if not _there(asked, registryId=account, repositoryName=repository, imageIds=ids):
            yield f"image {image}: is not in the registry; build it and push it (docs/ecs.md)"


def _bucket(config: Config, aws: Aws) -> Iterator[str]:
    bucket = config.blob_store.removeprefix("s3://").partition("/")[0]
    if not _there(aws.client("s3").head_bucket, Bucket=bucket):
        yield f"blob_store: there is no bucket {bucket}; make it with `aws s3 mb s3://{bucket}`"


def _there(ask: Any, **what: Any) -> dict[str, Any] | None:
    """The answer; None where AWS says that there is no such thing."""
    try:
        answer: dict[str, Any] = ask(**what)
    except ClientError as error:
        if error.response["Error"]["Code"] in _MISSING:
            return None
        raise
    return answer
