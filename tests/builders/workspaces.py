"""Workspaces of test files, and what is linked in them."""

from pathlib import Path

import numpy as np

from tests.paths import SAMPLES
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.workspace.exports import prepare
from viewer.workspace.workspace import Workspace

DATA = Path(__file__).parents[1] / "data"
TORQ = DATA / "torq"
STR, MANUAL, GENERATED = (f"demo_{x}.etrecord" for x in ("str", "manual_int", "generated_int"))
JOBS, TASKS, EVENTS = "demo_manual_int_r1.csv", "demo_generated_int_c3.csv", "demo_str_c1.csv"
# The debug handles of every slice of the demo model.
DEMO = [(1, 2), (3, 4), (5,), (5,), (5,)]


def read(name: str) -> Trace | Program:
    """A test file by its name."""
    folder = {".etdp": DATA / "etdump", ".etrecord": DATA / "etrecord"}.get(Path(name).suffix, TORQ)
    return open_file(str(folder / name))


def opened(*names: str) -> Workspace:
    """A workspace of test files."""
    workspace = Workspace()
    for name in names:
        workspace.add(read(name))
    return workspace


def workspace_of(*paths: str | Path) -> Workspace:
    """A workspace of files, opened in this order."""
    workspace = Workspace()
    for path in paths:
        workspace.open(str(path))
    return workspace


def attention() -> Workspace:
    """A workspace of the attention sample."""
    names = ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")
    return workspace_of(*(SAMPLES / "attention_xnnpack" / name for name in names))


def chosen(workspace: Workspace) -> dict[str, str | None]:
    """Trace -> the program it is linked to, by file name."""
    found = {}
    for trace in workspace.traces:
        program = workspace.links(trace).program
        found[Path(trace.path).name] = program and Path(program.path).name
    return found


def warnings(workspace: Workspace) -> str:
    """All that is said of the open profiles."""
    return "\n".join(w for t in workspace.traces for w in workspace.warnings(t))


def with_torq(csv: str, *records: str) -> Workspace:
    """A workspace of a Torq profile and of records."""
    workspace = Workspace()
    workspace.add(open_file(str(TORQ / csv)))
    for name in records:
        workspace.add(read(name))
    return workspace


def in_force(workspace: Workspace) -> tuple[str | None, str]:
    """The column of identifiers of the first profile, and who chose it."""
    found = workspace.identifiers.column(workspace.traces[0])
    return found.column, found.by.value


def handles(workspace: Workspace) -> list[tuple[int, ...]]:
    """The debug handles of every slice, in the order of the file."""
    trace = workspace.traces[0]
    links = workspace.links(trace).links
    order = np.argsort(trace.slices.source_row)
    return [links[k].handles for k in trace.slices.key[order].tolist()]


def export(workspace: Workspace, path: str, **options) -> int:
    """Write what is open to a file. options: as for `prepare`."""
    return prepare(workspace, path, **options)(no_progress, never_cancelled)
