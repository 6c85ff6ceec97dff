"""A harness that does not yield is seen from another thread, noted, and ends the process."""

import threading

import pytest

from odradek_agent_worker.note import JournalNote, stuck_event
from odradek_agent_worker.settings import AgentSettings
from odradek_agent_worker.watch import Suspect, Watch
from odradek_agent_worker.watchdog import EXIT_STUCK, Watchdog

SUSPECT = Suspect(3, "run", "run/0/0")
PATIENCE = 30


class Kennel:
    """A watchdog whose process does not end."""

    def __init__(self, note=None):
        self.watch = Watch()
        self.notes = []
        self.status = None
        self.ended = threading.Event()
        self.dog = Watchdog(self.watch, 0.2, note or self._note, self._end)
        self.dog.start()

    def _note(self, suspect, seconds):
        self.notes.append((suspect, seconds))

    def _end(self, status):
        self.status = status
        self.ended.set()


@pytest.fixture
def kennel():
    kennels = []

    def build(note=None):
        kennels.append(Kennel(note))
        return kennels[-1]

    yield build
    for one in kennels:
        one.dog.stop()


def test_one_that_hangs_is_noted_and_the_process_ends(kennel):
    home = kennel()
    with home.watch.over(SUSPECT):
        assert home.ended.wait(PATIENCE)
    ((suspect, seconds),) = home.notes
    assert suspect == SUSPECT
    assert seconds >= 0.2
    assert home.status == EXIT_STUCK


def test_one_that_steps_on_is_left_alone(kennel):
    home = kennel()
    for _ in range(20):
        with home.watch.over(SUSPECT):
            assert not home.ended.wait(0.02)
    assert not home.ended.wait(0.3), "nobody runs"
    assert home.notes == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_process_ends_even_if_the_note_can_not_be_written(kennel):
    def fails(suspect, seconds):
        raise OSError("no broker")

    home = kennel(fails)
    with home.watch.over(SUSPECT):
        assert home.ended.wait(PATIENCE)
    assert home.status == EXIT_STUCK


def test_a_note_without_a_broker_gives_up(monkeypatch):
    monkeypatch.setattr("odradek_agent_worker.note.NOTE_SECONDS", 0.5)
    JournalNote(AgentSettings(bootstrap_servers="127.0.0.1:9"))(SUSPECT, 10.0)


def test_the_process_ends_even_if_the_note_hangs(kennel, monkeypatch):
    monkeypatch.setattr("odradek_agent_worker.watchdog.NOTE_PATIENCE_SECONDS", 0.1)
    home = kennel(lambda suspect, seconds: home.ended.wait(PATIENCE))
    with home.watch.over(SUSPECT):
        assert home.ended.wait(PATIENCE)
    assert home.status == EXIT_STUCK


def test_what_the_note_says():
    event = stuck_event(SUSPECT, 10.0421)
    assert (event.run_id, event.rollout_id, event.seconds, event.key) == ("run", "run/0/0", 10.042, "run/0/0")
