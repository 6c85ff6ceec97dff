"""The harnesses that come with Odradek."""
