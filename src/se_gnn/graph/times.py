"""Dates as seconds since 1970, UTC: how edges hold them."""

from __future__ import annotations

import datetime

from se_gnn.errors import InputError

Date = str | int | datetime.date | datetime.datetime


def as_seconds(date: Date) -> int:
    """The last second of a date: of the day where no time is given; an integer is seconds already.

    >>> as_seconds("1970-01-01"), as_seconds("1970-01-01T00:01"), as_seconds(7)
    (86399, 60, 7)
    """
    if isinstance(date, bool):
        raise InputError(f"a date must be a text such as 2026-03-31, a date or seconds since 1970, got {date!r}")
    if isinstance(date, int):
        return date
    if isinstance(date, str):
        text = date.strip()
        try:
            whole_day = len(text) == len("2026-03-31")
            date = datetime.date.fromisoformat(text) if whole_day else datetime.datetime.fromisoformat(text)
        except ValueError as error:
            raise InputError(f"a date must look like 2026-03-31 or 2026-03-31T12:00, got {text!r}") from error
    if isinstance(date, datetime.datetime):
        moment = date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
        return int(moment.timestamp() // 1)
    day = datetime.datetime.combine(date, datetime.time.max, tzinfo=datetime.UTC)
    return int(day.timestamp() // 1)
