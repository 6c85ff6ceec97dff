"""Look up the value of each synonym of a word with a tool, then hand in all of them in order."""

from odradek_example_multi_step.environment import ExampleMultiStep

__all__ = ["ExampleMultiStep"]
