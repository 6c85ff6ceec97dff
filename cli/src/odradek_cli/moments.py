"""Moments as a person types them: a date and time, or how long ago."""

import re
from datetime import datetime, timedelta

from odradek_cli.errors import CliError, Exit

_AGO = re.compile(r"(\d+)([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def read_moment(text: str, now: datetime) -> datetime:
    """`2026-11-30`, `2026-11-30T12:00`, with or without a time zone (none: the local one), or `30m`, `2h`, `7d` ago.

    Raises:
        CliError: it is none of these.
    """
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return now - timedelta(seconds=int(ago[1]) * _UNITS[ago[2]])
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError) as error:
        raise CliError(
            f"{text!r} is no moment",
            Exit.INVALID_INPUT,
            "use 2026-11-30T12:00, or 30m, 2h, 7d for so long ago",
        ) from error
