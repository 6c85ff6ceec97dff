"""A running stack as runs and figures see it: its addresses, processes and logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.processes import lives
from benchmarks.harness.scrape import Scrape, scrape
from odradek_local.process import tail
from odradek_local.state import StackState


class PartEndedError(RuntimeError):
    """A process of the stack has ended: what is measured now is another stack."""


@dataclass(frozen=True)
class Deployment:
    """Process ids and logs go by component (`kafka`, `agent-worker`, ...), ports by kind of worker."""

    bootstrap: str
    prefix: str
    partitions: int
    folder: Path
    pids: Mapping[str, Sequence[int]]
    ports: Mapping[str, Sequence[int]]
    logs: Mapping[str, Sequence[Path]]

    @classmethod
    def of(cls, state: StackState, folder: Path) -> "Deployment":
        """What `odradek up` has started."""
        return cls(
            bootstrap=state.bootstrap,
            prefix=state.topic_prefix,
            partitions=state.partitions,
            folder=folder,
            pids={part.name: [part.pid] for part in state.parts},
            ports={part.name: [part.port] for part in state.parts if part.name != "kafka"},
            logs={part.name: [part.log] for part in state.parts},
        )

    def check(self) -> None:
        """Raises PartEndedError, with the end of its log, when a process has ended: nobody restarts it here."""
        for component, pids in self.pids.items():
            for place, pid in enumerate(pids):
                if not lives(pid):
                    logs = self.logs.get(component, ())
                    end = f"; its log ends with:\n{tail(logs[place])}" if place < len(logs) else ""
                    raise PartEndedError(f"a {component} (pid {pid}) has ended{end}")

    async def scrape(self, kind: str) -> Scrape:
        """The metrics of all workers of a kind, added up."""
        return await scrape(*self.ports[kind])

    async def balanced(self) -> bool:
        """Whether in each group every partition number has exactly one owner, and no worker has more than its share."""
        for ports in self.ports.values():
            owned = [(await scrape(port)).total("odradek_owned_partitions") for port in ports]
            if sum(owned) != self.partitions or max(owned) - min(owned) > 1:
                return False
        return True
