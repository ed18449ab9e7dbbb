"""What grows with a trace: works of any size, each measured in a process of its own, and a picture.

`python -m tests.bench.growth WORK COUNT FILE` does one work and prints its seconds, its processor
time and the peak memory of the process as JSON.
"""

import gzip
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import opened_window
from tests.builders import many_slices
from tests.paths import DATA
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.grouping import Grouping
from viewer.export.perfetto.writer import PerfettoSource, export_perfetto
from viewer.formats import open_file
from viewer.render.raster import RowRaster
from viewer.render.time_axis import XMap

CSV, PERFETTO, PYTORCH = "open a CSV", "open a Perfetto trace", "open a PyTorch trace"
WINDOW = "open in the window"  # until all panels that are visible at first have their figures
SUFFIXES = {CSV: ".csv", PERFETTO: ".pftrace", PYTORCH: ".json", WINDOW: ".pftrace"}
EXPORT, STATISTICS, CALLS, FRAME = "export to Perfetto", "Statistics", "Calls", "draw a frame"
WORKS = (CSV, PERFETTO, PYTORCH, WINDOW, EXPORT, STATISTICS, CALLS, FRAME)
MOST_JSON = 1_000_000  # events: 300 MB
_TRAINING = DATA / "chrome_json/torch_training.json.gz"
_COPY = 4096  # bytes of address space between copies of the sample


@dataclass(frozen=True)
class Measured:
    """One work at one size: slices, seconds, seconds of processor time, and peak bytes."""

    work: str
    slices: int
    wall: float
    cpu: float
    peak: int


def write_input(work: str, path: Path, count: int) -> int:
    """Write the file that a work opens, with about `count` slices; returns how many it has."""
    if work == CSV:
        return many_slices.write_csv(path, count)
    if work in (PERFETTO, WINDOW):
        trace = many_slices.trace(count)
        export_perfetto([PerfettoSource.of(trace)], path)
        return len(trace.slices)
    return _write_json(path, count)


def _write_json(path: Path, count: int) -> int:
    """Write copies of the recorded PyTorch sample, one after another."""
    content = json.loads(gzip.decompress(_TRAINING.read_bytes()))
    events = content["traceEvents"]
    slices = sum(event.get("ph") == "X" for event in events)
    times = [event["ts"] for event in events if "ts" in event]
    span = max(times) - min(times) + 10_000
    copies = max(round(count / slices), 1)
    with path.open("w") as file:
        file.write('{"traceEvents": [\n')
        for number in range(copies):
            file.write(",\n" if number else "")
            file.write(",\n".join(json.dumps(_moved(event, number * span)) for event in events))
        file.write("\n]}")
    return copies * slices


def _moved(event: dict, by: float) -> dict:
    return {**event, "ts": round(event["ts"] + by, 3)} if "ts" in event else event


def do(work: str, count: int, path: Path) -> Measured:
    """Do one work; what it needs is made before the clock runs."""
    run, slices = _work(work, count, path)
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    return Measured(work, slices or len(found.slices), wall, cpu, int(peak) * 1024)


def _work(work: str, count: int, path: Path) -> tuple[Callable, int]:
    if work == WINDOW:
        window = opened_window.prepare(path.parent)
        return lambda: opened_window.settle(window, path), count
    if work in SUFFIXES:
        return lambda: open_file(str(path)), 0
    trace = many_slices.trace(count)
    slices = len(trace.slices)
    if work == EXPORT:
        return lambda: export_perfetto([PerfettoSource.of(trace)], path), slices
    if work == FRAME:
        raster = RowRaster.of(trace.slices, (trace.slices.name % 12).astype("uint8"))
        rows = range(min(len(trace.slices.row_track), 60))
        view = XMap(trace.start, trace.end, 1560)
        return lambda: raster.draw(rows, view), slices
    links = unlinked(trace)
    return (
        (lambda: Grouping(links).by("name"))
        if work == STATISTICS
        else (lambda: CallTree(links).table())
    ), slices


