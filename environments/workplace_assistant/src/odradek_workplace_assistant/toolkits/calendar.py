"""The calendar."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from odradek import ToolResult, tool
from odradek_workplace_assistant.matching import finder, moment
from odradek_workplace_assistant.replies import Refused, paged, told
from odradek_workplace_assistant.tables import Row
from odradek_workplace_assistant.toolkits.toolkit import Number, Office, Text, Toolkit

_ID_DIGITS = 8
_SETTABLE = ("event_name", "participant_email", "event_start", "duration")
_READABLE = ("event_id", *_SETTABLE)

EventId = Annotated[str, Field(description="The event's ID of 8 digits")]


class CalendarTools(Toolkit):
    """Reading, searching, creating, changing and deleting events."""

    @tool
    def calendar_get_event_information_by_id(
        self,
        office: Office,
        event_id: EventId,
        field: Annotated[
            str,
            Field(
                description="The field to read: 'event_id', 'event_name', 'participant_email', 'event_start' or 'duration'"
            ),
        ],
    ) -> ToolResult:
        """Read one field of an event."""
        if not event_id:
            raise Refused("Event ID not provided.")
        if not field:
            raise Refused("Field not provided.")
        _check_id(event_id)
        _check_field(field, _READABLE)
        event = self.sheet(office, "calendar").find(event_id)
        if event is None:
            raise Refused("Event not found.")
        return told({field: event[field]})

    @tool
    def calendar_search_events(
        self,
        office: Office,
        query: Annotated[
            Text, Field(description="What is in the event's name or the participant's address")
        ] = None,
        time_min: Annotated[Text, Field(description="Earliest start, YYYY-MM-DD HH:MM:SS")] = None,
        time_max: Annotated[Text, Field(description="Latest start, YYYY-MM-DD HH:MM:SS")] = None,
        page: Annotated[Number, Field(description="Which page of the results")] = 1,
        page_size: Annotated[Number, Field(description="Events on a page")] = 5,
    ) -> ToolResult:
        """Search events by text and start, the latest first."""
        first, last = _time("time_min", time_min), _time("time_max", time_max)
        holds = finder(query or "")
        found = [
            event
            for event in self.sheet(office, "calendar").rows()
            if (holds(event["event_name"]) or holds(event["participant_email"]))
            and _starts_within(event, first, last)
        ]
        found.sort(key=_start, reverse=True)
        if not found:
            return told("No events found.")
        return told(paged("events", found, page, page_size))

    @tool
    def calendar_create_event(
        self,
        office: Office,
        event_name: Annotated[str, Field(description="The event's name")],
        participant_email: Annotated[str, Field(description="Email address of the participant")],
        event_start: Annotated[str, Field(description="When it starts, YYYY-MM-DD HH:MM:SS")],
        duration: Annotated[str, Field(description="How many minutes it takes")],
    ) -> ToolResult:
        """Create an event; tells its ID."""
        given = {
            "Event name": event_name,
            "Participant email": participant_email,
            "Event start": event_start,
            "Event duration": duration,
        }
        for what, value in given.items():
            if not value:
                raise Refused(f"{what} not provided.")
        _check_start(event_start)
        _check_duration(duration)
        sheet = self.desk(office, "calendar")
        event_id = sheet.next_id(_ID_DIGITS)
        sheet.append(
            {
                "event_id": event_id,
                "event_name": event_name,
                "participant_email": participant_email.lower(),
                "event_start": event_start,
                "duration": duration,
            }
        )
        return told(event_id)

    @tool
    def calendar_delete_event(self, office: Office, event_id: EventId) -> ToolResult:
        """Delete an event."""
        if not event_id:
            raise Refused("Event ID not provided.")
        _check_id(event_id)
        if not self.desk(office, "calendar").remove(event_id):
            raise Refused("Event not found.")
        return told("Event deleted successfully.")

    @tool
    def calendar_update_event(
        self,
        office: Office,
        event_id: EventId,
        field: Annotated[
            str,
            Field(
                description="The field to set: 'event_name', 'participant_email', 'event_start' or 'duration'"
            ),
        ],
        new_value: Annotated[str, Field(description="What the field shall be")],
    ) -> ToolResult:
        """Set one field of an event."""
        if not event_id or not field or not new_value:
            raise Refused("Event ID, field, or new value not provided.")
        _check_id(event_id)
        _check_field(field, _SETTABLE)
        if field == "event_start":
            _check_start(new_value)
        if field == "duration":
            _check_duration(new_value)
        value = new_value.lower() if field == "participant_email" else new_value
        if not self.desk(office, "calendar").update(event_id, field, value):
            raise Refused("Event not found.")
        return told("Event updated successfully.")


def _check_id(event_id: str) -> None:
    if len(event_id) != _ID_DIGITS or not event_id.isdigit():
        raise Refused("Invalid event ID format. Expected 8-digit ID.")


def _check_field(field: str, fields: tuple[str, ...]) -> None:
    if field not in fields:
        raise Refused(f"Invalid field. Available fields are: {', '.join(fields)}")


def _check_start(text: str) -> None:
    if moment(text) is None:
        raise Refused("Invalid event_start format. Expected YYYY-MM-DD HH:MM:SS.")


def _check_duration(text: str) -> None:
    try:
        minutes = int(text)
    except ValueError as error:
        raise Refused("Invalid duration format. Expected a number of minutes.") from error
    if minutes <= 0:
        raise Refused("Duration must be a positive number of minutes.")


def _time(name: str, text: str | None) -> datetime | None:
    if not text:
        return None
    read = moment(text)
    if read is None:
        raise Refused(f"Invalid {name} format. Expected YYYY-MM-DD HH:MM:SS.")
    return read


def _start(event: Row) -> datetime:
    return moment(event["event_start"] or "") or datetime.min


def _starts_within(event: Row, first: datetime | None, last: datetime | None) -> bool:
    return (first or datetime.min) <= _start(event) <= (last or datetime.max)
