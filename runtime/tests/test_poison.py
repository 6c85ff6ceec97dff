"""Rule 7: a poisonous record goes to dead-letters together with a typed failure, in one transaction."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest
from runtime_lab import CALLS, LETTERS, RESULTS, Echo, Lab, Tally, call, reply, until, until_async

from odradek_schemas.codec import Encoded, encode, with_reference
from odradek_schemas.events import ModelCallFailed

pytestmark = pytest.mark.kafka

KINDS = {
    "no header": "'ce_id' is missing",
    "not JSON": "Invalid JSON",
    "cut short": "Invalid JSON",
    "another type": "type 'ModelCallCompleted' does not belong here",
    "bad field": "deadline",
    "tombstone": "'ce_type' is missing",
    "no blob": "is not in",
    "no reference": "is not a blob reference",
    "damaged blob": "blob",
}

NAMELESS = {"no header", "tombstone"}
"""Nothing tells who waits for it: a letter is all that can be written."""


def stored(lab: Lab) -> list[Path]:
    return list(Path(lab.folder, "blobs").rglob("*.zst"))


async def poison(lab: Lab, kind: str) -> Encoded:
    good = encode(call(1), "test")
    assert good.value is not None
    if kind == "no header":
        return Encoded(good.key, good.value, tuple(h for h in good.headers if h[0] != "ce_id"))
    if kind in ("not JSON", "cut short"):
        return Encoded(good.key, b"{" if kind == "not JSON" else good.value[:-9], good.headers)
    if kind == "another type":
        other = encode(reply(call(1)).event, "test")
        return Encoded(good.key, other.value, other.headers)
    if kind == "bad field":
        return Encoded(good.key, good.value.replace(b'"deadline":"', b'"deadline":"x'), good.headers)
    if kind == "tombstone":
        return Encoded(good.key, None, ())
    before = set(stored(lab))
    reference = await lab.blobs.put(good.value.replace(b'"m"', f'"{kind}"'.encode()))
    (file,) = set(stored(lab)) - before
    if kind == "no blob":
        file.unlink()
    elif kind == "damaged blob":
        file.write_bytes(file.read_bytes()[:-3] + b"xyz")
    else:
        reference = "not/a/reference"
    return with_reference(good, reference)


@pytest.mark.parametrize("shape", ["concurrent", "stateful"])
async def test_poison_becomes_a_letter_and_a_failure_and_stops_nobody(lab: Lab, shape: str) -> None:
    """Caught: a worker that stops at it, skips it in silence, or lets the rollout wait for ever."""
    bad = {kind: await poison(lab, kind) for kind in KINDS}
    await lab.send(CALLS, [call(0)])
    kinds = {await lab.send_raw(CALLS, b.key, b.value, b.headers): kind for kind, b in bad.items()}
    await lab.send(CALLS, [call(2)])
    running = lab.start(Echo().processor() if shape == "concurrent" else Tally().processor())
    name = running.worker._processor.name
    results = [seen.event for seen in await lab.answered(2 + len(KINDS) - len(NAMELESS))]
    letters = {letter.event.record.offset: letter.event for letter in await lab.read(LETTERS)}
    assert letters.keys() == kinds.keys()
    for offset, letter in letters.items():
        kind = kinds[offset]
        assert KINDS[kind] in letter.reason
        assert str(letter.record) == letter.id == f"model-calls[0]@{offset}"
        assert base64.b64decode(letter.record_value or "") == (bad[kind].value or b"")
        assert letter.worker == name
        assert letter.rollout_id == (None if kind in NAMELESS else "run/1/0")
    failures = [event for event in results if isinstance(event, ModelCallFailed)]
    assert {failure.rollout_id for failure in failures} == {"run/1/0"}
    assert sorted(failure.failure.message for failure in failures) == sorted(
        letter.reason for offset, letter in letters.items() if kinds[offset] not in NAMELESS
    )

    async def committed() -> bool:
        position = (await lab.committed(name))[0]
        return position.offset == 2 + len(KINDS) and not position.unfinished

    await until_async(committed)


@pytest.mark.parametrize("shape", ["concurrent", "stateful"])
async def test_a_letter_and_its_failure_are_in_one_transaction(lab: Lab, shape: str) -> None:
    """Caught: a letter written on its own: after a failed commit there would be two, or one without a failure."""
    await lab.set_largest_message(RESULTS, 200)
    running = lab.start(Echo().processor() if shape == "concurrent" else Tally().processor())
    await lab.owning(running)
    bad = await poison(lab, "not JSON")
    await lab.send_raw(CALLS, bad.key, bad.value, bad.headers)
    await until(lambda: (running.value("odradek_errors_total", kind="MessageSizeTooLargeError") or 0) >= 1)
    assert await lab.read(LETTERS) == []
    await lab.set_largest_message(RESULTS, 1_000_000)
    await lab.answered(1)
    assert len(await lab.read(LETTERS)) == 1


async def test_what_is_not_wanted_is_passed_by_unread(lab: Lab) -> None:
    """Caught: a processor that decodes first, so that a record of no concern to it becomes a letter and a failure."""
    bad = await poison(lab, "not JSON")
    await lab.send_raw(CALLS, bad.key, bad.value, bad.headers)
    await lab.send(CALLS, [call(2), call(3)])
    unwanted = {call(1).id, call(3).id}
    lab.start(replace(Tally().processor(), wanted=lambda topic, envelope: envelope.id not in unwanted))
    (seen,) = await lab.answered(1)
    assert seen.event.call_id == call(2).id
    assert await lab.read(LETTERS) == []
