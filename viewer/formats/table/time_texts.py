"""Reads times that are texts, and the units of time in the names of columns.

    1.2ms  350 µs  1h 2m 3.5s      an amount and its unit; Go and systemd join several
    00:01:02.500  01:02.500        a clock; two parts only with a fraction: 01:02 may be hours
    1 days 00:00:01.5              as pandas and Python write a timedelta
    2024-05-01T10:00:00.5+02:00    ISO 8601, also with a space or slashes; without a zone UTC
    P0DT0H0M1.5S                   a duration of ISO 8601

`05/01/2024` is not read: it may be January or May. Units of names: `start_us`, `Start (ns)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

CYCLE = "cycle"
UNITS = ("s", "ms", "us", "ns", "ps", CYCLE)
# The unit of a column whose cells state their own.
IN_CELLS = "in cells"
# Powers of ten of the units in ns; a cycle is a tick.
EXPONENTS = {"s": 9, "ms": 6, "us": 3, "ns": 0, "ps": -3, CYCLE: 0}
_WORDS = {
    "s": "s sec secs second seconds",
    "ms": "ms msec msecs millisecond milliseconds millis",
    "us": "us µs μs usec usecs µsec μsec microsecond microseconds micros",
    "ns": "ns nsec nsecs nanosecond nanoseconds nanos",
    "ps": "ps psec psecs picosecond picoseconds",
    CYCLE: "cycle cycles cyc clk clks clocks ticks",
}
_UNIT_OF = {word: unit for unit, words in _WORDS.items() for word in words.split()}
_BRACKETS = re.compile(r"(.*?)\s*[(\[{<]\s*([^()\[\]{}<>]*?)\s*[)\]}>]")
_LAST_WORD = re.compile(r"(.+?)(?:[\s_\-./,:]+(?:in[\s_]+)?)([^\W_]+)")
_CAMEL = re.compile(r"(.*[a-z])(Ns|Us|Ms|Ps|Sec|Secs|Seconds|Micros|Millis|Nanos|NS|US|MS|Cycles)")
_LONGEST_UNIT = 8  # of a unit in a row of units, such as GB/s
# As Tracy writes it: ns_since_start.
_SINCE = re.compile(r"([a-z]{1,2})[ _](since[ _]start)", re.IGNORECASE)


def parse_unit(text: str) -> str:
    """One of `UNITS`, "" if the text is none."""
    return _UNIT_OF.get(text.strip().casefold(), "")


@lru_cache(1 << 12)
def split_unit(name: str) -> tuple[str, str]:
    """The name of a column without its unit, and the unit; "" if it states none."""
    name = name.strip()
    for pattern in (_BRACKETS, _CAMEL, _LAST_WORD):
        match = pattern.fullmatch(name)
        if match is not None and (unit := parse_unit(match[2])):
            return match[1], unit
    match = _SINCE.fullmatch(name)
    if match is not None and (unit := parse_unit(match[1])):
        return match[2], unit
    return name, ""


def unit_of(name: str, *, alone: bool = False) -> str:
    """The unit that the name of a column states, "" if none.

    alone: the text is only a unit, as in a row of units; it may be in brackets.
    """
    if not alone:
        return split_unit(name)[1]
    return parse_unit(name.strip().strip("()[]{}<>"))


def units_row(cells: Sequence[str]) -> list[str]:
    """The units in a row below a header: at least one of time, and no number; [] if it is none."""
    texts = [cell.strip().strip("()[]{}<>") for cell in cells]
    is_row = all(len(text) <= _LONGEST_UNIT and not any(map(str.isdigit, text)) for text in texts)
    return texts if is_row and any(map(parse_unit, texts)) else []


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
