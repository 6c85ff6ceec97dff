"""The audit of one run: takes its records partition by partition, and ends in a report.

Memory is bounded by the rollouts in flight: one that is whole is judged and forgotten, but for a byte. Any record of
it that still comes is one too many, and is known as such by that byte; so no double goes unseen however late it is.
A rollout that is found wanting is kept until its partition ends, and judged again: topics may overtake each other.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from odradek.audit.calls import asked_by, is_of_program
from odradek.audit.digests import parse
from odradek.audit.facts import Rollout
from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.judging import View, is_answered, is_whole, judge
from odradek.audit.letters import Letters
from odradek.audit.plan import ASKED, WHOLE, Plan
from odradek.audit.reading import add, place_of
from odradek.audit.records import LogRecord, Place
from odradek.audit.report import AuditReport, Findings
from odradek.audit.tally import Tally, check_end
from odradek_schemas.events import RunFinished, RunImported, RunRequested
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.ids import is_judge_call, subject_of

MOST_MISSING = 1000
"""Rollouts of which nothing was seen that are named one by one."""

_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)

_KEPT_LONG = frozenset({"TrajectoryFinished", "RewardAssigned", "RecordRejected"})

Finished = tuple[Place, RunFinished]


class RunAudit:
    """Feed it a partition's records with `take`, in about the order in which they were written; then `end_partition`.

    `finished`: all `RunFinished` of the run. `purged`: topics of which old records of the run may be deleted; then only
    what is kept long is looked at: trajectories, rewards, and the run's end.
    """

    def __init__(
        self,
        requested: RunRequested | RunImported,
        finished: Sequence[Finished] = (),
        purged: Sequence[str] = (),
    ) -> None:
        self._imported = requested.rollouts if isinstance(requested, RunImported) else None
        self._purged = tuple(purged)
        self._run_id = requested.run_id
        self._finished = finished
        self._plan = Plan(requested.run_id, requested.samples)
        self._open: dict[str, Rollout] = {}
        self._letters = Letters()
        self._tally = Tally()
        self._findings = Findings()
        self._extras: list[tuple[Violation, str]] = []
        self._records = 0
        self._notes: Counter[str] = Counter()

    def take(self, record: LogRecord) -> None:
        """Take in one record of this run."""
        if self._view is View.KEPT and record.type not in _KEPT_LONG:
            return
        if is_judge_call(record.id):
            self._notes["calls of judges, which are no part of a rollout"] += (
                record.type == "ModelCallRequested"
            )
            return
        self._records += 1
        if record.problem is not None:
            self._unreadable(record, record.problem)
            return
        try:
            self._take(record)
        except _MALFORMED as error:
            self._unreadable(record, f"{type(error).__name__}: {error}")

    def end_partition(self) -> None:
        """All of a partition's records were taken."""
        for rollout in self._open.values():
            self._judge(rollout)
        self._open.clear()
        self._findings.add(found for found, answered in self._extras if self._is_extra(found, answered))
        self._extras.clear()
        if self._last is not None:
            self._findings.add(self._letters.unreported())
        self._findings.checked[Invariant.READABLE] += len(self._letters.unread)
        self._letters = Letters()

    def report(self, seconds: float = 0.0) -> AuditReport:
        """All partitions were taken."""
        findings, last = self._findings, self._last
        findings.add(self._check_run())
        if self._imported is not None and (missing := self._imported - self._plan.count()) > 0:
            self._notes["imported rollouts that are not in the log (yet)"] += missing
        return AuditReport(
            run_id=self._run_id,
            status=self._status,
            planned=last.planned if last else self._imported,
            admitted=last.admitted if last else self._plan.count(),
            rollouts=self._plan.count(),
            rewards=self._tally.counted["finished"],
            records=self._records,
            findings=findings,
            notes=tuple(f"{what}: {count:,}" for what, count in sorted(self._notes.items())),
            purged=self._purged,
            seconds=seconds,
        )

    @property
    def _view(self) -> View:
        """How much of a rollout that came to its end is seen."""
        return View.KEPT if self._purged or self._imported is not None else View.WHOLE

    @property
    def _last(self) -> RunFinished | None:
        """The run's last word."""
        return self._finished[0][1] if self._finished else None

    @property
    def _status(self) -> str:
        if self._last is not None:
            return str(self._last.status)
        scored = self._imported is not None and self._tally.counted["finished"] >= self._imported
        return "imported" if scored else "running"

    def _take(self, record: LogRecord) -> None:
        body = parse(record.value)
        if record.type == "RecordRejected":
            record_id = body.get("headers", {}).get("ce_id", "")
            self._letters.reject(place_of(body["record"]), record.rollout_id, record_id)
            self._notes["records in the dead letters"] += 1
            return
        if record.type == "RewardAssigned" and body["scoring"] != PRIMARY_SCORING:
            self._rescored(record, body["scoring"])
            return
        rollout = self._open.get(record.rollout_id) or self._begin(record)
        if rollout is None:
            return
        add(rollout, record, body)
        self._open[rollout.id] = rollout
        if record.type == "RewardAssigned":
            self._tally.add(body)
        if rollout.scores and not rollout.suspect and is_whole(self._letters.without(rollout), self._view):
            self._close(rollout)

    def _begin(self, record: LogRecord) -> Rollout | None:
        """The rollout of which `record` is the first; None: it has none to come, and the record is one too many."""
        index = self._plan.index_of(record.rollout_id)
        if index is None:
            self._extras.append((_unplanned(record), ""))
        elif self._plan.has(index, WHOLE):
            self._extra(record)
        else:
            if self._last is not None and index >= self._last.admitted:
                self._extras.append((_unplanned(record, f"{self._last.admitted} rollouts"), ""))
            return Rollout(record.rollout_id, index)
        return None

    def _close(self, rollout: Rollout) -> None:
        """Judge a rollout that is whole; it is forgotten if nothing is wrong with it."""
        if judge(rollout, self._letters, self._view):
            rollout.suspect = True
            return
        self._count(rollout)
        self._plan.mark(rollout.index, WHOLE)
        del self._open[rollout.id]

    def _judge(self, rollout: Rollout) -> None:
        """Judge a rollout of which nothing more will be seen."""
        complete = bool(rollout.scores) or self._all_ended
        self._count(rollout)
        self._findings.add(judge(rollout, self._letters, self._view if complete else View.PARTIAL))
        self._plan.mark(rollout.index, ASKED)
        if not complete:
            self._notes["rollouts under way"] += 1
        elif unanswered := sum(not is_answered(rollout, request) for request in rollout.requests):
            self._notes["calls of ended rollouts without a result (yet)"] += unanswered

    @property
    def _all_ended(self) -> bool:
        """Whether each rollout must have come to its end: a cancelled run stops waiting for some."""
        last = self._last
        return last is not None and last.counts.finished >= last.admitted

    def _count(self, rollout: Rollout) -> None:
        checked = self._findings.checked
        results = sum(map(len, rollout.results.values()))
        checked[Invariant.PLAN] += len(rollout.tasks)
        checked[Invariant.TRAJECTORY] += len(rollout.endings)
        checked[Invariant.REWARD] += len(rollout.scores)
        checked[Invariant.JOURNAL] += len(rollout.entries)
        checked[Invariant.REQUESTS] += sum(map(len, rollout.requests.values()))
        checked[Invariant.CALLS] += results
        checked[Invariant.STEPS] += sum(len(ending.steps) for ending in rollout.endings)
        checked[Invariant.CONTENT] += sum(len(ending.messages) for ending in rollout.endings)
        checked[Invariant.PROVENANCE] += len(rollout.scores)
        checked[Invariant.MASKING] += len(rollout.scores)

    def _extra(self, record: LogRecord) -> None:
        """A record of a rollout that was whole already."""
        if record.type == "HarnessStuck" or is_late_call(record):
            return
        if record.type == "RewardAssigned":
            self._tally.add(parse(record.value))
        what = f"a {record.type} ({record.id}) too many: all of this rollout is in the log already"
        found = violation(_INVARIANT_OF[record.type], what, [record.place], "one record", "another one")
        self._extras.append((replace(found, rollout_id=record.rollout_id), subject_of(record.id)))

    def _is_extra(self, found: Violation, answered: str) -> bool:
        """Not so what counts as never written, and a result next to which another request or result does."""
        letters = self._letters
        spoiled = answered and (
            any(asked in letters.ids for asked in asked_by(answered))
            or any(subject_of(record_id) == answered for record_id in letters.ids)
        )
        return not spoiled and found.places[0] not in letters

    def _rescored(self, record: LogRecord, scoring: str) -> None:
        self._findings.checked[Invariant.REWARD] += 1
        index = self._plan.index_of(record.rollout_id)
        if index is None:
            self._extras.append((_unplanned(record), ""))
        elif not self._plan.score(index, scoring):
            what = f"the rollout has another reward of scoring {scoring}"
            self._findings.add(
                [replace(violation(Invariant.REWARD, what, [record.place]), rollout_id=record.rollout_id)]
            )

    def _unreadable(self, record: LogRecord, problem: str) -> None:
        """The task-producer passes later scorings by, so nobody sends them to the dead letters."""
        if record.type == "RewardAssigned" and record.scoring not in ("", None, PRIMARY_SCORING):
            self._notes["rewards of later scorings that can't be read"] += 1
            return
        self._letters.fail(record, problem)
        if record.type == "RewardAssigned" and record.scoring == PRIMARY_SCORING:
            self._tally.add_unreadable()

    def _check_run(self) -> list[Violation]:
        found: list[Violation] = []
        if not self._finished:
            return found
        (place, last), again = self._finished[0], self._finished[1:]
        self._findings.checked[Invariant.END] += 1
        found += [
            violation(
                Invariant.END, "the run ended twice", [other, place], "one RunFinished", len(self._finished)
            )
            for other, _ in again
        ]
        found += check_end(self._tally, last, place)
        missing = list(zip(self._plan.missing(last.admitted), range(MOST_MISSING), strict=False))
        for index, _ in missing:
            what = "the rollout was planned, and nothing of it is in the log"
            found.append(
                replace(
                    violation(Invariant.PLAN, what, [place], "one RolloutRequested", "none"),
                    rollout_id=self._plan.id_of(index),
                )
            )
        return found


