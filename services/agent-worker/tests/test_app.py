"""The service, put together."""

from odradek_agent_worker.admission import share
from odradek_agent_worker.app import create_processor
from odradek_agent_worker.harnesses import find_harness
from odradek_agent_worker.settings import AgentSettings
from odradek_runtime.folds import FoldContext
from odradek_schemas.failures import Failure, FailureKind


def test_the_processor_reads_what_the_topic_table_says():
    processor = create_processor(AgentSettings())
    assert processor.inputs == ("tasks", "model-results", "observations")
    assert (processor.name, processor.changelog, processor.anchor) == ("agent-worker", "journal", "tasks")


def test_settings_reach_the_fold(monkeypatch, tools):
    monkeypatch.setenv("ODRADEK_MAX_ROLLOUTS_IN_FLIGHT", "8")
    fold = create_processor(AgentSettings()).create(FoldContext(0, 4, 4, lambda event: None))
    fold.begin(0, tools.START)
    fold.accept(tools.task(0), None)
    assert fold.wants("tasks")
    fold.accept(tools.task(1), None)
    assert not fold.wants("tasks")


def test_each_partition_has_its_share_and_at_least_one():
    assert share(4096, 4) == 1024
    assert share(3, 8) == 1


def test_harnesses_are_found_by_name():
    assert not isinstance(find_harness("tool_calling"), Failure)
    missing = find_harness("no_such_harness")
    assert isinstance(missing, Failure)
    assert missing.kind is FailureKind.UNKNOWN_HARNESS
    assert "tool_calling" in missing.message
