"""Reads processed profiles of Firefox, which samply and the Firefox Profiler write.

Specified in the Profiler's docs-developer/processed-format.md and src/types/profile.ts. Tables are
objects of columns. A stack of `stackTable` is a frame below the stack `prefix`; a frame is in a
function, whose name and file are strings. The tables belong to each thread, in newer versions to
all of them (`shared`). `samples` have a stack and a time in ms each, or the time since the one
before (`timeDeltas`). A sample stands for the time to the next one. Raw profiles, as Firefox's
recorder writes them, are refused: the Profiler saves them as processed ones.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.json_values import mapping, sequence, text
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.formats.samples.stacks import (
    Frame,
    SampledSlices,
    json_of,
    ticks_of,
    until_the_next,
    whole_numbers,
)
from viewer.model.building.builder import TraceBuilder

_MARK = re.compile(
    rb'"(?:preprocessedProfileVersion|geckoProfile\w*)"'
    rb'|\A\s*\{\s*"meta"\s*:\s*\{[^{}]{0,400}"(?:interval|processType)"'
)
_MS = 10**6
_NO_TIME = "sample without a usable time: left out"


def sniff(data: bytes) -> bool:
    """Whether it is JSON with what the metadata of such a profile has near its start."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and _MARK.search(data) is not None


def read(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> None:
    """Read the samples of all threads. Raises UnreadableFile and ReadCancelled."""
    data = json_of(builder, progress, cancelled)
    shared = mapping(data.get("shared"))
    threads = [mapping(thread) for thread in sequence(data.get("threads"))]
    if not any(mapping(thread.get("samples")).get("stack") for thread in threads):
        raise UnreadableFile(
            builder.path, "this profile of Firefox has no samples that can be read",
            remedy="Open it at profiler.firefox.com, and save it from there",
        )  # fmt: skip
    named: set[tuple[str, str]] = set()
    for number, thread in enumerate(threads):
        stop_if(cancelled)
        process = text(thread.get("processName")) or f"process {thread.get('pid', 0)}"
        name = text(thread.get("name")) or "thread"
        if (process, name) in named:
            name = f"{name} ({thread.get('tid', number)}, {number})"
        named.add((process, name))
        _add(builder, builder.track(process, name), {**shared, **thread})


def _add(builder: TraceBuilder, track: int, thread: dict[str, Any]) -> None:
    """Add the samples of a thread, given with the tables that all share."""
    strings = sequence(thread.get("stringArray")) or sequence(thread.get("stringTable"))
    stacks, frames, functions, samples = (
        mapping(thread.get(name)) for name in ("stackTable", "frameTable", "funcTable", "samples")
    )

    def texts(column: str) -> list[str]:
        rows = whole_numbers(sequence(functions.get(column)), len(strings)).tolist()
        return [text(strings[i]) if i >= 0 else "" for i in rows]

    names, files = texts("name"), texts("fileName")
    files += [""] * (len(names) - len(files))
    lines = sequence(frames.get("line"))
    frame_list = [
        Frame(names[i] if i >= 0 else "", files[i] if i >= 0 else "", _line(lines, row))
        for row, i in enumerate(whole_numbers(sequence(frames.get("func")), len(names)).tolist())
    ]
    prefixes, frame = sequence(stacks.get("prefix")), sequence(stacks.get("frame"))
    count = min(len(prefixes), len(frame))
    parent = whole_numbers(prefixes[:count], count)
    is_root = np.array([prefix is None for prefix in prefixes[:count]], np.bool_)
    of_stack = whole_numbers(frame[:count], len(frame_list))
    # A stack with a prefix or a frame that is missing is below no root.
    parent[~is_root & (parent < 0)] = -2
    parent[of_stack < 0] = -2
    node = whole_numbers(sequence(samples.get("stack")), count)
    time, usable = _times(samples)
    rows = np.flatnonzero(usable[: len(node)])
    builder.problem(_NO_TIME, len(node) - len(rows))
    order = rows[np.argsort(time[rows], kind="stable")]
    end, is_apart = until_the_next(time[order])
    slices = SampledSlices(builder, frame_list, parent, np.maximum(of_stack, 0))
    slices.add(track, node[order], time[order], end, is_apart=is_apart)


def _times(samples: dict[str, Any]) -> tuple[Ints, np.ndarray]:
    times, usable = ticks_of(sequence(samples.get("time")), _MS)
    if len(times):
        return times, usable
    steps, usable = ticks_of(sequence(samples.get("timeDeltas")), _MS)
    fits = np.abs(np.cumsum(steps.astype(np.float64))) < 2.0**62
    return np.cumsum(steps), usable & fits


def _line(lines: list[Any], index: int) -> int:
    line = lines[index] if index < len(lines) else 0
    return line if type(line) is int and 0 < line < 1 << 31 else 0
