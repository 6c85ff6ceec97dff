"""An office's mail, calendar, analytics, project board and customers, worked on with 27 tools."""

from odradek_workplace_assistant.environment import WorkplaceAssistant

__all__ = ["WorkplaceAssistant"]
