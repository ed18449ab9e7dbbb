"""What the tests of ETDumps share: the real ones, small runs, and how traces are looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.builders.etdump_writer import framework, operator
from tests.paths import DATA
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats.executorch.etdump import reader as etdump
from viewer.model.queries import preorder
from viewer.model.trace import Trace

DUMPS = DATA / "etdump"
READABLE = sorted(p.stem for p in DUMPS.glob("*.etdp") if not p.stem.startswith("BAD_"))
REAL = [name for name in READABLE if not name.startswith(("SYN_", "noprefix"))]
WHOLE = [name for name in REAL if "failing" not in name]  # a failed run has no Method::execute

LOAD = ("Default", [framework("Method::init", 10, 20), framework("Program::load_method", 5, 25)])
EXECUTE = (
    "Execute",
    [
        operator("native_call_add.out", 0, 110, 120),
        operator("OPERATOR_CALL", 0, 105, 125),
        operator("MOVE_CALL", 1, 130, 131),
        framework("Method::execute", 100, 140),
    ],
)


def read(name: str) -> Trace:
    return read_path(DUMPS / f"{name}.etdp")


def read_path(path: Path) -> Trace:
    trace = etdump.FORMAT.read(str(path), no_progress, never_cancelled)
    assert isinstance(trace, Trace)
    return trace


def slices_by_row(trace: Trace) -> dict[int, int]:
    """Event number -> slice; what was computed is no event."""
    return {
        int(row): i
        for i, row in enumerate(trace.slices.source_row)
        if trace.slices.derived is None or not trace.slices.derived[i]
    }


def column(trace: Trace, name: str, i: int) -> Any:
    found = trace.slices.columns.get(name)
    return None if found is None else found.value(i)


def rows(trace: Trace) -> list[tuple[str, int, int, int]]:
    """(name, depth, start, end) in preorder."""
    s = trace.slices
    depth = s.row_depth[s.rows()]
    return [
        (trace.name(i), int(depth[i]), int(s.start[i]), int(s.end[i])) for i in preorder(s).tolist()
    ]
