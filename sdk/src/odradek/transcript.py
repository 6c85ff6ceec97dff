"""Reading what a model said and did in a trajectory."""

from odradek_schemas.messages import FunctionCall, Message
from odradek_schemas.rollouts import Trajectory


def replies(trajectory: Trajectory) -> list[Message]:
    """The model's messages, in order, without those of the prompt."""
    played = trajectory.messages[trajectory.prompt_messages :]
    return [message for message in played if message.role == "assistant"]


def output_text(trajectory: Trajectory) -> str:
    """All text that the model wrote, its reasoning apart, joined."""
    return "".join(message.text for message in replies(trajectory))


def function_calls(trajectory: Trajectory) -> list[FunctionCall]:
    """All calls that the model made, in order, valid or not."""
    return [call.function for message in replies(trajectory) for call in message.tool_calls or []]
