"""Any rollout that is written in a format and read again is what it was."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from odradek.formats import Record, atif, nemo_gym, own
from odradek.formats.foreign import Source
from odradek_schemas.events import RewardAssigned
from odradek_schemas.rollouts import Trajectory
from odradek_schemas.testing import values

SOURCE = Source("a.jsonl", "a")
FORMATS = {
    "odradek": (own.write, lambda row: own.read(row, 1)),
    "nemo-gym": (lambda record: to_json(nemo_gym.write(record)), lambda row: nemo_gym.read(row, SOURCE, 1)),
    "atif": (lambda record: to_json(atif.write(record)), lambda row: atif.read(row, SOURCE, 1)),
}


def recorded(trajectory, rewards):
    """The prompt is a part of the messages."""
    prompt = trajectory.prompt_messages % (len(trajectory.messages) + 1)
    return Record(trajectory.model_copy(update={"prompt_messages": prompt}), tuple(rewards))


RECORDS = st.builds(recorded, values(Trajectory), st.lists(values(RewardAssigned), max_size=2))


@pytest.mark.parametrize("name", FORMATS)
@given(record=RECORDS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_rollout_survives(name, record):
    write, read = FORMATS[name]
    assert read(from_json(write(record))) == record
