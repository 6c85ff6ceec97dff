import re

from odradek_runtime.trace import traceparent
from odradek_schemas.events import ModelCallRequested, RunCancelled
from odradek_schemas.examples import examples


def test_a_rollouts_events_are_spans_of_one_trace_and_named_the_same_each_time() -> None:
    call = next(examples(ModelCallRequested))
    first, again = traceparent(call), traceparent(call)
    other = traceparent(call.model_copy(update={"id": "another"}))
    assert first == again
    assert first is not None
    assert other is not None
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", first)
    assert first.split("-")[1] == other.split("-")[1]
    assert first.split("-")[2] != other.split("-")[2]


def test_an_event_of_no_rollout_has_no_trace() -> None:
    assert traceparent(RunCancelled(id="x", run_id="run", reason="asked to")) is None
