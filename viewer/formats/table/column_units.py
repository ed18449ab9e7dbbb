"""Units of time in the names of columns: `start_us`, `dur (ms)`, `Start (ns)`, `durationNs`."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
_LONGEST = 8  # of a unit in a row of units, such as GB/s
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
    is_row = all(len(text) <= _LONGEST and not any(map(str.isdigit, text)) for text in texts)
    return texts if is_row and any(map(parse_unit, texts)) else []
