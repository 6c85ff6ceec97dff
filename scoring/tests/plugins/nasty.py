"""An environment whose verifier does what the task says: the worst that verifiers do, and the best."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

from odradek import Message, Question, Unscored, Verification
from odradek.environment import Environment
from odradek_schemas.rollouts import Reward, Trajectory


class Nasty(Environment):
    name = "nasty"

    class Task(BaseModel):
        deed: str

    class Answer(BaseModel):
        expected: str

    class Settings(BaseModel):
        judge: str | None = None
        load_seconds: float = 0.0

    def warm_up(self) -> None:
        time.sleep(self.settings.load_seconds)

    def verify(self, trajectory: Trajectory, answer: "Nasty.Answer | None") -> Reward | Verification:
        if trajectory.task["deed"] == "ask":
            return self._ask()
        deed: Callable[[Trajectory, Nasty.Answer | None], Reward] = globals()[str(trajectory.task["deed"])]
        return deed(trajectory, answer)

    def _ask(self) -> Verification:
        """Two votes, and a third where they differ; a vote that failed leaves it unscored."""
        votes = yield [self._question("first"), self._question("second")]
        if votes[0].message != votes[1].message:
            votes += yield [self._question("third")]
        for vote in votes:
            if vote.failure is not None:
                raise Unscored(vote.failure)
        return Reward(reward=sum(vote.message.text == "yes" for vote in votes) / len(votes))

    def _question(self, name: str) -> Question:
        asked = [Message(role="user", content=f"Is it {name}?")]
        return Question(name=name, messages=asked, model=self.settings.judge)


def grade(trajectory: Trajectory, answer: Nasty.Answer) -> Reward:
    message = trajectory.final_message
    right = message is not None and message.text == answer.expected
    return Reward(
        reward=float(right), components={"right": float(right)}, details={"evidence": trajectory.evidence}
    )


def regex(trajectory: Trajectory, answer: object) -> Reward:
    re.match(r"(a+)+$", "a" * 64 + "b")
    return Reward(reward=1.0)


def loop(trajectory: Trajectory, answer: object) -> Reward:
    while True:
        pass


def loop_with_child(trajectory: Trajectory, answer: object) -> Reward:
    sleeper = subprocess.Popen(["sleep", "300"])
    Path(str(trajectory.task["note"])).write_text(str(sleeper.pid))
    sleeper.wait()
    return Reward(reward=1.0)


def leave(trajectory: Trajectory, answer: object) -> Reward:
    os._exit(3)


def crash(trajectory: Trajectory, answer: object) -> Reward:
    os.kill(os.getpid(), signal.SIGSEGV)
    return Reward(reward=1.0)


def crash_once(trajectory: Trajectory, answer: object) -> Reward:
    note = Path(str(trajectory.task["note"]))
    if not note.exists():
        note.write_text("crashed")
        os.kill(os.getpid(), signal.SIGKILL)
    return Reward(reward=1.0)


def eat(trajectory: Trajectory, answer: object) -> Reward:
    meal = bytearray(3 << 30)
    return Reward(reward=float(len(meal)))


def raise_error(trajectory: Trajectory, answer: object) -> Reward:
    raise ValueError("no such option")


def exit_politely(trajectory: Trajectory, answer: object) -> Reward:
    sys.exit("bye")


def nan(trajectory: Trajectory, answer: object) -> Reward:
    return Reward(reward=float("nan"))


def infinite_component(trajectory: Trajectory, answer: object) -> Reward:
    return Reward(reward=0.0, components={"speed": float("inf")})


def number(trajectory: Trajectory, answer: object) -> object:
    return 1.0


def chatter(trajectory: Trajectory, answer: object) -> Reward:
    print("verifiers may print")
    return Reward(reward=1.0)


def see_keys(trajectory: Trajectory, answer: object) -> Reward:
    return Reward(reward=float(any(name.startswith("ODRADEK_SEALING_") for name in os.environ)))


def see_pid(trajectory: Trajectory, answer: object) -> Reward:
    return Reward(reward=float(os.getpid()))
