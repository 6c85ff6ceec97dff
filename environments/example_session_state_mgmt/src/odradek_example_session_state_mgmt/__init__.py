"""Bring a session's counter to a given value with tool calls."""

from odradek_example_session_state_mgmt.environment import ExampleSessionStateMgmt

__all__ = ["ExampleSessionStateMgmt"]
