"""Replicas of a compose service, as the engine is asked for them; the engine itself is asked by `make test-docker`."""

from typing import Any

import pytest

from odradek_scaling.containers import NUMBER, PROJECT, SERVICE, address_of, copy_of, free_numbers, number_of


def inspected(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A container as the engine describes it, cut down to what a replica is made of."""
    name, short = f"odr-env-worker-{number}", f"{number:012d}"
    return {
        "Id": short + "f" * 52,
        "Name": f"/{name}",
        "Image": "sha256:1",
        "Config": {
            "Hostname": short,
            "Image": "odradek/env-worker:1",
            "Env": ["ODRADEK_HTTP_PORT=9500", "ODRADEK_TOPIC_PREFIX=a=b."],
            "Labels": {PROJECT: "odr", SERVICE: "env-worker", NUMBER: str(number)},
            "Healthcheck": {"Test": ["CMD", "true"]},
            "StopTimeout": 45,
            "Volumes": {"/var/lib/odradek/flights": {}},
        },
        "HostConfig": {"NetworkMode": "odr_private", "ReadonlyRootfs": True, "CapDrop": ["ALL"]},
        "NetworkSettings": {
            "Networks": {
                "odr_private": {
                    "IPAddress": "172.20.0.5",
                    "Aliases": [name, "env-worker", short],
                    "MacAddress": "02:42:ac:14:00:05",
                },
                "odr_outside": {"IPAddress": "172.21.0.5", "Aliases": ["env-worker", short]},
            }
        },
        **changes,
    }


def test_a_replica_is_its_pattern_but_for_what_was_the_patterns_own() -> None:
    pattern = inspected(1)
    config, networks = copy_of(pattern, "odr-env-worker-3", 3)
    assert config["Labels"] == {PROJECT: "odr", SERVICE: "env-worker", NUMBER: "3"}
    assert pattern["Config"]["Labels"][NUMBER] == "1", "the pattern is left as it is"
    assert "Hostname" not in config
    for kept in ("Image", "Env", "Healthcheck", "StopTimeout", "Volumes"):
        assert config[kept] == pattern["Config"][kept]
    assert config["HostConfig"] == pattern["HostConfig"]
    at_once = config["NetworkingConfig"]["EndpointsConfig"]
    assert at_once == {"odr_private": {"Aliases": ["env-worker", "odr-env-worker-3"]}}
    assert networks == {"odr_outside": ["env-worker", "odr-env-worker-3"]}


def test_a_replica_of_a_container_in_no_network_of_its_own_is_in_none_either() -> None:
    alone = inspected(HostConfig={"NetworkMode": "host"}, NetworkSettings={"Networks": {}})
    config, networks = copy_of(alone, "odr-env-worker-2", 2)
    assert (config["NetworkingConfig"], networks) == ({"EndpointsConfig": {}}, {})
    assert address_of(alone) is None


@pytest.mark.parametrize(
    ("taken", "more", "free"),
    [([1], 2, [2, 3]), ([2, 5], 3, [1, 3, 4]), ([], 1, [1]), ([1, 2], 0, []), ([3], -1, [])],
)
def test_numbers_are_filled_from_the_lowest(taken: list[int], more: int, free: list[int]) -> None:
    there = [inspected(number) for number in taken]
    assert [number_of(container) for container in there] == taken
    assert free_numbers(there, more) == free


def test_a_worker_answers_where_its_settings_and_its_network_say() -> None:
    assert address_of(inspected()) == ("172.20.0.5", 9500)
    plain = inspected()
    plain["Config"]["Env"] = None
    assert address_of(plain) == ("172.20.0.5", 9400)


def test_a_worker_is_asked_in_a_network_that_the_asker_is_in() -> None:
    """Caught: the autoscaler's container, in the private network alone, asking in the other one: nobody answers."""
    container = inspected(1)
    assert address_of(container, {"odr_outside"}) == ("172.21.0.5", 9500)
    assert address_of(container, {"odr_private", "other"}) == ("172.20.0.5", 9500)
    assert address_of(container) == ("172.20.0.5", 9500)
    assert address_of(container, {"other"}) is None
