"""What tasks stand on: logs, roles, security groups, the cluster, discovery."""

import json
from typing import Any

from odradek_ecs.aws import Aws, digest, lower, mark, read_tags, upper
from odradek_ecs.kinds.kind import Found
from odradek_schemas.base import JsonObject

NAMESPACE_SECONDS = 300.0
DETACH_SECONDS = 600.0
"""How long AWS may take to let go of a task's network interface or of its address."""


class LogGroups:
    """The log group. `wanted`: retentionInDays."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._logs = aws, aws.client("logs")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        groups = self._logs.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
        arn = next((group["logGroupArn"] for group in groups if group["logGroupName"] == name), None)
        return Found.tagged(arn, self._logs.list_tags_for_resource(resourceArn=arn)["tags"]) if arn else None

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        if found is None:
            self._logs.create_log_group(logGroupName=name, tags=self._aws.owner)
            found = self.find(name, wanted)
            assert found is not None
        self._logs.put_retention_policy(logGroupName=name, **wanted)
        self._logs.tag_resource(resourceArn=found.id, tags=mark(wanted))
        return found.id

    def remove(self, name: str, found: Found) -> None:
        self._logs.delete_log_group(logGroupName=name)


class Roles:
    """Roles of the deployment's path, with one inline policy. `wanted`: trust, policy."""

    POLICY = "odradek"

    def __init__(self, aws: Aws) -> None:
        self._aws, self._iam = aws, aws.client("iam")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        try:
            role = self._iam.get_role(RoleName=name)["Role"]
        except self._iam.exceptions.NoSuchEntityException:
            return None
        return Found.tagged(role["Arn"], read_tags(role.get("Tags", [])))

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        trust, policy = json.dumps(wanted["trust"]), wanted["policy"]
        arn = found.id if found else self._create(name, trust)
        if found:
            self._iam.update_assume_role_policy(RoleName=name, PolicyDocument=trust)
        if policy is not None:
            self._iam.put_role_policy(
                RoleName=name, PolicyName=self.POLICY, PolicyDocument=json.dumps(policy)
            )
        else:
            self._forget(name)
        self._iam.tag_role(RoleName=name, Tags=upper(mark(wanted)))
        return arn

    def _create(self, name: str, trust: str) -> str:
        path, tags = self._aws.names.role_path, upper(self._aws.owner)
        created = self._iam.create_role(RoleName=name, Path=path, AssumeRolePolicyDocument=trust, Tags=tags)
        return str(created["Role"]["Arn"])

    def _forget(self, name: str) -> None:
        for policy in self._iam.list_role_policies(RoleName=name)["PolicyNames"]:
            self._iam.delete_role_policy(RoleName=name, PolicyName=policy)

    def remove(self, name: str, found: Found) -> None:
        self._forget(name)
        self._iam.delete_role(RoleName=name)


class SecurityGroups:
    """Security groups, empty. `wanted`: Description, VpcId."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._ec2 = aws, aws.client("ec2")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        filters = [{"Name": "group-name", "Values": [name]}]
        if wanted is not None:
            filters.append({"Name": "vpc-id", "Values": [str(wanted["VpcId"])]})
        groups = self._ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
        return Found.tagged(groups[0]["GroupId"], read_tags(groups[0].get("Tags", []))) if groups else None

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        if found:  # of another description: it can't be changed, and says nothing that counts
            return self._mark(found.id, wanted)
        tags = [{"ResourceType": "security-group", "Tags": upper(self._aws.owner)}]
        created = self._ec2.create_security_group(GroupName=name, TagSpecifications=tags, **wanted)
        return self._mark(created["GroupId"], wanted)

    def _mark(self, group: str, wanted: JsonObject) -> str:
        self._ec2.create_tags(Resources=[group], Tags=upper(mark(wanted)))
        return group

    def remove(self, name: str, found: Found) -> None:
        def gone() -> bool | None:
            try:
                self._ec2.delete_security_group(GroupId=found.id)
            except self._ec2.exceptions.ClientError as error:
                if error.response["Error"]["Code"] != "DependencyViolation":
                    raise
                return None
            return True

        self._aws.until(gone, DETACH_SECONDS, f"security group {name}: something still uses it")


class Ingress:
    """Who may call the tasks behind a group. `wanted`: group, callers [{group, port}]."""

    def __init__(self, aws: Aws) -> None:
        self._ec2, self._groups = aws.client("ec2"), SecurityGroups(aws)

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        group = self._groups.find(name, None)
        rules = self._rules(group.id) if group else []
        if group is None or not rules:
            return None
        same = wanted is not None and _calls(rules) == _calls(_permissions(wanted))
        return Found(group.id, digest(wanted) if wanted and same else None)

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        group = str(wanted["group"])
        if found:
            self._ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=self._rules(group))
        if permissions := _permissions(wanted):
            self._ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=permissions)
        return group

    def remove(self, name: str, found: Found) -> None:
        self._ec2.revoke_security_group_ingress(GroupId=found.id, IpPermissions=self._rules(found.id))

    def _rules(self, group: str) -> list[dict[str, Any]]:
        described = self._ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["IpPermissions"]
        return [
            {
                key: rule[key]
                for key in ("IpProtocol", "FromPort", "ToPort", "UserIdGroupPairs", "IpRanges")
                if rule.get(key)
            }
            for rule in described
        ]


def _permissions(wanted: JsonObject) -> list[dict[str, Any]]:
    callers: Any = wanted["callers"]
    return [
        {
            "IpProtocol": "tcp",
            "FromPort": caller["port"],
            "ToPort": caller["port"],
            "UserIdGroupPairs": [{"GroupId": caller["group"], "Description": caller["who"]}],
        }
        for caller in callers
    ]


def _calls(rules: list[dict[str, Any]]) -> set[tuple[str, int | None, int | None, str]]:
    """Rules, however they are bundled: protocol, ports, who."""
    return {
        (rule["IpProtocol"], rule.get("FromPort"), rule.get("ToPort"), who)
        for rule in rules
        for who in (
            *(pair["GroupId"] for pair in rule.get("UserIdGroupPairs", [])),
            *(span["CidrIp"] for span in rule.get("IpRanges", [])),
        )
    }


class Clusters:
    """The cluster. `wanted`: capacityProviders."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._ecs = aws, aws.client("ecs")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        found = self._ecs.describe_clusters(clusters=[name], include=["TAGS"])["clusters"]
        live = [cluster for cluster in found if cluster["status"] != "INACTIVE"]
        return Found.tagged(live[0]["clusterArn"], read_tags(live[0].get("tags", []))) if live else None

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        if found is None:
            created = self._ecs.create_cluster(clusterName=name, tags=lower(self._aws.owner), **wanted)
            found = Found(created["cluster"]["clusterArn"])
        else:
            self._ecs.put_cluster_capacity_providers(
                cluster=name, defaultCapacityProviderStrategy=[], **wanted
            )
        self._ecs.tag_resource(resourceArn=found.id, tags=lower(mark(wanted)))
        return found.id

    def remove(self, name: str, found: Found) -> None:
        self._ecs.delete_cluster(cluster=name)


