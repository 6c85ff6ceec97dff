"""An agent of NOOA's with a shell. The task is on standard input, the result on the last line of the output."""

import asyncio
import json
import os
import subprocess
import sys

from nooa import Agent
from nooa.unifiedllm.registry import get_llm_client

llm = get_llm_client(
    f"openai/{os.environ['ODRADEK_MODEL']}",
    api_base=os.environ["ODRADEK_BASE_URL"],
    api_key=os.environ["ODRADEK_TOKEN"],
)


class Worker(Agent, llm=llm):
    """You do tasks in the current folder, with the help of a shell."""

    def bash(self, command: str) -> str:
        """Run a shell command; returns its output."""
        try:
            done = subprocess.run(
                ["bash", "-c", command], capture_output=True, text=True, errors="replace", timeout=120
            )
        except subprocess.TimeoutExpired:
            return "it took longer than 120 s and was ended"
        return done.stdout + done.stderr

    async def solve(self, task: str) -> str:
        """Do the task in the current folder, and say in a line what came of it."""
        ...  # noqa: PIE790 - to NOOA it means that the model does this


print(json.dumps({"result": asyncio.run(Worker().solve(sys.stdin.read()))}))
