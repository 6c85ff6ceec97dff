"""What a run may set of how programs are tried."""

from pydantic import BaseModel, Field

from odradek.judging import Unscored
from odradek.verifiers.programs.isolation import Isolation
from odradek.verifiers.programs.jobs import TEST_SECONDS, Limits, Runner, RunnerUnavailable
from odradek.verifiers.programs.local import local_runner


class ProgramSettings(BaseModel):
    """For an environment's `Settings`."""

    isolation: Isolation | None = Field(
        default=None, description="None: the strongest that works where the verifier runs."
    )
    python: str | None = Field(
        default=None,
        description="Path of a Python (3.11 or later) for the programs, with its packages. None: the standard library.",
    )
    seconds: float = Field(default=TEST_SECONDS, gt=0, description="Most time for one test.")
    memory_mib: int = Field(default=2048, ge=64, description="Most address space of one process.")
    output_mib: int = Field(default=16, ge=1, description="Most output of one test.")
    processes: int = Field(default=32, ge=4, description="Most processes and threads of a program.")

    @property
    def limits(self) -> Limits:
        return Limits(self.seconds, self.memory_mib, self.output_mib << 20, self.processes)

    @property
    def runner(self) -> Runner:
        """What runs the programs.

        Raises:
            Unscored: nothing here can, or not as it is set.
        """
        try:
            return local_runner(self.isolation, self.python)
        except RunnerUnavailable as error:
            raise Unscored.because(str(error)) from error
