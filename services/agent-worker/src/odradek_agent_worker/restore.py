"""The journal, read back: which rollouts are unfinished, what each accepted, and whose harness was stuck."""

from dataclasses import dataclass

from odradek_schemas.events import Event, HarnessStuck, JournalAppended, RolloutEnded, RolloutSnapshot


@dataclass(slots=True)
class Recorded:
    """An unfinished rollout: its entries, and the offset of the first record that holds them."""

    first: int
    entries: list[JournalAppended]


class Restoration:
    """Collects the journal in log order. `unfinished` goes from the oldest to the newest."""

    def __init__(self) -> None:
        self.unfinished: dict[str, Recorded] = {}
        self.stuck: dict[str, HarnessStuck] = {}

    def take(self, event: Event, offset: int) -> None:
        if isinstance(event, JournalAppended) and event.ended is None:
            self.unfinished.setdefault(event.rollout_id, Recorded(offset, [])).entries.append(event)
        elif isinstance(event, RolloutSnapshot):
            self.unfinished.pop(event.rollout_id, None)
            self.unfinished[event.rollout_id] = Recorded(offset, list(event.entries))
        elif isinstance(event, JournalAppended | RolloutEnded):
            self.unfinished.pop(event.rollout_id, None)
            self.stuck.pop(event.rollout_id, None)
        elif isinstance(event, HarnessStuck):
            self.stuck[event.rollout_id] = event
