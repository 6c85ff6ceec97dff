"""Healthy logs are clean however their topics interleave, and any loss or double in them is found."""

from collections import defaultdict
from dataclasses import replace
from random import Random

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.audit import Invariant, LogRecord, Verdict
from odradek.audit.run import is_late_call
from tests.support.audited_log import AuditedLog, altered, healthy_log

SEEDS = range(4)
LEGALLY_LOST = {"RolloutSnapshot", "HarnessStuck"}
"""What repeats what is in the log, or is a mere note."""
RESULTS = {
    "ModelCallCompleted",
    "ModelCallFailed",
    "SessionReady",
    "ToolCallCompleted",
    "ToolCallFailed",
    "ProgramFinished",
    "SessionClosed",
    "SessionFailed",
}

logs = st.builds(healthy_log, st.sampled_from(SEEDS), st.just(True), st.booleans(), programs=st.booleans())
poisoned = st.builds(healthy_log, st.sampled_from(SEEDS), poisoned=st.just(True))


def interleaved(log: AuditedLog, random: Random, most: int) -> AuditedLog:
    """Each topic in its own order, and all of them in any: as a reader may see them who fetches `most` at a time."""
    topics: dict[tuple[str, int], list[LogRecord]] = defaultdict(list)
    for record in log.records:
        topics[record.place[:2]].append(record)
    records: list[LogRecord] = []
    while topics:
        topic = random.choice(sorted(topics))
        count = random.randint(1, most)
        records += topics[topic][:count]
        topics[topic] = topics[topic][count:]
        if not topics[topic]:
            del topics[topic]
    return replace(log, records=tuple(records))


@pytest.mark.parametrize("programs", [False, True])
@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_healthy_run_is_clean(seed: int, cancelled: bool, programs: bool) -> None:
    report = healthy_log(seed, cancelled=cancelled, programs=programs).audit()
    assert report.verdict is Verdict.CLEAN, str(report)
    assert report.status == ("cancelled" if cancelled else "finished")
    assert report.rewards == report.admitted == report.rollouts


@pytest.mark.parametrize("seed", SEEDS)
def test_garbage_in_the_name_of_rollouts_is_no_violation_but_reported(seed: int) -> None:
    """Requests and results that workers can't read are answered, and accepted, as failures."""
    log = healthy_log(seed, poisoned=True)
    report = log.audit()
    assert report.verdict is Verdict.CLEAN, str(report)
    letters = list(log.of("RecordRejected"))
    assert f"records in the dead letters: {len(letters)}" in report.notes
    unread = [letter for letter in letters if b'"record_value":"ew=="' in letter.value]  # "{" in base64
    for letter in unread[:1]:
        silent = log.without(letter).audit()
        (found,) = [one for one in silent.violations if one.invariant is Invariant.READABLE]
        assert orjson.loads(letter.value)["record"] in [place._asdict() for place in found.places]


def test_the_runs_have_seen_troubles() -> None:
    """Else the other tests prove little."""
    seen = {record.type for seed in SEEDS for record in healthy_log(seed).records}
    values = b"".join(record.value for seed in SEEDS for record in healthy_log(seed).records)
    assert seen >= {"RolloutSnapshot", "ModelCallFailed", "ToolCallFailed", "SessionRequested"}
    assert all(word in values for word in (b'"TimerFired"', b'"failed_attempts":[{', b'"context_overflow"'))
    played = [r for seed in SEEDS for r in healthy_log(seed, programs=True).of("TrajectoryFinished")]
    heard = b"".join(record.value for record in played if b'"kind":"program"' in record.value)
    assert all(word in heard for word in (b'"context":[', b'"completed"', b'"program_error"'))


@settings(max_examples=25, deadline=None)
@given(logs | poisoned, st.integers(0, 1_000_000), st.sampled_from([1, 10, 1000]))
def test_the_order_between_topics_does_not_matter(log: AuditedLog, seed: int, most: int) -> None:
    report = interleaved(log, Random(seed), most).audit()
    assert report.verdict is Verdict.CLEAN, str(report)


@settings(max_examples=50, deadline=None)
@given(logs, st.data())
def test_any_double_is_found(log: AuditedLog, data: st.DataObject) -> None:
    named = [r for r in log.records if r.type not in LEGALLY_LOST and not is_late_call(r)]
    record = data.draw(st.sampled_from(named))
    at = data.draw(st.integers(log.records.index(record) + 1, len(log.records)))
    again = log.again(record)
    damaged = replace(log, records=(*log.records[:at], again, *log.records[at:]))
    report = damaged.audit()
    named = {place for found in report.violations for place in found.places}
    assert again.place in named, f"{record}\n{report}"


@settings(max_examples=50, deadline=None)
@given(logs, st.data())
def test_any_loss_is_found(log: AuditedLog, data: st.DataObject) -> None:
    """But for results that came when their rollout had given up, and that nobody accepted."""
    record = data.draw(st.sampled_from([r for r in log.records if r.type not in LEGALLY_LOST]))
    report = log.without(record).audit()
    if record.type in RESULTS and report.verdict is Verdict.CLEAN:
        assert not accepted(log, record)
        assert "calls of ended rollouts without a result" in report.notes[0]
    else:
        assert record.rollout_id in {found.rollout_id for found in report.violations}, f"{record}\n{report}"


@settings(max_examples=25, deadline=None)
@given(logs, st.data())
def test_a_run_under_way_is_incomplete_and_nothing_is_wrong_with_it(
    log: AuditedLog, data: st.DataObject
) -> None:
    """Cut anywhere: each partition at a moment of its own."""
    cut: list[LogRecord] = []
    for partition in {record.place.partition for record in log.records}:
        records = [record for record in log.records if record.place.partition == partition]
        cut += records[: data.draw(st.integers(0, len(records)))]
    report = replace(log, records=tuple(cut), finished=()).audit()
    assert report.verdict is Verdict.INCOMPLETE, str(report)


@settings(max_examples=25, deadline=None)
@given(logs, st.data())
def test_a_double_in_a_run_under_way_is_found(log: AuditedLog, data: st.DataObject) -> None:
    record = data.draw(st.sampled_from([r for r in log.records if r.type not in LEGALLY_LOST]))
    again = log.again(record)
    report = replace(log, finished=()).put(record, record, again).audit()
    assert again.place in {place for found in report.violations for place in found.places}, str(report)


def accepted(log: AuditedLog, result: LogRecord) -> bool:
    """Whether a journal entry says that it was read from there."""
    topic, partition, offset = result.place
    source = f'"source":{{"topic":"{topic}","partition":{partition},"offset":{offset}}}'.encode()
    return any(source in record.value for record in log.of("JournalAppended"))


def test_a_programs_call_that_was_under_way_at_the_end_may_come_late() -> None:
    """Its rollout was cancelled, or its time was up: nobody accepts it, and nothing is wrong with it."""
    log = healthy_log(troubled=False, programs=True)
    record = next(record for record in log.records if is_late_call(record))
    call = f"{orjson.loads(record.value)['call_id']}-late"
    late = log.again(
        altered(record, lambda b: b.update(id=f"{call}/completed", call_id=call)), id=f"{call}/completed"
    )
    assert log.late(late).audit().verdict is Verdict.CLEAN
