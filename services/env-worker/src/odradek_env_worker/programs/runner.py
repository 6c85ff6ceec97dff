"""Runs one call of an agent program, from its home to its outcome."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from odradek.programs import Call, Launch, LaunchError, Outcome, Program, Trouble, launch
from odradek.programs.outcome import Ending, conclude
from odradek.programs.reading import Written
from odradek_env_worker.programs import remote
from odradek_env_worker.programs.home import Home
from odradek_env_worker.programs.process import ProgramProcess


async def run(
    program: Program,
    call: Call,
    workspace: Path,
    seconds: float,
    inherited: Mapping[str, str] = os.environ,
) -> Outcome:
    """Put a call to a program and wait for its end, `seconds` at most; cancelling ends it, too.

    However it ends, nothing of it is left: no process, and nothing of its home. Its failures are outcomes.
    """
    if program.url is not None:
        outcome = await remote.ask(program.url, call, seconds)
    else:
        outcome = await _run_here(program, call, workspace, seconds, inherited)
    return outcome.kept(call.token)


async def _run_here(
    program: Program, call: Call, workspace: Path, seconds: float, inherited: Mapping[str, str]
) -> Outcome:
    home = Home()
    try:
        ready = launch(
            program, call, home=home.path, workspace=workspace, seconds=seconds, inherited=inherited
        )
        return await _play(program, ready, home, workspace, seconds)
    except LaunchError as error:
        return Outcome(trouble=Trouble.NOT_CALLABLE, reason=str(error))
    finally:
        await asyncio.to_thread(home.remove)


async def _play(program: Program, ready: Launch, home: Home, workspace: Path, seconds: float) -> Outcome:
    if shutil.which(ready.argv[0], path=ready.environment.get("PATH")) is None:
        return Outcome(trouble=Trouble.NOT_INSTALLED, reason=_missing(program, ready.argv[0]))
    await asyncio.to_thread(home.write, ready.files)
    process = await ProgramProcess.start(ready, home.path, workspace)
    try:
        code = await process.exit_code(seconds)
    finally:
        await process.end()
    names = [place.file for place in program.places if place.file is not None]
    files = await asyncio.to_thread(home.read, names)
    written = Written(process.stdout.text, process.stderr.text, files)
    return conclude(program, Ending(code, written), seconds)


def _missing(program: Program, command: str) -> str:
    packages = [*program.install.pip, *program.install.npm]
    remedy = f"install {' '.join(packages)}" if packages else "install it"
    return f"{command} is not on the env-worker's PATH: {remedy}"
