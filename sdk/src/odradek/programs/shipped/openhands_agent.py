"""An agent of the OpenHands SDK. The task is on standard input, the result on the last line of the output."""

import json
import os
import sys

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.sdk.conversation.response_utils import get_agent_final_response
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.task_tracker import TaskTrackerTool
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

llm = LLM(
    model=f"openai/{os.environ['ODRADEK_MODEL']}",
    base_url=os.environ["ODRADEK_BASE_URL"],
    api_key=SecretStr(os.environ["ODRADEK_TOKEN"]),
    usage_id="agent",
    num_retries=0,
    stream=False,
)
tools = [Tool(name=tool.name) for tool in (TerminalTool, FileEditorTool, TaskTrackerTool)]
conversation = Conversation(agent=Agent(llm=llm, tools=tools), workspace=os.getcwd())
conversation.send_message(sys.stdin.read())
conversation.run()
status = conversation.state.execution_status.value
print(json.dumps({"result": get_agent_final_response(conversation.state.events), "status": status}))
