"""What an export was asked for is what it writes, whatever happens to the workspace meanwhile."""

import gc
import weakref
from fractions import Fraction
from pathlib import Path

import pytest

from tests.builders.workspaces import EVENTS, STR, opened, read, with_torq
from viewer.codecs.atomic_file import NothingToExport
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.workspace.exports import TABLES, prepare
from viewer.workspace.snapshot import Snapshot
from viewer.workspace.workspace import Workspace

CYCLES = "compile_c0_callsite.csv"


def upset(workspace: Workspace) -> None:
    """Change all that an export could ask of a workspace."""
    for trace in list(workspace.traces):
        workspace.pair(trace.path, None)
        if trace.clock.assumed:
            workspace.set_clock(trace.path, Fraction(10))
    workspace.add(read("cnn_portable_x1.etdp"))
    workspace.add(read("cnn_toedge_portable.etrecord"))


@pytest.mark.parametrize("files", [("demo_str_x4.etdp", STR), (CYCLES, "tiny_cnn.mlir")])
@pytest.mark.parametrize(
    ("name", "table"), [("a.pftrace", "slices"), *((f"{t}.csv", t) for t in TABLES)]
)
def test_a_job_writes_what_was_open_when_it_was_asked_for(files, name, table, tmp_path):
    workspace = opened(*files)
    try:
        before, after = (prepare(workspace, str(tmp_path / f"{i}{name}"), table) for i in range(2))
    except NothingToExport:
        assert table in ("untimed", "handle_map")
        return
    before(no_progress, never_cancelled)
    upset(workspace)
    after(no_progress, never_cancelled)
    assert (tmp_path / f"1{name}").read_bytes() == (tmp_path / f"0{name}").read_bytes()
    # And a job that is asked for now writes something else.
    if table in ("slices", "operators"):
        prepare(workspace, str(tmp_path / name), table)(no_progress, never_cancelled)
        assert (tmp_path / name).read_bytes() != (tmp_path / f"0{name}").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.pftrace", "a.csv"])
def test_a_job_keeps_no_workspace(name, tmp_path):
    workspace = with_torq(EVENTS, STR)
    job, held = prepare(workspace, str(tmp_path / name)), weakref.ref(workspace)
    del workspace
    gc.collect()
    assert held() is None
    assert job(no_progress, never_cancelled) == 10


def test_two_files_of_one_name_are_told_apart(tmp_path):
    other = tmp_path / "demo_str_x4.etdp"
    workspace = opened("demo_str_x4.etdp")
    other.write_bytes(Path(workspace.paths[0]).read_bytes())
    workspace.open(str(other))
    one, two = Snapshot.of(workspace).traces
    assert (one.name, two.name) == ("demo_str_x4.etdp", "demo_str_x4.etdp (2)")
    assert set(two.processes) == {f"{process} (2)" for process in one.processes}
    assert len(two.processes) == len(two.trace.tracks)


def test_a_process_of_several_files_has_a_number_in_each_but_the_first(tmp_path):
    workspace = Workspace()
    for name, processes in (("a", "app"), ("b", "other"), ("c", "app")):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"process,thread,name,start_ns,dur_ns\n{processes},t,op,0,5\nx,t,op,0,5\n")
        workspace.open(str(path))
    names = [trace.processes for trace in Snapshot.of(workspace).traces]
    assert names == [("app", "x"), ("other", "x (2)"), ("app (2)", "x (3)")]
