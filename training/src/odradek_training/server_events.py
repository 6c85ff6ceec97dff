"""A reward stream as server-sent events (WHATWG HTML, section 9.2)."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from odradek_training.cursor import to_cursor
from odradek_training.errors import StreamError
from odradek_training.group import Group
from odradek_training.stream import RewardStream

HEARTBEAT = b": heartbeat\n\n"
_RETRY = b"retry: 2000\n\n"


async def events(stream: RewardStream, heartbeat: float) -> AsyncIterator[bytes]:
    """Each group, with the position behind it as its id; a comment when for `heartbeat` seconds there was none.

    The last event is `end` (with the stream's statistics) or `error` (with its kind and message).
    """
    yield _RETRY
    while True:
        try:
            async with asyncio.timeout(heartbeat):
                group = await anext(stream, None)
        except TimeoutError:
            yield HEARTBEAT
        except StreamError as error:
            yield _event("error", _json({"kind": type(error).__name__, "message": str(error)}))
            return
        else:
            if group is None:
                yield _event("end", _json(stream.stats().as_dict()), to_cursor(stream.position()))
                return
            yield _event("group", group_json(group), to_cursor(stream.position()))


def group_json(group: Group) -> bytes:
    """A group as JSON: `rewards` are `RewardAssigned` events, `advantages` go with them."""
    head = {
        "run_id": group.run_id,
        "task_id": group.task_id,
        "size": group.size,
        "complete": group.complete,
        "advantages": group.advantages(),
    }
    rewards = (event.__pydantic_serializer__.to_json(event, exclude_none=True) for event in group.rewards)
    return b'%b,"rewards":[%b]}' % (_json(head)[:-1], b",".join(rewards))


def _event(name: str, data: bytes, event_id: str | None = None) -> bytes:
    head = "" if event_id is None else f"id: {event_id}\n"
    return b"%bevent: %b\ndata: %b\n\n" % (head.encode(), name.encode(), data)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
