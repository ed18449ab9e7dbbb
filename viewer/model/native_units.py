"""The units of what delegates log on a clock of their own: times, counts of ticks, and values.

Each slice with a `native_dur` has a `native_unit`:

* A unit of time (`NS_PER`) needs no rate.
* Cycles and ticks have no known length until the user states a rate.
* Any other unit, such as bytes, is that of a value. It has no duration at all.

A name may state its unit in parentheses at its end: "Accelerator (execute) time (us)",
"DSP:after_context_freed (bytes)".
"""

from __future__ import annotations

import re

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.model.queries import NATIVE_UNIT
from viewer.model.trace import Slices

CYCLES, TICKS = "cycles", "ticks"
COUNTED = (CYCLES, TICKS)  # of unknown length
NS_PER = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_ALIASES = {
    "cycle": CYCLES, "tick": TICKS, "nsec": "ns", "usec": "us", "µs": "us", "μs": "us",
    "msec": "ms", "sec": "s",
}  # fmt: skip
_VALUES = frozenset(
    (
        "bytes", "byte", "count", "counts", "percent", "percentage", "%",
        "KB", "kB", "MB", "GB", "KiB", "MiB", "GiB", "Hz", "kHz", "KHz", "MHz", "GHz",
        "mV", "uV", "mA", "uA", "mW", "uW", "mJ", "uJ", "nJ", "pJ", "celsius", "°C", "inf/sec",
        "bytes/s", "B/s", "KB/s", "MB/s", "GB/s", "Bps", "KBps", "MBps", "GBps",
    )
)  # fmt: skip
# Words are units in any case; of "mW" and "MW" one is a million times the other.
_WORDS = frozenset((*_ALIASES, CYCLES, TICKS, "us", "ns", "bytes", "byte", "count", "percent"))
_LAST = re.compile(r"(\s?)\(([^\s(),]{1,16})\)\s*\Z")


def stated_unit(name: str) -> str:
    """Return the unit at the end of a name; "" if it states none that is known."""
    match = _LAST.search(name) if ")" in name[-4:] else None
    if match is None:
        return ""
    space, text = match.groups()
    text = text.lower() if text.lower() in _WORDS else text
    unit = _ALIASES.get(text, text)
    if unit == "s":
        return unit if space else ""  # "graph(s)" is a plural
    return unit if unit in NS_PER or unit in COUNTED or unit in _VALUES else ""


def possible_unit(name: str) -> str:
    """Return what is in the last parentheses of a name if it may be a unit; "" otherwise.

    It is one only where other names state theirs: "(F32)" and "(fused)" look alike.
    """
    match = _LAST.search(name)
    return match[2] if match and not any(c.isdigit() for c in match[2]) else ""


def without_unit(name: str) -> str:
    """Return a name without the unit at its end."""
    return _LAST.sub("", name).rstrip() if stated_unit(name) else name


def is_value(unit: str) -> bool:
    """Return whether a unit is that of a value, which has no duration."""
    return unit not in NS_PER and unit not in COUNTED


def values(slices: Slices) -> Ints:
    """Return the slices that hold a value instead of a time, ascending."""
    column = slices.columns.get(NATIVE_UNIT)
    if column is None or column.strings is None:
        return np.empty(0, np.int64)
    of_code = np.array([is_value(unit) for unit in column.strings], np.bool_)
    if not of_code.any():
        return np.empty(0, np.int64)
    is_native: Bools = of_code[column.values]
    return np.flatnonzero(is_native if column.valid is None else is_native & column.valid)


def holds_value(slices: Slices, i: int) -> bool:
    """Return whether a slice holds a value instead of a time."""
    column = slices.columns.get(NATIVE_UNIT)
    unit = None if column is None else column.value(i)
    return isinstance(unit, str) and is_value(unit)
