"""What users write against: environments, harnesses, verifiers, and the means to test them."""

from odradek.environment import Environment
from odradek.rows import RowError, TaskRow
from odradek.tools import InvalidArguments, ToolDefinitionError, ToolError, ToolResult, tool
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, Sampling, ToolCall, ToolSpec, Usage
from odradek_schemas.rollouts import Group, Limits, Reward, RolloutStatus, Trajectory

__all__ = [
    "Environment",
    "FunctionCall",
    "FunctionSpec",
    "Group",
    "InvalidArguments",
    "JsonObject",
    "Limits",
    "Message",
    "Reward",
    "RolloutStatus",
    "RowError",
    "Sampling",
    "TaskRow",
    "ToolCall",
    "ToolDefinitionError",
    "ToolError",
    "ToolResult",
    "ToolSpec",
    "Trajectory",
    "Usage",
    "tool",
]
