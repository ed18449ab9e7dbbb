"""What readers of samples share: the JSON of a whole file, its numbers, and times of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.codecs.decimal_times import TIME_LIMIT
from viewer.codecs.gzip_file import PackedFile
from viewer.codecs.json_values import InvalidJson, Parsed, mapping, memory_needed
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.model.building.builder import TraceBuilder

_BLOCK = 1 << 22
_MOST = (1 << 63) - 1
# A pause is longer than so many times the usual distance of two samples.
_PAUSE = 3


def json_of(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> dict[str, Any]:
    """Return the object in a file, plain or gzip. Raises UnreadableFile and ReadCancelled."""
    raw = bytearray()
    with PackedFile(builder.path) as source:
        while block := source.read(_BLOCK):
            stop_if(cancelled)
            raw += block
            allowance().take(len(raw) + memory_needed(raw) if source.share >= 1 else 2 * len(raw))
            progress(min(source.done, source.size), source.size)
        fault = source.fault
    allowance().take(len(raw) + memory_needed(raw))
    try:
        parsed = Parsed(raw.removeprefix(b"\xef\xbb\xbf"))
    except InvalidJson as error:
        raise UnreadableFile(
            builder.path,
            fault or "it is not valid JSON",
            where=str(error),
            remedy="Record it again",
        ) from error
    for warning in parsed.warnings:
        builder.problem(warning)
    return mapping(parsed.value)


def ticks_of(values: list[Any], factor: int) -> tuple[Ints, Bools]:
    """Return numbers in a unit of some ticks, rounded, and which of them are usable numbers."""
    most = TIME_LIMIT // factor
    usable = [type(v) in (int, float) and -most <= v <= most for v in values]
    numbers = [v if fits else 0 for v, fits in zip(values, usable, strict=True)]
    is_whole = np.array([type(v) is int for v in numbers], np.bool_)
    whole = np.array([v if type(v) is int else 0 for v in numbers], np.int64) * factor
    parts = np.rint(np.array(numbers, np.float64) * factor).astype(np.int64)
    return np.where(is_whole, whole, parts), np.array(usable, np.bool_)


def whole_numbers(values: list[Any], count: int) -> Ints:
    """Return the numbers from 0 to below `count`, -1 for all other values."""
    return np.fromiter(
        (v if type(v) is int and 0 <= v < count else -1 for v in values), np.int64, len(values)
    )


def _median(values: Ints) -> int:
    """The median in whole numbers, 0 of none: a float would round what is beyond 2**53."""
    if not len(values):
        return 0
    middle = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, middle)
    return (int(ordered[middle[0]]) + int(ordered[middle[1]])) // 2


def until_the_next(time: Ints) -> tuple[Ints, Bools]:
    """Return where the time of each sample of a thread ends, and which follow a pause.

    time: ascending. A sample stands for the time to the next one. If this is much longer than is
    usual on the thread, as while it does not run, it stands for the usual time.
    """
    gaps = np.diff(time)
    if not len(gaps):
        return time.copy(), np.zeros(len(time), np.bool_)
    usual = _median(gaps[gaps > 0])
    # Times ascend: a gap below 0 is one beyond int64.
    is_pause = (gaps > _PAUSE * usual) | (gaps < 0)
    at_end = min(usual, _MOST - int(time[-1]))
    lasts = np.append(np.where(is_pause, usual, gaps), at_end)
    return time + lasts, np.append(False, is_pause)
