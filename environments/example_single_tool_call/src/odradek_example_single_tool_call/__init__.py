"""Answer a question about the weather by calling the weather tool."""

from odradek_example_single_tool_call.environment import ExampleSingleToolCall

__all__ = ["ExampleSingleToolCall"]