# -- the picture -----------------------------------------------------------------------------------

_SIDE, _TOP, _LEFT, _GAP = 300, 30, 60, 190
_GRAY = "#767c85"
_COLORS = (
    "#5c95ff", "#e4703a", "#12a594", "#c99a00", "#b45fd0", "#8a9a1e", "#d6487a", "#767c85",
)  # fmt: skip


def picture(measured: Sequence[Measured]) -> str:
    """Draw processor seconds and peak memory against slices as SVG, both axes logarithmic."""
    works = [work for work in WORKS if any(one.work == work for one in measured)]
    opened = [one for one in measured if one.work in SUFFIXES]
    width = 2 * (_LEFT + _SIDE + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_SIDE + 90}" '
        'font-family="sans-serif" font-size="13">'
    ]
    seconds = [(one.work, one.slices, one.cpu) for one in measured]
    memory = [(one.work, one.slices, one.peak / 1e6) for one in opened]
    parts += _panel(_LEFT, "Processor seconds", seconds, works, (0.001, 100))
    parts += _panel(2 * _LEFT + _SIDE + _GAP, "Peak memory, MB", memory, works, (10, 10_000))
    return "\n".join([*parts, "</svg>\n"])


def _panel(
    left: int,
    title: str,
    points: Sequence[tuple[str, int, float]],
    works: Sequence[str],
    limits: tuple[float, float],
) -> list[str]:
    low, high = map(math.log10, limits)

    def x(slices: float) -> float:
        return left + (math.log10(slices) - 4) / 3 * _SIDE

    def y(value: float) -> float:
        share = (math.log10(max(value, limits[0])) - low) / (high - low)
        return _TOP + _SIDE * (1 - min(share, 1))

    parts = [f'<text x="{left}" y="{_TOP - 12}" fill="{_GRAY}" font-weight="bold">{title}</text>']
    for power in range(round(low), round(high) + 1):
        at = y(10.0**power)
        label = f"{10.0**power:,g}"
        parts.append(f'<path d="M{left} {at:.1f}h{_SIDE}" stroke="{_GRAY}" opacity="0.25"/>')
        parts.append(
            f'<text x="{left - 8}" y="{at + 4:.1f}" fill="{_GRAY}" text-anchor="end">{label}</text>'
        )
    for power in range(4, 8):
        parts.append(
            f'<text x="{x(10.0**power):.1f}" y="{_TOP + _SIDE + 20}" fill="{_GRAY}" '
            f'text-anchor="middle">{10**power:,}</text>'
        )
    parts.append(
        f'<text x="{left + _SIDE / 2}" y="{_TOP + _SIDE + 42}" fill="{_GRAY}" '
        'text-anchor="middle">slices</text>'
    )
    ends = []
    for number, work in enumerate(works):
        own = sorted((slices, value) for of, slices, value in points if of == work)
        if not own:
            continue
        color = _COLORS[number]
        line = " ".join(f"{x(slices):.1f},{y(value):.1f}" for slices, value in own)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x(slices):.1f}" cy="{y(value):.1f}" r="3" fill="{color}"/>'
            for slices, value in own
        ]
        last = own[-1][1]
        figure = f"{last:,.0f}" if last >= 100 else f"{last:.3g}"
        ends.append((y(last), f"{work}: {figure}", color))
    lowest = -math.inf
    for at, text, color in sorted(ends):
        lowest = max(at, lowest + 16)
        parts.append(
            f'<text x="{left + _SIDE + 10}" y="{lowest + 4:.1f}" fill="{color}">{text}</text>'
        )
    return parts


if __name__ == "__main__":
    work, count, path = sys.argv[1:]
    print(json.dumps(vars(do(work, int(count), Path(path)))), flush=True)
    os._exit(0)  # how a window closes is not measured
