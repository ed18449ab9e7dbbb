"""The texts in the names that Torq's perfetto_logger gives to slices: places, times, shares."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CALL_SITE = re.compile(r'callsite\("([^"]*)":(\d+):(\d+)')
_MLIR_FILE = re.compile(r'\.mlir":(\d+):(\d+)')
_SHOWN_PLACES = 3


def short_location(text: str) -> str:
    """The first place that a location names, "m.mlir:11:10": the file without its folder."""
    if match := _CALL_SITE.search(text):
        return f"{_file(match[1])}:{match[2]}:{match[3]}"
    if match := _MLIR_FILE.search(text):
        path = text[: match.start()].rpartition('"')[2]
        return f"{_file(path)}.mlir:{match[1]}:{match[2]}"
    inner = text.strip()
    if inner.startswith("loc(") and inner.endswith(")"):
        inner = inner[4:-1]
    return _file(inner.replace('"', ""))


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def percent(part: int, whole: int) -> str:
    """ "12.50%"; 0.00% of nothing."""
    return f"{part / whole * 100 if whole else 0:.2f}%"


def duration_text(ns: int) -> str:
    """ns in the unit that fits: "1.234s", "456.789ms", "123.456µs", "123ns"."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)):
        if ns >= size:
            return f"{ns / size:.3f}{unit}"
    return f"{ns}ns"


def layer_name(operator: str, places: Sequence[str]) -> str:
    """The name of a slice of the input layer, up to its duration: three places at most."""
    distinct = list(dict.fromkeys(places))
    more = len(distinct) - _SHOWN_PLACES
    shown = ", ".join(distinct[:_SHOWN_PLACES]) + (f" (+{more} more)" if more > 0 else "")
    return f"{operator} | {shown} | "
