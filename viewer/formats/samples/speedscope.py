"""Reads speedscope's JSON, which py-spy, rbspy, austin, viztracer's tools and others write.

Specified in https://www.speedscope.app/file-format-schema.json: `shared.frames`, and profiles that
refer to them by number. Each profile is a thread here.

    evented    O and C events open and close a frame: slices with their measured times
    sampled    stacks, outermost frame first, with a weight each. A weight in a unit of time is how
               long the sample stands for, one after another from `startValue` on

Weights without a unit are counts of samples, and those in bytes are allocations. Such a profile has
no times: a tick is a sample or a byte, its slices are placed one after another, and their length
on the timeline is an assumption that `--clock` changes. Times are rounded to ns.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from viewer.codecs.decimal_times import TIME_LIMIT
from viewer.codecs.json_values import mapping, sequence, text, whole_number
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.formats.event_pairs import BEGIN, END, paired
from viewer.formats.samples.stacks import (
    Frame,
    SampledSlices,
    StackTree,
    json_of,
    ticks_of,
    whole_numbers,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import Timing
from viewer.model.trace import Clock, Column, KeyKind

_MARK = re.compile(rb'speedscope\.app/file-format-schema|"shared"\s*:\s*\{\s*"frames"')
_NS = {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "seconds": 10**9}
_COUNTED = {"none": "sample", "bytes": "byte"}
# What a sample is drawn as; nothing states how often they were taken.
SAMPLE_NS = 1_000_000
_OTHER_UNIT = "profile in a unit without a common clock: left out"
_NOT_USABLE = "time or weight that is no usable number: left out"
_NEGATIVE = "negative weight: counted as 0"
_UNEQUAL = "samples without a weight, or weights without a sample: left out"
_NO_FRAME = "frame number that the file does not define: left out"
_NO_END = "frame that is opened and not closed: drawn to the end of its profile"
_NO_BEGIN = "frame that is closed and not opened: left out"


def sniff(data: bytes) -> bool:
    """Whether it is JSON with the address of the schema, or the frames, near its start."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and _MARK.search(data) is not None


def read(builder: TraceBuilder, progress: Progress, cancelled: Cancelled) -> None:
    """Read all profiles of a file. Raises UnreadableFile and ReadCancelled."""
    data = json_of(builder, progress, cancelled)
    profiles = [mapping(entry) for entry in sequence(data.get("profiles"))]
    if not profiles:
        raise UnreadableFile(builder.path, "it has no profiles", remedy="Record it again")
    units = [text(profile.get("unit")) for profile in profiles]
    unit = next((unit for unit in units if unit in _NS), units[0])  # one clock: times are preferred
    if unit in _COUNTED:
        builder.clock = counted_clock(_COUNTED[unit])
    process = text(data.get("name")) or text(data.get("exporter")) or "speedscope"
    frames = [
        Frame(
            text(entry.get("name")), text(entry.get("file")), whole_number(entry.get("line")) or 0
        )
        for entry in map(mapping, sequence(mapping(data.get("shared")).get("frames")))
    ]
    reader = _Profiles(builder, frames)
    for number, profile in enumerate(profiles):
        stop_if(cancelled)
        profile_unit = text(profile.get("unit"))
        factor = _NS.get(profile_unit, 1)
        if (profile_unit in _NS) != (unit in _NS) or (
            profile_unit not in _NS and profile_unit != unit
        ):
            builder.problem(_OTHER_UNIT, 1, f"profile {number}")
            continue
        name = text(profile.get("name")) or f"profile {number}"
        threads = {track.thread for track in builder.tracks()}
        track = builder.track(process, name if name not in threads else f"{name} ({number})")
        if profile.get("type") == "evented":
            reader.add_events(track, profile, factor)
        else:
            reader.add_samples(track, profile, factor)
    reader.finish()


def counted_clock(unit: str) -> Clock:
    """Return the clock of a profile without times. unit: "sample" or "byte"."""
    return Clock(unit, Fraction(SAMPLE_NS if unit == "sample" else 1), assumed=True)


