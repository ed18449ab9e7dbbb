"""Files and traces of unusual shapes: many tracks, many names, many lanes; and an even one."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace

# The process, thread and name of slice i of each shape.
SHAPES = {
    "one track": lambda i: ("1", "1", "op"),
    "a thread each": lambda i: ("1", str(i), "op"),
    "a process each": lambda i: (str(i), "1", "op"),
    "a name each": lambda i: ("1", "1", f"op_{i}"),
}


def _rows(shape: str, count: int) -> Iterable[tuple[str, str, str]]:
    return map(SHAPES[shape], range(count))


def write_csv(path: Path, shape: str, count: int) -> Path:
    """A plain profile CSV with so many slices."""
    rows = enumerate(_rows(shape, count))
    text = "".join(f"{p},{t},{name},{i * 10},5\n" for i, (p, t, name) in rows)
    path.write_text("process,thread,name,start_ns,dur_ns\n" + text)
    return path


def write_json(path: Path, shape: str, count: int) -> Path:
    """A Chrome trace with so many slices."""
    rows = enumerate(_rows(shape, count))
    events = (
        json.dumps({"ph": "X", "pid": int(p), "tid": int(t), "name": name, "ts": i, "dur": 0.5})
        for i, (p, t, name) in rows
    )
    path.write_text('{"traceEvents": [' + ",\n".join(events) + "]}")
    return path


def overlapping(count: int, *, lanes: bool) -> Trace:
    """Slices of one track: all overlap without nesting, or they follow each other."""
    builder = TraceBuilder("/bench/shape.csv", "Profile CSV", "", Clock("ns"))
    start = np.arange(count, dtype=np.int64) * (1 if lanes else 10)
    builder.add(
        track=builder.track("app", "main"), start=start, end=start + (count + 1 if lanes else 5),
        name=builder.intern("op"), key=builder.key(KeyKind.PLAIN, "op"),
    )  # fmt: skip
    return builder.build()
