"""Members of one group that count on different numbers of partitions, as while a pool is started again."""

import pytest
from runtime_lab import CALLS, RESULTS, Echo, Lab, call

from odradek_runtime.log_writer import LogWriter
from odradek_runtime.names import Names
from odradek_schemas.events import PartitionsAdded
from odradek_schemas.topics import positions_topic

pytestmark = pytest.mark.kafka

GROWN = 4
LONG = 120.0
"""A session timeout that no test waits for."""
TOPICS = (CALLS, RESULTS, positions_topic("echo"))


async def test_a_member_of_before_goes_on_and_shares_with_one_of_after(lab: Lab) -> None:
    old = lab.start(Echo().processor())
    await lab.owning(old)
    await lab.send(CALLS, [call(0)], partition=0)
    await lab.grow(GROWN, *TOPICS)
    await lab.send(CALLS, [call(1)], partition=1)
    await lab.answered(2)
    await lab.send(CALLS, [call(2)], partition=3)
    new = lab.start(Echo().processor())
    await lab.send(CALLS, [call(3)], partition=2)
    await old.stop()
    await lab.owning(new)
    assert len(await lab.answered(4)) == 4


async def test_a_static_member_that_was_killed_owns_the_added_partitions_when_it_is_back(lab: Lab) -> None:
    """Caught: the group gives a static member that comes back what it had, and asks nobody."""
    static = {"worker_id": "w-0", "session_timeout_seconds": LONG}
    first = lab.start_program("echo", **static)
    await lab.send(CALLS, [call(0)], partition=0)
    await lab.answered(1)
    await lab.grow(GROWN, *TOPICS)
    first.process.kill()
    first.process.wait(10)
    second = lab.start(Echo().processor(), **static)
    second.worker.control(PartitionsAdded(id="partitions", counts=[2, GROWN]))
    await lab.owning(second)
    await lab.send(CALLS, [call(n) for n in range(1, 3)], partition=3)
    assert len(await lab.answered(3)) == 3


async def test_a_writer_writes_to_partitions_that_were_added_while_it_was_open(lab: Lab) -> None:
    """Caught: the client looks at a topic's partitions again after minutes, and fails until then."""
    writer = LogWriter(lab.settings().brokers, "test", Names(lab.prefix), lab.blobs, seconds=10.0)
    await writer.start()
    try:
        await writer.write(CALLS, call(0), 0)
        await lab.grow(GROWN, CALLS)
        await writer.write(CALLS, call(1), GROWN - 1)
    finally:
        await writer.stop()
