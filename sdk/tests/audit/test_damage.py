"""Each invariant can be refuted: a healthy log is damaged in one way, and the audit names the invariant and the record."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import orjson
import pytest

from odradek.audit import Invariant, LogRecord, Place, Verdict
from odradek_schemas.events import RunFinished, RunStatus
from tests.support.audited_log import AuditedLog, Body, altered, healthy_log, swapped

FAILING = 0
"""The seed of a run in which a rollout fails."""
SNAPSHOTS = 0
"""The seed of a run in which a journal has a snapshot."""
QUIET = healthy_log(troubled=False)
PLAYED = "run/0/0"
"""A rollout with a session, and with steps."""


PROGRAMS = healthy_log(troubled=False, programs=True)


class Damage(NamedTuple):
    """A damaged log, and a record that must be named."""

    log: AuditedLog
    named: LogRecord | Place


def dropped(kind: str, witness: str, wanted: Callable[[Body], object] = lambda body: True) -> Damage:
    """Without the first record of `kind`; the first `witness` of the same rollout tells."""
    lost = QUIET.first(kind, wanted)
    return Damage(QUIET.without(lost), QUIET.rollout(lost.rollout_id, witness))


def doubled(kind: str) -> Damage:
    """With a record twice, the second one when the rollout was long over."""
    again = QUIET.again(QUIET.first(kind))
    return Damage(QUIET.late(again), again)


def at_once(kind: str, **changes: Any) -> Damage:
    """With a record twice, the second one right after the first."""
    record = QUIET.first(kind)
    again = QUIET.again(record, **changes)
    return Damage(QUIET.put(record, record, again), again)


def changed(
    kind: str, change: Callable[[Body], object], wanted: Callable[[Body], object] = lambda b: True
) -> Damage:
    record = QUIET.first(kind, wanted)
    damaged = altered(record, change)
    return Damage(QUIET.put(record, damaged), damaged)


def in_trajectory(change: Callable[[Body], object]) -> Damage:
    return changed("TrajectoryFinished", lambda body: change(body["trajectory"]), has_tool_step)


def has_tool_step(body: Body) -> bool:
    return any(step["kind"] == "tool" for step in body["trajectory"]["steps"])


def is_model_input(body: Body) -> bool:
    return bool(body["input"]["type"] == "ModelCallCompleted")


def unplanned() -> Damage:
    record = QUIET.first("RolloutRequested")
    stranger = altered(record, lambda body: body.update(id="run/99/0", rollout_id="run/99/0"))
    stranger = QUIET.again(stranger, id="run/99/0", rollout_id="run/99/0")
    return Damage(QUIET.late(stranger), stranger)


def unjournalled() -> Damage:
    record = QUIET.first("ModelCallRequested")
    other = altered(record, lambda body: body.update(id="run/0/0/1/88"))
    other = QUIET.again(other, id="run/0/0/1/88")
    return Damage(QUIET.put(record, record, other), other)


def never_asked() -> Damage:
    """Nothing is left of one rollout."""
    gone = [record for record in QUIET.records if record.rollout_id == PLAYED]
    return Damage(QUIET.without(*gone), Place("runs", 0, 1))


def lost_answer() -> Damage:
    entry = QUIET.first("JournalAppended", is_model_input)
    result = next(QUIET.of("ModelCallCompleted", lambda body: body["rollout_id"] == entry.rollout_id))
    return Damage(QUIET.without(result), entry)


def accepted_twice() -> Damage:
    """The journal has an input twice, its numbers in order."""
    entries = list(QUIET.of("JournalAppended", lambda body: body["rollout_id"] == PLAYED))
    index = next(n for n, entry in enumerate(entries) if b'"ModelCallCompleted"' in entry.value)
    log = QUIET
    for entry in reversed(entries[index + 1 :]):
        moved = altered(entry, lambda body: body.update(sequence=body["sequence"] + 1))
        log = log.put(entry, moved)
    again = altered(entries[index], lambda body: body.update(sequence=body["sequence"] + 1, requests=[]))
    again = log.again(again)
    return Damage(log.put(entries[index], entries[index], again), again)


def gap(number: int) -> Damage:
    entries = list(QUIET.of("JournalAppended", lambda body: body["rollout_id"] == PLAYED))
    return Damage(QUIET.without(entries[number]), entries[number + 1])


def swapped_entries() -> Damage:
    one, other = list(QUIET.of("JournalAppended", lambda body: body["rollout_id"] == PLAYED))[1:3]
    return Damage(swapped(QUIET, one, other), one.place)


def other_arguments() -> Damage:
    return changed(
        "ToolCallRequested", lambda body: body["call"]["function"].update(arguments='{"amount": 99}')
    )


def unasked_answer() -> Damage:
    result = QUIET.first("ModelCallCompleted")
    call = f"{result.rollout_id}/1/77"
    stranger = altered(result, lambda body: body.update(id=f"{call}/completed", call_id=call))
    stranger = QUIET.again(stranger, id=f"{call}/completed")
    return Damage(QUIET.put(result, result, stranger), stranger)


def last_journal_entry(change: Callable[[Body], object]) -> Damage:
    return changed("JournalAppended", change, lambda body: "ended" in body)


def garbage() -> Damage:
    record = QUIET.first("ModelCallRequested")
    broken = QUIET.again(record, value=b"{")
    return Damage(QUIET.late(broken), broken)


def failed_but_scored() -> Damage:
    log = healthy_log()
    record = log.first("RewardAssigned", lambda body: body["masked"])
    scored = altered(record, lambda body: body.update(masked=False, reward=0.0))
    return Damage(log.put(record, scored), scored)


def other_failure() -> Damage:
    """Of a rollout that failed when its last call did."""
    log = healthy_log(FAILING)
    for entry in log.of(
        "JournalAppended", lambda body: body.get("ended") == "failed" and "failure" in body["input"]
    ):
        record = log.rollout(entry.rollout_id, "TrajectoryFinished")
        other = altered(record, lambda body: body["trajectory"]["failure"].update(message="other"))
        return Damage(log.put(record, other), other)
    raise AssertionError("no rollout failed when its last call did: take another seed")


def played_entries() -> list[LogRecord]:
    return list(QUIET.of("JournalAppended", lambda body: body["rollout_id"] == PLAYED))


def one_request_more(number: int) -> Damage:
    """An entry caused a model call, too, that was sent and never answered."""
    entry, request = played_entries()[number], QUIET.rollout(PLAYED, "ModelCallRequested")
    call = f"{PLAYED}/1/88"
    asking = altered(entry, lambda body: body["requests"].append({"id": call, "fingerprint": "0"}))
    sent = QUIET.again(altered(request, lambda body: body.update(id=call)), id=call)
    return Damage(QUIET.put(entry, asking).put(request, request, sent), asking)


def asked_again() -> Damage:
    first, second = played_entries()[1:3]
    asked = orjson.loads(first.value)["requests"]
    again = altered(second, lambda body: body["requests"].extend(asked))
    return Damage(QUIET.put(second, again), again)


def begun_again() -> Damage:
    first, second = played_entries()[:2]
    task = orjson.loads(first.value)["input"]
    again = altered(second, lambda body: body.update(input=task))
    return Damage(QUIET.put(second, again), again)


def ended(*offsets: int) -> Damage:
    """`RolloutEnded` so far behind the end of the journal of the rollout."""
    last = played_entries()[-1]
    body = {"type": "RolloutEnded", "id": "e", "run_id": "run", "rollout_id": PLAYED, "status": "completed"}
    ends = [
        last._replace(
            type="RolloutEnded",
            id="e",
            place=last.place._replace(offset=last.place.offset + offset),
            value=orjson.dumps(body),
        )
        for offset in offsets
    ]
    return Damage(QUIET.put(last, last, *ends), ends[-1])


def other_snapshot() -> Damage:
    log = healthy_log(SNAPSHOTS)
    snapshot = log.first("RolloutSnapshot")
    other = altered(snapshot, lambda body: body["entries"].pop())
    return Damage(log.put(snapshot, other), other)


def nameless() -> Damage:
    record = QUIET.first("RolloutRequested")
    other = altered(record, lambda body: body.update(id="run/x/0", rollout_id="run/x/0"))
    other = QUIET.again(other, id="run/x/0", rollout_id="run/x/0")
    return Damage(QUIET.late(other), other)


def two_ends() -> Damage:
    (_, finished), *_ = QUIET.finished
    return Damage(QUIET.ended(finished, finished), Place("runs", 0, 2))


def of_program(kind: str, change: Callable[[Body], object], wanted: Callable[[Body], object]) -> Damage:
    record = PROGRAMS.first(kind, wanted)
    damaged = altered(record, change)
    return Damage(PROGRAMS.put(record, damaged), damaged)


def was_heard(body: Body) -> bool:
    return "asked" in body


def has_heard(body: Body) -> bool:
    return any("context" in step for step in body["trajectory"]["steps"])


def in_heard_trajectory(change: Callable[[Body], object]) -> Damage:
    return of_program("TrajectoryFinished", lambda body: change(body["trajectory"]["steps"]), has_heard)


def lost_of_program(kind: str, witness: str, wanted: Callable[[Body], object] = lambda body: True) -> Damage:
    lost = PROGRAMS.first(kind, wanted)
    return Damage(PROGRAMS.without(lost), PROGRAMS.rollout(lost.rollout_id, witness))


def late_of_program(kind: str) -> Damage:
    again = PROGRAMS.again(PROGRAMS.first(kind))
    return Damage(PROGRAMS.late(again), again)


def heard_of_nobody() -> Damage:
    """A call in the name of a program that nobody asked for."""
    result = PROGRAMS.first("ModelCallCompleted", was_heard)
    call = f"{result.rollout_id}/1/66/http-0"
    stranger = altered(result, lambda body: body.update(id=f"{call}/completed", call_id=call))
    stranger = PROGRAMS.again(stranger, id=f"{call}/completed")
    return Damage(PROGRAMS.put(result, result, stranger), stranger)


DAMAGES: dict[str, tuple[Invariant, Callable[[], Damage]]] = {
    "a task is lost": (Invariant.PLAN, lambda: dropped("RolloutRequested", "RewardAssigned")),
    "a task is double": (Invariant.PLAN, lambda: at_once("RolloutRequested")),
    "a task is double, late": (Invariant.PLAN, lambda: doubled("RolloutRequested")),
    "a rollout is not planned": (Invariant.PLAN, unplanned),
    "a rollout has no number": (Invariant.PLAN, nameless),
    "a rollout is nowhere": (Invariant.PLAN, never_asked),
    "a trajectory is lost": (Invariant.TRAJECTORY, lambda: dropped("TrajectoryFinished", "RolloutRequested")),
    "a trajectory is double": (Invariant.TRAJECTORY, lambda: at_once("TrajectoryFinished")),
    "a trajectory is double, late": (Invariant.TRAJECTORY, lambda: doubled("TrajectoryFinished")),
    "a reward is lost": (Invariant.REWARD, lambda: dropped("RewardAssigned", "RolloutRequested")),
    "a reward is double": (Invariant.REWARD, lambda: at_once("RewardAssigned")),
    "a reward is double, late": (Invariant.REWARD, lambda: doubled("RewardAssigned")),
    "a journal begins late": (Invariant.JOURNAL, lambda: gap(0)),
    "a journal has a gap": (Invariant.JOURNAL, lambda: gap(2)),
    "a journal has two beginnings": (Invariant.JOURNAL, lambda: at_once("JournalAppended")),
    "a journal entry is double, late": (Invariant.JOURNAL, lambda: doubled("JournalAppended")),
    "journal entries are swapped": (Invariant.JOURNAL, swapped_entries),
    "a journal has no end": (Invariant.JOURNAL, lambda: last_journal_entry(lambda body: body.pop("ended"))),
    "a journal has another end": (
        Invariant.JOURNAL,
        lambda: last_journal_entry(lambda body: body.update(ended="truncated")),
    ),
    "a journal goes on after its end": (
        Invariant.JOURNAL,
        lambda: changed("JournalAppended", lambda body: body.update(ended="completed")),
    ),
    "a journal goes on after the word of its end": (Invariant.JOURNAL, lambda: ended(-1)),
    "a journal says twice that it ended": (Invariant.JOURNAL, lambda: ended(1, 2)),
    "a journal begins twice": (Invariant.JOURNAL, begun_again),
    "a journal begins with another task": (
        Invariant.JOURNAL,
        lambda: changed("JournalAppended", lambda body: body["input"].update(seed=-1)),
    ),
    "a snapshot lacks an entry": (Invariant.JOURNAL, other_snapshot),
    "an accepted reply differs": (
        Invariant.JOURNAL,
        lambda: changed(
            "JournalAppended", lambda body: body["input"]["message"].update(content="other"), is_model_input
        ),
    ),
    "an accepted reply lies elsewhere": (
        Invariant.JOURNAL,
        lambda: changed("JournalAppended", lambda body: body["source"].update(offset=10_000), is_model_input),
    ),
    "a session's request is lost": (
        Invariant.REQUESTS,
        lambda: dropped("SessionRequested", "JournalAppended"),
    ),
    "a model call is asked twice": (Invariant.REQUESTS, lambda: at_once("ModelCallRequested")),
    "a model call is asked twice, late": (Invariant.REQUESTS, lambda: doubled("ModelCallRequested")),
    "a tool call is asked twice": (Invariant.REQUESTS, lambda: at_once("ToolCallRequested")),
    "a tool call is asked twice, late": (Invariant.REQUESTS, lambda: doubled("ToolCallRequested")),
    "a session's end is asked twice": (Invariant.REQUESTS, lambda: at_once("SessionCloseRequested")),
    "a request is in no journal": (Invariant.REQUESTS, unjournalled),
    "a model call is for another model": (
        Invariant.REQUESTS,
        lambda: changed("ModelCallRequested", lambda body: body.update(model="other")),
    ),
    "a model call offers other tools": (
        Invariant.REQUESTS,
        lambda: changed("ModelCallRequested", lambda body: body["tools"].clear(), lambda body: body["tools"]),
    ),
    "a tool call is for another session": (
        Invariant.REQUESTS,
        lambda: changed("ToolCallRequested", lambda body: body.update(session_id="run/0/0/2")),
    ),
    "a session has another seed": (
        Invariant.REQUESTS,
        lambda: changed("SessionRequested", lambda body: body.update(seed=-1)),
    ),
    "a request is in two journal entries": (Invariant.REQUESTS, asked_again),
    "a harness did not wait": (Invariant.CALLS, lambda: one_request_more(1)),
    "a rollout ended with an open call": (Invariant.CALLS, lambda: one_request_more(-1)),
    "an answer is lost": (Invariant.CALLS, lost_answer),
    "a call has two replies": (Invariant.CALLS, lambda: at_once("ModelCallCompleted")),
    "a call has two replies, late": (Invariant.CALLS, lambda: doubled("ModelCallCompleted")),
    "a tool call has two observations": (Invariant.CALLS, lambda: at_once("ToolCallCompleted")),
    "a tool call has two observations, late": (Invariant.CALLS, lambda: doubled("ToolCallCompleted")),
    "a session is ready twice": (Invariant.CALLS, lambda: at_once("SessionReady")),
    "a session is closed twice, late": (Invariant.CALLS, lambda: doubled("SessionClosed")),
    "an answer was not asked for": (Invariant.CALLS, unasked_answer),
    "a reply is accepted twice": (Invariant.CALLS, accepted_twice),
    "a program's call is of nobody": (Invariant.CALLS, heard_of_nobody),
    "a program's call is lost": (
        Invariant.STEPS,
        lambda: lost_of_program("ModelCallCompleted", "TrajectoryFinished", was_heard),
    ),
    "a program's end is lost": (
        Invariant.STEPS,
        lambda: lost_of_program("ProgramFinished", "TrajectoryFinished"),
    ),
    "a program has two ends, late": (
        Invariant.CALLS,
        lambda: late_of_program("ProgramFinished"),
    ),
    "a program's request is lost": (
        Invariant.CALLS,
        lambda: lost_of_program("ProgramRequested", "ProgramFinished"),
    ),
    "a program was told another model": (
        Invariant.REQUESTS,
        lambda: of_program("ProgramRequested", lambda body: body.update(model="other"), bool),
    ),
    "a program's step has another context": (
        Invariant.STEPS,
        lambda: in_heard_trajectory(lambda steps: steps[0]["context"].pop()),
    ),
    "a program's end says something else": (
        Invariant.STEPS,
        lambda: in_heard_trajectory(lambda steps: steps[-1].update(result="other")),
    ),
    "a program's reply is another message": (
        Invariant.CONTENT,
        lambda: in_heard_trajectory(lambda steps: steps[0].update(message=0)),
    ),
    "a model call's request is lost": (
        Invariant.STEPS,
        lambda: dropped("ModelCallRequested", "TrajectoryFinished"),
    ),
    "a model was asked something else": (
        Invariant.STEPS,
        lambda: changed("ModelCallRequested", lambda body: body["messages"].pop()),
    ),
    "a tool was called with other arguments": (Invariant.STEPS, other_arguments),
    "a step is missing": (Invariant.STEPS, lambda: in_trajectory(lambda said: said["steps"].pop())),
    "steps are in another order": (
        Invariant.STEPS,
        lambda: in_trajectory(lambda said: said["steps"].reverse()),
    ),
    "a step is double": (
        Invariant.STEPS,
        lambda: in_trajectory(lambda said: said["steps"].append(said["steps"][-1])),
    ),
    "a step has another cost": (
        Invariant.STEPS,
        lambda: in_trajectory(lambda said: said["steps"][0]["usage"].update(prompt_tokens=0)),
    ),
    "a step names another tool": (
        Invariant.STEPS,
        lambda: in_trajectory(lambda said: said["steps"][1].update(name="other")),
    ),
    "a step is of another turn": (
        Invariant.STEPS,
        lambda: in_trajectory(lambda said: said["steps"][0].update(turn=7)),
    ),
    "a step is about no message": (
        Invariant.STEPS,
        lambda: in_trajectory(lambda said: said["steps"][-1].update(message=99)),
    ),
    "the last message is another": (
        Invariant.CONTENT,
        lambda: in_trajectory(lambda said: said["messages"][-1].update(content="other")),
    ),
    "an observation is another": (
        Invariant.CONTENT,
        lambda: in_trajectory(
            lambda said: said["messages"][said["steps"][1]["message"]].update(content="other")
        ),
    ),
    "the prompt is another": (
        Invariant.CONTENT,
        lambda: in_trajectory(lambda said: said["messages"][0].update(content="other")),
    ),
    "the task is another": (
        Invariant.CONTENT,
        lambda: in_trajectory(lambda said: said["task"].update(start=-1)),
    ),
    "the sealed answer is another": (
        Invariant.CONTENT,
        lambda: in_trajectory(lambda said: said.update(sealed_answer="other")),
    ),
    "the tools are others": (Invariant.CONTENT, lambda: in_trajectory(lambda said: said["tools"].clear())),
    "the final state is another": (
        Invariant.CONTENT,
        lambda: in_trajectory(lambda said: said["final_state"].update(value=-1)),
    ),
    "the cost is another": (
        Invariant.CONTENT,
        lambda: in_trajectory(lambda said: said["usage"].update(prompt_tokens=0)),
    ),
    "the failure is another": (Invariant.CONTENT, other_failure),
    "it says that it was cancelled": (
        Invariant.CONTENT,
        lambda: in_trajectory(lambda said: said.update(status="cancelled")),
    ),
    "a reward points at nothing": (
        Invariant.PROVENANCE,
        lambda: changed("RewardAssigned", lambda body: body["trajectory"].update(offset=10_000)),
    ),
    "a reward tells other turns": (
        Invariant.PROVENANCE,
        lambda: changed("RewardAssigned", lambda body: body.update(turns=77)),
    ),
    "a reward has another end": (
        Invariant.PROVENANCE,
        lambda: changed("RewardAssigned", lambda body: body.update(status="truncated")),
    ),
    "a reward is masked but there": (
        Invariant.MASKING,
        lambda: changed("RewardAssigned", lambda body: body.update(masked=True)),
    ),
    "a reward is null but not masked": (
        Invariant.MASKING,
        lambda: changed("RewardAssigned", lambda body: body.pop("reward")),
    ),
    "a failed rollout is scored with 0": (Invariant.MASKING, failed_but_scored),
    "the run ended twice": (Invariant.END, two_ends),
    "a record can't be read": (Invariant.READABLE, garbage),
    "headers and value are of different rollouts": (
        Invariant.READABLE,
        lambda: changed("ModelCallRequested", lambda body: body.update(rollout_id="run/1/0")),
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(name: str) -> None:
    invariant, damage = DAMAGES[name]
    log, named = damage()
    report = log.audit()
    place = named if isinstance(named, Place) else named.place
    assert report.verdict is Verdict.REFUTED
    places = [where for found in report.violations if found.invariant is invariant for where in found.places]
    assert place in places, str(report)


@pytest.mark.parametrize(
    "field",
    [
        "finished",
        "completed",
        "truncated",
        "failed",
        "cancelled",
        "masked",
        "reward_sum",
        "reward_square_sum",
    ],
)
def test_a_wrong_count_is_named(field: str) -> None:
    (_, finished), *_ = QUIET.finished
    counts = finished.counts.model_copy(update={field: getattr(finished.counts, field) + 1})
    report = QUIET.ended(finished.model_copy(update={"counts": counts})).audit()
    assert any(found.invariant is Invariant.END and field in found.what for found in report.violations), str(
        report
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda ended: ended.model_copy(update={"planned": ended.planned + 1}),
        lambda ended: ended.model_copy(update={"admitted": ended.admitted + 1}),
        lambda ended: ended.model_copy(
            update={"counts": ended.counts.model_copy(update={"failures": {"x": 1}})}
        ),
        lambda ended: ended.model_copy(
            update={
                "counts": ended.counts.model_copy(
                    update={"usage": ended.counts.usage.model_copy(update={"prompt_tokens": 0})}
                )
            }
        ),
    ],
)
def test_a_wrong_last_word_is_named(change: Callable[[RunFinished], RunFinished]) -> None:
    (_, finished), *_ = QUIET.finished
    report = QUIET.ended(change(finished)).audit()
    assert report.findings.counts[Invariant.END], str(report)


def test_a_second_reward_of_the_same_scoring_is_named() -> None:
    reward = QUIET.first("RewardAssigned")
    other = altered(reward, lambda body: body.update(scoring="again"))._replace(scoring="again")
    once, twice = QUIET.again(other), QUIET.again(other, further=1)
    assert QUIET.late(once).audit().verdict is Verdict.CLEAN
    report = QUIET.late(once, twice).audit()
    (found,) = report.violations
    assert (found.invariant, found.places) == (Invariant.REWARD, (twice.place,))


def test_what_workers_could_not_read_is_no_violation() -> None:
    """Garbage in the name of a rollout is a violation only as long as nobody reported it."""
    log, broken = garbage()
    assert isinstance(broken, LogRecord)
    letter = {"type": "RecordRejected", "record": broken.place._asdict()}
    rejected = LogRecord.of(
        Place("dead-letters", broken.place.partition, 0),
        {"ce_type": b"RecordRejected", "ce_id": b"x"},
        str(letter).replace("'", '"').encode(),
    )
    report = log.late(rejected).audit()
    assert report.verdict is Verdict.CLEAN, str(report)
    assert report.notes == ("records in the dead letters: 1",)


def test_of_an_old_run_what_is_kept_long_is_checked() -> None:
    """The other topics are cut short in its midst; what was lost of the long ones is still found."""
    old = replace(QUIET, purged=("journal", "tasks"))
    kept = replace(old, records=old.records[len(old.records) // 3 :])
    long = [record for record in old.records if record.type in ("TrajectoryFinished", "RewardAssigned")]
    kept = replace(kept, records=(*long, *(record for record in kept.records if record not in long)))
    report = kept.audit()
    assert (report.verdict, report.purged) == (Verdict.CLEAN, ("journal", "tasks")), str(report)
    for lost, invariant in zip((long[0], long[-1]), (Invariant.TRAJECTORY, Invariant.REWARD), strict=True):
        assert kept.without(lost).audit().findings.counts[invariant]


def test_a_run_that_was_never_played_is_clean() -> None:
    (_, finished), *_ = QUIET.finished
    refused = RunFinished(
        id="run",
        run_id="run",
        status=RunStatus.FAILED,
        planned=0,
        admitted=0,
        started_at=finished.started_at,
    )
    report = replace(QUIET, records=()).ended(refused).audit()
    assert (report.verdict, report.status) == (Verdict.CLEAN, "failed")
