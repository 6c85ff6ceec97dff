"""Rule 11: what we need of aiokafka's inside is there, and only the modules that own it touch it."""

import ast
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.producer import sender

import odradek_runtime
from odradek_runtime import tuning

SOURCE = Path(odradek_runtime.__file__).parent
SEAMS = {
    "acquisition.py",
    "committer.py",
    "membership.py",
    "tuning.py",
    "assignor.py",
    "errors.py",
    "log_reader.py",
}


def test_the_wait_between_transactions_is_ours() -> None:
    """Caught: an aiokafka whose constant has another name: 20 ms between the transactions of a producer."""
    assert hasattr(sender, "BACKOFF_OVERRIDE")
    tuning.tune_aiokafka()
    assert sender.BACKOFF_OVERRIDE == tuning.TRANSACTION_BACKOFF_SECONDS
    used = ast.walk(ast.parse(Path(sender.__file__).read_text()))
    assert sum(isinstance(node, ast.Name) and node.id == "BACKOFF_OVERRIDE" for node in used) > 1


def test_tuning_says_when_the_constant_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sender, "BACKOFF_OVERRIDE")
    with pytest.raises(AttributeError, match=r"odradek_runtime\.tuning"):
        tuning.tune_aiokafka()


async def test_the_private_parts_that_we_use_are_there() -> None:
    """Caught: an aiokafka in which the seams would fail only when a worker is fenced, or leaves."""
    consumer = AIOKafkaConsumer(group_id="g", group_instance_id="i")
    assert consumer._subscription.subscription is None
    assert hasattr(consumer, "_coordinator")
    assert "_group_instance_id" in GroupCoordinator.__init__.__code__.co_names
    assert "generation" in GroupCoordinator.__init__.__code__.co_names
    assert "_do_heartbeat" in GroupCoordinator._heartbeat_routine.__code__.co_names
    producer = AIOKafkaProducer(transactional_id="t")
    assert callable(producer._txn_manager.is_in_transaction)
    assert producer._sender.sender_task is None


def test_kafkas_mechanics_stay_behind_the_seams() -> None:
    """Caught: a module that reaches for aiokafka's clients, or for anybody's private parts, by itself."""
    clients, private = set(), set()
    for file in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "aiokafka":
                names = {alias.name for alias in node.names}
                if names & {"AIOKafkaConsumer", "AIOKafkaProducer"} or ".coordinator" in (node.module or ""):
                    clients.add(file.name)
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
            ):
                owner = node.value
                if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                    private.add(file.name)
    owners = {"assignor", "committer", "log_follower", "log_reader", "log_writer", "membership"}
    owners |= {"groups", "growing", "tails"}  # from outside: they own no partition
    assert clients <= {f"{owner}.py" for owner in owners}
    assert private == {"committer.py", "membership.py"}