def _unplanned(record: LogRecord, planned: str | None = None) -> Violation:
    what = f"{record.type} is about {record.rollout_id!r}, which the plan of this run does not have"
    found = violation(Invariant.PLAN, what, [record.place], planned, planned and record.rollout_id)
    return replace(found, rollout_id=record.rollout_id)


def is_late_call(record: LogRecord) -> bool:
    """Whether it is a program's call: one that was under way when its rollout ended may be written after it."""
    return record.type.startswith("ModelCall") and is_of_program(subject_of(record.id))


_INVARIANT_OF = {
    "RolloutRequested": Invariant.PLAN,
    "TrajectoryFinished": Invariant.TRAJECTORY,
    "RewardAssigned": Invariant.REWARD,
    "JournalAppended": Invariant.JOURNAL,
    "RolloutSnapshot": Invariant.JOURNAL,
    "RolloutEnded": Invariant.JOURNAL,
    "ModelCallRequested": Invariant.REQUESTS,
    "SessionRequested": Invariant.REQUESTS,
    "ToolCallRequested": Invariant.REQUESTS,
    "ProgramRequested": Invariant.REQUESTS,
    "SessionCloseRequested": Invariant.REQUESTS,
    "ModelCallCompleted": Invariant.CALLS,
    "ModelCallFailed": Invariant.CALLS,
    "SessionReady": Invariant.CALLS,
    "ToolCallCompleted": Invariant.CALLS,
    "ToolCallFailed": Invariant.CALLS,
    "ProgramFinished": Invariant.CALLS,
    "ProgramFailed": Invariant.CALLS,
    "SessionClosed": Invariant.CALLS,
    "SessionFailed": Invariant.CALLS,
}
