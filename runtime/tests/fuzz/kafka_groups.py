"""The group coordinator's rules: generations, eager rebalances, sessions, static members, committed offsets."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING, MEMBER_ID_REQUIRED = 22, 25, 27, 79
NO_ERROR = 0

Reply = Callable[..., None]


@dataclass
class Member:
    """A member as the coordinator sees it. `seen` changes with each sign of life."""

    id: str
    instance: str | None
    session: float
    rebalance: float
    protocol: str
    metadata: bytes
    join: Reply | None = None
    sync: Reply | None = None
    assignment: bytes = b""
    seen: int = 0


class Group:
    """One group. `later` runs something after so many seconds; `names`: no member's is given twice, ever."""

    def __init__(
        self, later: Callable[[Callable[[], None], float | None], None], names: Iterator[int]
    ) -> None:
        self.offsets: dict[tuple[str, int], tuple[int, str]] = {}
        self.generation = 0
        self.state = "empty"
        self.members: dict[str, Member] = {}
        self.leader = ""
        self.rebalances = 0
        self._later = later
        self._names = names
        self._promised: set[str] = set()

    def join(self, reply: Reply, name: str, client: str, instance: str | None, session: float, rebalance: float,
             protocol: str, metadata: bytes) -> None:  # fmt: skip
        """JoinGroup v5: `reply(error, generation, protocol, leader, member, members)`."""
        if name and name not in self.members and name not in self._promised:
            reply(UNKNOWN_MEMBER, -1, "", "", name, [])
            return
        if not name:
            name = f"{client}-{next(self._names)}"
            known = next((m for m in self.members.values() if m.instance and m.instance == instance), None)
            if known is not None:
                self._replace(known, name, reply, metadata)
                return
            if instance is None:
                self._promised.add(name)
                self._later(lambda: self._forget_promise(name), session)
                reply(MEMBER_ID_REQUIRED, -1, "", "", name, [])
                return
        self._promised.discard(name)
        member = self.members.get(name)
        if member is None:
            member = self.members[name] = Member(name, instance, session, rebalance, protocol, metadata)
        elif (self.state == "syncing" and member.metadata == metadata) or (
            self.state == "stable" and member.metadata == metadata and name != self.leader
        ):
            self._answer(member, reply)
            return
        member.metadata, member.join = metadata, reply
        self._sign_of_life(member)
        self._rebalance()

    def sync(self, reply: Reply, name: str, generation: int, assignments: dict[str, bytes]) -> None:
        """SyncGroup: `reply(error, assignment)`."""
        member = self.members.get(name)
        if error := self._error(member, generation):
            reply(error, b"")
            return
        assert member is not None
        self._sign_of_life(member)
        if self.state == "rebalancing":
            reply(REBALANCING, b"")
        elif self.state == "stable":
            reply(NO_ERROR, member.assignment)
        else:
            member.sync = reply
            if name == self.leader:
                self._settle(assignments)

    def heartbeat(self, name: str, generation: int) -> int:
        member = self.members.get(name)
        if error := self._error(member, generation):
            return error
        assert member is not None
        self._sign_of_life(member)
        return REBALANCING if self.state == "rebalancing" else NO_ERROR

    def leave(self, name: str) -> int:
        self._promised.discard(name)
        if name not in self.members:
            return UNKNOWN_MEMBER
        self._remove(name)
        return NO_ERROR

    def restarted(self) -> None:
        """The coordinator came back: sessions begin anew, requests that waited are gone."""
        for member in self.members.values():
            member.join = member.sync = None
            self._sign_of_life(member)

    def commit(self, name: str, generation: int, offsets: dict[tuple[str, int], tuple[int, str]]) -> int:
        """OffsetCommit: an error code."""
        if error := self._error(self.members.get(name), generation):
            return error
        self.offsets |= offsets
        return NO_ERROR

    def _error(self, member: Member | None, generation: int) -> int:
        if member is None:
            return UNKNOWN_MEMBER
        return NO_ERROR if generation == self.generation else ILLEGAL_GENERATION

    def _sign_of_life(self, member: Member) -> None:
        member.seen += 1
        seen = member.seen
        self._later(lambda: self._expire(member, seen), member.session)

    def _expire(self, member: Member, seen: int) -> None:
        if self.members.get(member.id) is not member or member.seen != seen:
            return
        if member.join is None and member.sync is None:
            self._remove(member.id)

    def _forget_promise(self, name: str) -> None:
        self._promised.discard(name)
        if self.state == "rebalancing":
            self._complete_if_all()

    def _remove(self, name: str) -> None:
        del self.members[name]
        if self.state == "rebalancing":
            self._complete_if_all()
        else:
            self._rebalance()

    def _replace(self, old: Member, name: str, reply: Reply, metadata: bytes) -> None:
        """A static member is back under a new id: in a stable group it gets its old assignment, without a rebalance."""
        del self.members[old.id]
        for waiting in (old.join, old.sync):
            if waiting is not None:
                waiting(UNKNOWN_MEMBER, *(b"",) if waiting is old.sync else (-1, "", "", old.id, []))
        member = Member(name, old.instance, old.session, old.rebalance, old.protocol, metadata)
        member.assignment = old.assignment
        self.members[name] = member
        leader = self.leader
        self.leader = name if leader == old.id else leader
        self._sign_of_life(member)
        if self.state == "stable":
            reply(NO_ERROR, self.generation, member.protocol, leader, name, [])
        else:
            member.join = reply
            self._rebalance()

    def _rebalance(self) -> None:
        if self.state == "syncing":
            for member in self.members.values():
                if member.sync is not None:
                    member.sync(REBALANCING, b"")
                    member.sync = None
                    self._sign_of_life(member)
        if self.state != "rebalancing":
            self.state = "rebalancing"
            self.rebalances += 1
            turn = self.rebalances
            wait = max((member.rebalance for member in self.members.values()), default=0.0)
            self._later(lambda: self._time_is_up(turn), wait)
        self._complete_if_all()

    def _time_is_up(self, turn: int) -> None:
        if self.state == "rebalancing" and self.rebalances == turn:
            self._complete()

    def _complete_if_all(self) -> None:
        if not self._promised and all(member.join is not None for member in self.members.values()):
            self._complete()

    def _complete(self) -> None:
        """The next generation begins with whoever has joined; static members stay while their session lasts."""
        self.members = {
            name: member
            for name, member in self.members.items()
            if member.join is not None or member.instance
        }
        self.generation += 1
        joined = [member for member in self.members.values() if member.join is not None]
        if not joined:
            self.state = "empty"
            self.members = {}
            return
        self.state = "syncing"
        if self.leader not in (member.id for member in joined):
            self.leader = joined[0].id
        for member in joined:
            reply, member.join = member.join, None
            self._sign_of_life(member)
            assert reply is not None
            self._answer(member, reply)

    def _answer(self, member: Member, reply: Reply) -> None:
        members = [(m.id, m.instance, m.metadata) for m in self.members.values()]
        reply(NO_ERROR, self.generation, member.protocol, self.leader, member.id,
              members if member.id == self.leader else [])  # fmt: skip

    def _settle(self, assignments: dict[str, bytes]) -> None:
        self.state = "stable"
        for member in self.members.values():
            member.assignment = assignments.get(member.id, b"")
            if member.sync is not None:
                reply, member.sync = member.sync, None
                self._sign_of_life(member)
                reply(NO_ERROR, member.assignment)
