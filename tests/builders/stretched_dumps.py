"""Sessions of a real program in which some operators take longer: copies of an ETDump.

The times of the file are replaced in place, so everything else stays as it was recorded.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.builders.workspaces import workspace_of

# How much longer everything takes in each session of an arm.
SPREAD = (1.0, 1.001, 1.003)
NO_CHANGE: Mapping[str, float] = {}


def write_arm(
    folder: Path, name: str, source: Path, factors: Mapping[str, float] = NO_CHANGE
) -> list[Path]:
    """Write the sessions of an arm.

    source: a folder with a.etdp and a.etrecord. factors: by module path, for its operators.
    """
    return [
        write_stretched(
            folder / f"{name}{i}.etdp",
            source,
            {"": every} | {m: f * every for m, f in factors.items()},
        )
        for i, every in enumerate(SPREAD)
    ]


def write_stretched(path: Path, source: Path, factors: Mapping[str, float]) -> Path:
    """Write a copy of source/a.etdp in which calls take longer, each by that of its module.

    factors: by module path; that of "" is for all other modules.
    """
    workspace = workspace_of(*(source / name for name in ("a.etrecord", "a.etdp")))
    (trace,) = workspace.traces
    table, slices = workspace.links(trace), trace.slices
    calls: list[tuple[int, int, float]] = []  # the outermost slices of operators
    for i in np.argsort(slices.start, kind="stable").tolist():
        ran = table.executed(int(slices.key[i]))
        if ran and (not calls or slices.start[i] >= calls[-1][1]):
            by = factors.get(ran[0].module_path, factors[""])
            calls.append((int(slices.start[i]), int(slices.end[i]), by))
    original = (source / "a.etdp").read_bytes()
    data = bytearray(original)
    for time in {*slices.start.tolist(), *slices.end.tolist()}:
        more = sum((min(time, end) - start) * (by - 1) for start, end, by in calls if start < time)
        at = original.index(struct.pack("<q", time))
        while at >= 0:
            struct.pack_into("<q", data, at, time + round(more))
            at = original.find(struct.pack("<q", time), at + 1)
    path.write_bytes(data)
    return path
