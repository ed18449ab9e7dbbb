"""The large trace of the benches: nested slices on many tracks, and the same as a plain CSV.

192 tracks of unlike weight, nested 8 deep; lengths and gaps follow Pareto's law, the 5000 names
Zipf's; 100 s at a time that an uptime clock could have. The same size gives the same trace.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace

SLICES = int(os.environ.get("OPSCOPE_BENCH_SLICES", "100000"))
TRACKS = 192
DEPTH = 8
NAMES = 5000
SPAN = 100_000_000_000
ORIGIN = 4_812_337_551_000_000
EVEN_STEP = 1000  # ns from one slice of the even trace to the next
_LAYERS = ("attention.query", "attention.key", "attention.value", "mlp.up", "mlp.down", "norm")
_CSV_BLOCK = 1 << 18


@dataclass(frozen=True)
class Columns:
    """All slices in order of their start: int64 ns, uint32 track and name, uint8 depth."""

    start: np.ndarray
    end: np.ndarray
    track: np.ndarray
    name: np.ndarray
    depth: np.ndarray


def names() -> list[str]:
    """5000 distinct ones, 40 to 60 characters long, as exported models have them."""
    return [
        f"model.blocks.{i // 6 % 48}.{_LAYERS[i % 6]}.aten_convolution_default_{i:04}"
        for i in range(NAMES)
    ]


def track_names() -> list[tuple[str, str]]:
    """Process and thread of every track: 8 processes."""
    return [(f"inference server {t // 24}", f"worker thread {t % 24:02}") for t in range(TRACKS)]


@cache
def columns(count: int) -> Columns:
    """About `count` slices; few that would be shorter than a tick are left out."""
    rng = np.random.default_rng(5)
    share = rng.pareto(1.2, TRACKS) + 0.3
    per_track = np.maximum(count * np.minimum(share / share.sum(), 0.2), 8 * DEPTH)
    per_track *= count / per_track.sum()
    parts = [_track(rng, t, max(int(n), 8)) for t, n in enumerate(per_track.tolist())]
    start, end, depth, track = (np.concatenate(part) for part in zip(*parts, strict=True))
    by_start = np.lexsort((depth, start))
    start, end, depth, track = (part[by_start] for part in (start, end, depth, track))
    zipf = 1 / np.arange(1, NAMES + 1)
    name = np.searchsorted(np.cumsum(zipf / zipf.sum()), rng.random(len(start)))
    return Columns(start, end, track, np.minimum(name, NAMES - 1).astype(np.uint32), depth)


def _track(rng: np.random.Generator, track: int, count: int) -> tuple[np.ndarray, ...]:
    """One track: every level has twice as many slices as the one above it, inside of them."""
    weights = 2.0 ** np.arange(DEPTH)
    per_level = np.maximum(count * weights / weights.sum(), 1).astype(int)
    outer_start, outer_end = np.array([ORIGIN]), np.array([ORIGIN + SPAN])
    found = []
    for depth, n in enumerate(per_level.tolist()):
        room = (outer_end - outer_start) // 4
        wanted = rng.multinomial(n, (weight := np.sqrt(room) + 1e-9) / weight.sum())
        inside = np.minimum(wanted, room)
        parent = np.repeat(np.arange(len(inside)), inside)
        outer_start, outer_end = _fill(rng, outer_start, outer_end, inside, parent)
        if not len(outer_start):
            break
        kind = np.full(len(outer_start), depth, np.uint8)
        found.append((outer_start, outer_end, kind, np.full(len(kind), track, np.uint32)))
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))


def _fill(rng, outer_start, outer_end, inside, parent):
    """Lay slices end to end with gaps into their parents, at least a tick each."""
    n = len(parent)
    length, gap = rng.pareto(1.3, n) + 0.02, rng.pareto(1.3, n) + 0.02
    first = np.cumsum(inside) - inside
    at = np.cumsum(length + gap)
    before = np.concatenate([[0.0], at])[first]
    total = np.concatenate([[0.0], at])[first + inside] - before
    some = inside > 0
    scale = np.zeros(len(inside))
    scale[some] = ((outer_end - outer_start - 2 * inside)[some]) / total[some]
    number = np.arange(n) - first[parent]
    stop = ((at - before[parent]) * scale[parent]).astype(np.int64) + number + 1
    begin = ((at - length - before[parent]) * scale[parent]).astype(np.int64) + number
    begin = np.minimum(begin, stop - 1)
    # Sums of floats over millions of slices lose a tick here and there.
    begin[1:] = np.where(number[1:] > 0, np.maximum(begin[1:], stop[:-1]), begin[1:])
    stop = np.minimum(np.maximum(stop, begin + 1), (outer_end - outer_start)[parent])
    keep = begin < stop
    base = outer_start[parent]
    return (base + begin)[keep], (base + stop)[keep]


@cache
def trace(count: int) -> Trace:
    """The slices as an open trace has them."""
    made = columns(count)
    builder = TraceBuilder("/bench/many.csv", "Profile CSV", "", Clock("ns"))
    for process, thread in track_names():
        builder.track(process, thread)
    keys = np.array([builder.key(KeyKind.PLAIN, name) for name in names()], np.uint32)
    builder.add(
        track=made.track, start=made.start, end=made.end,
        name=builder.intern_all(names())[made.name], key=keys[made.name],
    )  # fmt: skip
    return builder.build()


@cache
def even(count: int) -> Trace:
    """96 rows with as many slices each, all of one length: any view of it is as full as another."""
    rows = 96
    each = max(count // rows, 1)
    start = np.tile(np.arange(each) * EVEN_STEP, rows)
    builder = TraceBuilder("/bench/even.csv", "Profile CSV", "", Clock("ns"))
    tracks = np.array([builder.track("even", f"thread {row:02}") for row in range(rows)], np.uint32)
    keys = np.array([builder.key(KeyKind.PLAIN, name) for name in names()], np.uint32)
    name = np.random.default_rng(7).integers(0, NAMES, len(start))
    builder.add(
        track=np.repeat(tracks, each), start=start, end=start + EVEN_STEP - 10,
        name=builder.intern_all(names())[name], key=keys[name],
    )  # fmt: skip
    return builder.build()


def write_csv(path: Path, count: int) -> int:
    """Write a plain profile CSV, 100 bytes a slice, in order of time; its slices."""
    made = columns(count)
    with path.open("w", newline="") as file:
        file.write("process,thread,name,start_ns,dur_ns\n")
        for block in _blocks(made):
            file.write(block)
    return len(made.start)


def _blocks(made: Columns) -> Iterator[str]:
    prefix = [f"{process},{thread}," for process, thread in track_names()]
    called = names()
    for first in range(0, len(made.start), _CSV_BLOCK):
        here = slice(first, first + _CSV_BLOCK)
        yield "".join(
            f"{prefix[t]}{called[n]},{start},{length}\n"
            for t, n, start, length in zip(
                made.track[here].tolist(), made.name[here].tolist(), made.start[here].tolist(),
                (made.end[here] - made.start[here]).tolist(), strict=True,
            )
        )  # fmt: skip
