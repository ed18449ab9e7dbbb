"""Reads times that are texts: amounts with a unit, clocks, counts of days, dates and ISO durations.

    1.2ms  350 µs  1h 2m 3.5s      an amount and its unit; Go and systemd join several
    00:01:02.500  01:02.500        a clock; two parts only with a fraction: 01:02 may be hours
    1 days 00:00:01.5              as pandas and Python write a timedelta
    2024-05-01T10:00:00.5+02:00    ISO 8601, also with a space or slashes; without a zone UTC
    P0DT0H0M1.5S                   a duration of ISO 8601

`05/01/2024` is not read: it may be January or May.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from viewer.formats.table.column_units import CYCLE, EXPONENTS, parse_unit

_LONGEST = 64
_FIRST = frozenset("0123456789+-.,P")  # most texts are names
_CLOCK = (
    r"(?:(?P<h>[0-9]{1,6}):(?P<m>[0-5]?[0-9]):(?P<s>[0-5]?[0-9])(?:[.,](?P<f>[0-9]{1,12}))?"
    r"|(?P<m2>[0-9]{1,6}):(?P<s2>[0-5][0-9])[.,](?P<f2>[0-9]{1,12}))"
)
_DAYS = re.compile(rf"(?:(?P<d>[+-]?[0-9]{{1,6}}) days?,?\s*)?(?:(?P<sign>[+-])?{_CLOCK})?", re.I)
_PARTS = re.compile(
    r"(?P<sign>-)?(?:(?P<d>[0-9]{1,6})\s*(?:d|days?)\s*)?"
    r"(?:(?P<h>[0-9]{1,9})\s*(?:h|hrs?|hours?)\s*)?(?:(?P<m>[0-9]{1,9})\s*(?:m|mins?|minutes?)\s*)?"
    r"(?:(?P<s>[0-9]{1,9})(?:[.,](?P<f>[0-9]{1,12}))?\s*(?:s|secs?|seconds?))?",
    re.I,
)
_DURATION = re.compile(
    r"(?P<sign>-)?P(?:(?P<d>[0-9]{1,6})D)?(?:T(?:(?P<h>[0-9]{1,9})H)?(?:(?P<m>[0-9]{1,9})M)?"
    r"(?:(?P<s>[0-9]{1,9})(?:[.,](?P<f>[0-9]{1,12}))?S)?)?"
)
_DATE = re.compile(
    r"([0-9]{4})([-/])([0-9]{1,2})\2([0-9]{1,2})(?:T|\s+)([0-9]{1,2}):([0-9]{2})"
    r"(?::([0-9]{2})(?:[.,]([0-9]{1,12}))?)?\s*(Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_AMOUNT = re.compile(r"([+-]?[0-9.,][0-9.,'_\s]*(?:[eE][+-]?[0-9]{1,3})?)\s*([a-zA-Zµμ]{1,12})")
_ZERO = datetime(1970, 1, 1, tzinfo=UTC)


# A number, its power of ten in ns, and whether it is a date without a zone: None if it is no date.
TimeText = tuple[str, int, bool | None]


def time_text(text: str) -> TimeText | None:
    """What a text says as a time, None if it is none.

    The number of an amount is as it is written, and maybe none.
    """
    text = text.strip()
    if not 2 <= len(text) <= _LONGEST or text[0] not in _FIRST or text.isdecimal():
        return None
    if match := _AMOUNT.fullmatch(text):
        if unit := parse_unit(match[2]):
            return None if unit == CYCLE else (match[1].strip(), EXPONENTS[unit], None)
    elif match := _DATE.fullmatch(text):
        return _of_date(match)
    for pattern in (_DAYS, _PARTS, _DURATION):
        match = pattern.fullmatch(text)
        if match is not None and any(match.groups()):
            if pattern is _PARTS and match["m"] and not (match["h"] or match["s"] or "in" in text):
                return None  # "5m" may be 5 thousandths
            return _seconds(match)
    return None


def is_time_text(text: str) -> bool:
    """Whether a text is a time that states its unit."""
    return time_text(text) is not None


def _seconds(match: re.Match[str]) -> TimeText:
    """Days and a clock, as a whole number and its power of ten in ns."""
    groups = match.groupdict("")
    fraction = groups["f"] or groups.get("f2", "")
    days = int(groups["d"] or 0)
    hours, minutes = int(groups["h"] or 0), int(groups["m"] or groups.get("m2") or 0)
    seconds = 3600 * hours + 60 * minutes + int(groups["s"] or groups.get("s2") or 0)
    clock = int(f"{seconds}{fraction}")
    scale: int = 10 ** len(fraction)
    if groups["sign"] == "-":
        clock = -clock
        days = days if match.re is _DAYS else -days
    return str(days * 86400 * scale + clock), 9 - len(fraction), None


def _of_date(match: re.Match[str]) -> TimeText | None:
    """Seconds since 1970, as a whole number and its power of ten in ns."""
    year, _, month, day, hour, minute, second, fraction, zone = match.groups("")
    try:
        date = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0),
            tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        return None
    seconds = (date - _ZERO) // timedelta(seconds=1)
    if zone[:1] in ("+", "-"):
        digits = zone[1:].replace(":", "").ljust(4, "0")
        ahead = 3600 * int(digits[:2]) + 60 * int(digits[2:])
        seconds += ahead if zone[0] == "-" else -ahead
    scale: int = 10 ** len(fraction)
    return str(seconds * scale + int(fraction or 0)), 9 - len(fraction), not zone