class _Profiles:
    """Adds the slices of one file."""

    def __init__(self, builder: TraceBuilder, frames: list[Frame]) -> None:
        self._builder, self._frames = builder, frames
        self._tree = StackTree()
        self._samples: list[tuple[int, Any, Any]] = []

    def add_events(self, track: int, profile: dict[str, Any], factor: int) -> None:
        """Add the slices of an evented profile."""
        events = [mapping(event) for event in sequence(profile.get("events"))]
        frame = whole_numbers([event.get("frame") for event in events], len(self._frames))
        time, usable = ticks_of([event.get("at") for event in events], factor)
        is_end = np.array([event.get("type") == "C" for event in events], np.bool_)
        self._builder.problem(_NO_FRAME, int((frame < 0).sum()))
        self._builder.problem(_NOT_USABLE, int((~usable).sum()))
        rows = np.flatnonzero(usable & (frame >= 0))
        if not len(rows):
            return
        rows = rows[np.argsort(time[rows], kind="stable")]
        time, frame, is_end = time[rows], frame[rows], is_end[rows]
        # An event closes the innermost open slice of its frame.
        pairs = paired(frame, time, np.where(is_end, END, BEGIN).astype(np.uint8))
        order = np.argsort(pairs.begin)
        begin, end = pairs.begin[order], pairs.end[order]
        self._builder.problem(_NO_END, int((end < 0).sum()))
        self._builder.problem(_NO_BEGIN, pairs.lone_ends)
        (ends,), stated = ticks_of([profile.get("endValue")], factor)
        last = max(int(time.max()), int(ends)) if stated.all() else int(time.max())
        is_open = end < 0
        begun = [self._frames[i] for i in frame[begin].tolist()]
        names = [entry.name or "(no name)" for entry in begun]
        keys = {name: self._builder.key(KeyKind.PLAIN, name) for name in dict.fromkeys(names)}
        columns = {}
        if any(entry.file for entry in begun):
            columns["file"] = Column.of_texts([entry.file for entry in begun])
        if any(entry.line for entry in begun):
            line = np.array([entry.line for entry in begun], np.int64)
            columns["line"] = Column(line, None if line.all() else line > 0)
        self._builder.add(
            track=track,
            start=time[begin],
            end=np.where(is_open, last, time[end]),
            name=self._builder.intern_all(names),
            key=np.array([keys[name] for name in names], np.uint32),
            columns=columns,
            timing=np.where(is_open, Timing.UNFINISHED, 0).astype(np.uint8),
        )

    def add_samples(self, track: int, profile: dict[str, Any], factor: int) -> None:
        """Take the samples of a profile; their slices are added once all stacks are known."""
        samples, weights = sequence(profile.get("samples")), sequence(profile.get("weights"))
        count = min(len(samples), len(weights))
        self._builder.problem(_UNEQUAL, max(len(samples), len(weights)) - count)
        weight, usable = ticks_of(weights[:count], factor)
        self._builder.problem(_NOT_USABLE, int((~usable).sum()))
        self._builder.problem(_NEGATIVE, int((weight < 0).sum()))
        weight = np.maximum(weight, 0)
        (start,), _ = ticks_of([profile.get("startValue")], factor)
        if abs(float(start)) + weight.sum(dtype=np.float64) > TIME_LIMIT:
            self._builder.problem("profile whose weights do not fit 64 bits: left out", 1)
            return
        frame_count, lost = len(self._frames), 0
        node = np.empty(count, np.int64)
        for i, stack in enumerate(samples[:count]):
            frames = tuple(sequence(stack))
            good = tuple(f for f in frames if type(f) is int and 0 <= f < frame_count)
            lost += len(frames) - len(good)
            node[i] = self._tree.stack(good)
        self._builder.problem(_NO_FRAME, lost)
        end = start + np.cumsum(weight)
        self._samples.append((track, node, (end - weight, end)))

    def finish(self) -> None:
        """Add the slices of all samples."""
        if not self._samples:
            return
        is_counted = self._builder.clock.assumed
        tree = self._tree
        slices = SampledSlices(self._builder, self._frames, tree.parent, tree.frame)
        for track, node, (start, end) in self._samples:
            slices.add(
                track, node, start, end,
                weight=end - start if self._builder.clock.unit == "sample" else None,
                timing=Timing.SAMPLED | (Timing.PLACED if is_counted else Timing.MEASURED),
            )  # fmt: skip
