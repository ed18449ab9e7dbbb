"""Torq perfetto_logger's names of processes and threads, and the texts in its slice names."""

from __future__ import annotations

import re
from collections.abc import Sequence

COMPILE_PROCESS = "Compile Profile"  # of 183cae4
UNKNOWN_THREAD = "UNKNOWN"
# The threads of 36d5652 and of 183cae4; all of them are shown for any file.
C1_THREADS = ("0_DMA_IN", "1_DMA_OUT", "2_SLICE_0", "3_SLICE_1", "4_CDMA", "5_CSS")
C2_THREADS = (
    "00_Input_Layer", "01_Torq_Operations", "02_Host", "03_DMA_In", "04_DMA_Out", "05_CDMA",
    "06_Slice_0", "07_Slice_1", "08_CSS",
)  # fmt: skip
LAYERS = C2_THREADS[0]

_CALL_SITE = re.compile(r'callsite\("([^"]*)":(\d+):(\d+)')
_MLIR_FILE = re.compile(r'\.mlir":(\d+):(\d+)')
_SHOWN_PLACES = 3


def short_location(text: str) -> str:
    """Return the first place in a location without its folder, "m.mlir:11:10"."""
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
    """Format a share: "12.50%", or "0.00%" if the total is 0."""
    return f"{part / whole * 100 if whole else 0:.2f}%"


def duration_text(ns: int) -> str:
    """Format ns in a fitting unit: "1.234s", "456.789ms", "123.456µs", "123ns"."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)):
        if ns >= size:
            return f"{ns / size:.3f}{unit}"
    return f"{ns}ns"


def layer_name(operator: str, places: Sequence[str]) -> str:
    """Return the name of an input-layer slice up to its duration, with at most three places."""
    distinct = list(dict.fromkeys(places))
    more = len(distinct) - _SHOWN_PLACES
    place_text = ", ".join(distinct[:_SHOWN_PLACES]) + (f" (+{more} more)" if more > 0 else "")
    return f"{operator} | {place_text} | "
