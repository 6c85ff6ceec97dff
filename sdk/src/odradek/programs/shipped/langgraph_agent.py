"""An agent of LangGraph's with a shell. The task is on standard input, the result on the last line of the output."""

import json
import os
import subprocess
import sys

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def bash(command: str) -> str:
    """Run a shell command in the working folder; returns its exit code and output."""
    try:
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, errors="replace", timeout=120
        )
    except subprocess.TimeoutExpired:
        return "it took longer than 120 s and was ended"
    return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"


def main() -> None:
    model = ChatOpenAI(
        model=os.environ["ODRADEK_MODEL"],
        base_url=os.environ["ODRADEK_BASE_URL"],
        api_key=os.environ["ODRADEK_TOKEN"],
        max_retries=0,
    )
    agent = create_agent(model, [bash], system_prompt="You do tasks in a folder, with the help of a shell.")
    done = agent.invoke({"messages": [("user", sys.stdin.read())]}, {"recursion_limit": 200})
    print(json.dumps({"result": done["messages"][-1].text}))


if __name__ == "__main__":
    main()
