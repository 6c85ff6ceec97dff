"""Visits to the company's web site. Only plots change anything here."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from odradek import ToolResult, tool
from odradek_workplace_assistant.replies import Refused, told
from odradek_workplace_assistant.tables import Row
from odradek_workplace_assistant.toolkits.toolkit import Office, Text, Toolkit

_VALUES = (
    "total_visits",
    "session_duration_seconds",
    "user_engaged",
    "visits_direct",
    "visits_referral",
    "visits_search_engine",
    "visits_social_media",
)
_PLOTS = ("bar", "line", "scatter", "histogram")

First = Annotated[Text, Field(description="First day, YYYY-MM-DD")]
Last = Annotated[Text, Field(description="Last day, YYYY-MM-DD")]


class AnalyticsTools(Toolkit):
    """Counting visits, and plotting them."""

    @tool
    def analytics_get_visitor_information_by_id(
        self, office: Office, visitor_id: Annotated[str, Field(description="The visitor's ID")]
    ) -> ToolResult:
        """Read all visits of a visitor."""
        if not visitor_id:
            raise Refused("Visitor ID not provided.")
        visits = [visit for visit in self.tables.visits if visit["visitor_id"] == visitor_id]
        if not visits:
            raise Refused("Visitor not found.")
        return told([{**visit, "user_engaged": _engaged(visit)} for visit in visits])

    @tool
    def analytics_create_plot(
        self,
        office: Office,
        time_min: Annotated[str, Field(description="First day, YYYY-MM-DD")],
        time_max: Annotated[str, Field(description="Last day, YYYY-MM-DD")],
        value_to_plot: Annotated[
            str,
            Field(
                description="What to plot: 'total_visits', 'session_duration_seconds', 'user_engaged', "
                "'visits_direct', 'visits_referral', 'visits_search_engine' or 'visits_social_media'"
            ),
        ],
        plot_type: Annotated[str, Field(description="How: 'bar', 'line', 'scatter' or 'histogram'")],
    ) -> ToolResult:
        """Plot what was measured over some days; tells the plot's file."""
        if not time_min:
            raise Refused("Start date not provided.")
        if not time_max:
            raise Refused("End date not provided.")
        if value_to_plot not in _VALUES:
            raise Refused(f"Value to plot must be one of {', '.join(map(repr, _VALUES))}")
        if plot_type not in _PLOTS:
            raise Refused("Plot type must be one of 'bar', 'line', 'scatter', or 'histogram'")
        file = f"plots/{time_min}_{time_max}_{value_to_plot}_{plot_type}.png"
        office.plots.append(file)
        return told(file)

    @tool
    def analytics_total_visits_count(
        self, office: Office, time_min: First = None, time_max: Last = None
    ) -> ToolResult:
        """Count the visits of each day."""
        return told({day: len(visits) for day, visits in self._days(time_min, time_max)})

    @tool
    def analytics_engaged_users_count(
        self, office: Office, time_min: First = None, time_max: Last = None
    ) -> ToolResult:
        """Count the engaged users of each day."""
        return told({day: sum(map(_engaged, visits)) for day, visits in self._days(time_min, time_max)})

    @tool
    def analytics_traffic_source_count(
        self,
        office: Office,
        time_min: First = None,
        time_max: Last = None,
        traffic_source: Annotated[
            Text,
            Field(
                description="Where visits came from: 'direct', 'referral', 'search engine' or 'social media'"
            ),
        ] = None,
    ) -> ToolResult:
        """Count the visits of each day that came from one source; without a source, from all."""
        return told(
            {
                day: sum(traffic_source in (None, "", visit["traffic_source"]) for visit in visits)
                for day, visits in self._days(time_min, time_max)
            }
        )

    @tool
    def analytics_get_average_session_duration(
        self, office: Office, time_min: First = None, time_max: Last = None
    ) -> ToolResult:
        """Tell the average length of the sessions of each day, in seconds."""
        return told(
            {
                day: sum(float(visit["session_duration_seconds"] or 0) for visit in visits) / len(visits)
                for day, visits in self._days(time_min, time_max)
            }
        )

    def _days(self, first: str | None, last: str | None) -> Iterable[tuple[str, list[Row]]]:
        """The visits of each day in the range that had any, as ISO dates compare."""
        days: dict[str, list[Row]] = defaultdict(list)
        for visit in self.tables.visits:
            day = visit["date_of_visit"] or ""
            if (not first or day >= first) and (not last or day <= last):
                days[day].append(visit)
        return sorted(days.items())


def _engaged(visit: Row) -> bool:
    return visit["user_engaged"] == "True"
