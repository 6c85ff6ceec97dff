"""What users write against: environments, harnesses, verifiers, and the means to test them."""

from odradek.environment import Environment
from odradek.harness import Harness, HarnessMisuse, Rollout
from odradek.judging import Unscored, Verification
from odradek.rows import RowError, TaskRow
from odradek.tools import InvalidArguments, ToolDefinitionError, ToolError, ToolResult, WorldFailed, tool
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, Sampling, ToolCall, ToolSpec, Usage
from odradek_schemas.rollouts import (
    Group,
    Limits,
    Question,
    Reply,
    Reward,
    RolloutStatus,
    Trajectory,
    Transcript,
)

__all__ = [
    "Environment",
    "FunctionCall",
    "FunctionSpec",
    "Group",
    "Harness",
    "HarnessMisuse",
    "InvalidArguments",
    "JsonObject",
    "Limits",
    "Message",
    "Question",
    "Reply",
    "Reward",
    "Rollout",
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
    "Transcript",
    "Unscored",
    "Usage",
    "Verification",
    "WorldFailed",
    "tool",
]
