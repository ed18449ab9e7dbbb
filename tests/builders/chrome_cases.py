"""Chrome traces for tests: files written by hand, and what a trace says in plain tuples."""

import gzip
import json
from pathlib import Path

from tests import paths
from viewer.formats import open_file
from viewer.model.trace import Trace

DATA = paths.DATA / "chrome_json"


def slice_event(name, ts, dur, **more):
    """A complete event on thread 2 of process 1."""
    return {"ph": "X", "name": name, "pid": 1, "tid": 2, "ts": ts, "dur": dur, **more}


def event(ph, name, ts, **more):
    """Any other event there."""
    return {"ph": ph, "name": name, "pid": 1, "tid": 2, "ts": ts, **more}


def named(pid, process, **threads):
    """Metadata of a process and its threads: t2="main" is thread 2."""
    made = [{"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}}]
    return made + [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": int(t[1:]), "args": {"name": name}}
        for t, name in threads.items()
    ]


def read(folder: Path, *events, text: str | bytes | None = None, packed: bool = False) -> Trace:
    """The trace of some events, or of a file with this text."""
    raw = json.dumps(events) if text is None else text
    data = raw.encode() if isinstance(raw, str) else raw
    path = folder / ("trace.json.gz" if packed else "trace.json")
    path.write_bytes(gzip.compress(data) if packed else data)
    trace = open_file(str(path))
    assert isinstance(trace, Trace)
    return trace


def rows(trace: Trace) -> list[tuple]:
    """(thread, name, start, end) of all slices, by start."""
    s = trace.slices
    found = [
        (trace.tracks[s.track(i)].thread, trace.name(i), int(s.start[i]), int(s.end[i]))
        for i in range(len(s))
    ]
    return sorted(found, key=lambda row: (row[2], row[3], row))


def arguments(trace: Trace, name: str) -> dict:
    """The arguments of the one slice of that name."""
    (at,) = (i for i in range(len(trace.slices)) if trace.name(i) == name)
    columns = trace.slices.columns.items()
    return {key: c.value(at) for key, c in columns if c.value(at) is not None}


def problems(trace: Trace) -> dict[str, int]:
    """What was odd, and how often."""
    return {problem.kind: problem.count for problem in trace.problems}
