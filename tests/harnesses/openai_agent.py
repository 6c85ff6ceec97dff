"""The least that is an agent: a loop around a shell. Prompt on standard input, result on the last line of the output."""

import json
import os
import subprocess
import sys

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

SHELL: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Runs a command.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}


def main() -> None:
    client = OpenAI(max_retries=0)
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": sys.stdin.read()}]
    while True:
        done = client.chat.completions.create(model=os.environ["MODEL"], messages=messages, tools=[SHELL])
        reply = done.choices[0].message
        messages.append(reply.model_dump(exclude_none=True))  # type: ignore[arg-type]
        if not reply.tool_calls:
            break
        for call in reply.tool_calls:
            assert call.type == "function"
            command = json.loads(call.function.arguments)["command"]
            output = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": output.stdout})
    print(reply.content)


if __name__ == "__main__":
    main()