class Namespaces:
    """The private DNS zone of the deployment. `wanted`: Vpc."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._map = aws, aws.client("servicediscovery")

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        filters = [{"Name": "TYPE", "Values": ["DNS_PRIVATE"], "Condition": "EQ"}]
        pages = self._map.get_paginator("list_namespaces").paginate(Filters=filters)
        spaces = [space for page in pages for space in page["Namespaces"] if space["Name"] == name]
        if not spaces:
            return None
        tags = self._map.list_tags_for_resource(ResourceARN=spaces[0]["Arn"])["Tags"]
        return Found.tagged(spaces[0]["Id"], read_tags(tags))

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        if found:
            return found.id
        tags = upper(self._aws.owner | mark(wanted))
        begun = self._map.create_private_dns_namespace(Name=name, Vpc=wanted["Vpc"], Tags=tags)
        return self._done(begun["OperationId"], f"namespace {name}: is not made")

    def remove(self, name: str, found: Found) -> None:
        begun = self._map.delete_namespace(Id=found.id)
        self._done(begun["OperationId"], f"namespace {name}: is not removed")

    def _done(self, operation: str, what: str) -> str:
        def look() -> str | None:
            now = self._map.get_operation(OperationId=operation)["Operation"]
            if now["Status"] == "FAIL":
                raise self._map.exceptions.InvalidInput(
                    {"Error": {"Code": now.get("ErrorCode", ""), "Message": now.get("ErrorMessage", "")}},
                    "GetOperation",
                )
            return str(now["Targets"]["NAMESPACE"]) if now["Status"] == "SUCCESS" else None

        return self._aws.until(look, NAMESPACE_SECONDS, what)


class Discoveries:
    """A service's entry in the namespace. `wanted`: DnsConfig, HealthCheckCustomConfig."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._map, self._spaces = aws, aws.client("servicediscovery"), Namespaces(aws)

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        space = self._spaces.find(self._aws.names.namespace, None)
        if space is None:
            return None
        filters = [{"Name": "NAMESPACE_ID", "Values": [space.id], "Condition": "EQ"}]
        pages = self._map.get_paginator("list_services").paginate(Filters=filters)
        entries = [entry for page in pages for entry in page["Services"] if entry["Name"] == name]
        if not entries:
            return None
        tags = self._map.list_tags_for_resource(ResourceARN=entries[0]["Arn"])["Tags"]
        return Found.tagged(entries[0]["Arn"], read_tags(tags))

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        if found:
            change = {"DnsConfig": {"DnsRecords": wanted["DnsConfig"]["DnsRecords"]}}  # type: ignore[call-overload, index]
            self._map.update_service(Id=found.id.rsplit("/", 1)[-1], Service=change)
            self._map.tag_resource(ResourceARN=found.id, Tags=upper(mark(wanted)))
            return found.id
        space = self._spaces.find(self._aws.names.namespace, None)
        assert space is not None
        tags = upper(self._aws.owner | mark(wanted))
        created = self._map.create_service(Name=name, NamespaceId=space.id, Tags=tags, **wanted)
        return str(created["Service"]["Arn"])

    def remove(self, name: str, found: Found) -> None:
        def gone() -> bool | None:
            try:
                self._map.delete_service(Id=found.id.rsplit("/", 1)[-1])
            except self._map.exceptions.ResourceInUse:
                return None
            return True

        self._aws.until(gone, DETACH_SECONDS, f"discovery {name}: tasks are still entered")
