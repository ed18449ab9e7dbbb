"""Total, Self and count by path next to what Perfetto's trace_processor has of the same file.

The peer's are counted slice by slice: the path of a slice is the names of its process, its thread
and of all slices around it; its self time is its duration less those of its children. All figures
are equal, but for four decisions:

* What an export adds to the slices, marks of the file and of its inferences, is no slice of ours.
* Slices that Opscope derived from others have no path: unattributed time is self time of the call,
  and jobs of an NPU are the host's waits over again.
* Slices on a delegate's own clock have no path either; a trace for Perfetto can only draw them.
* Where a tick is no whole ns, we round each sum once.
"""

import random
from collections import Counter
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from tests.builders.call_traces import Paths
from tests.builders.workspaces import export, workspace_of
from tests.paths import DATA, ROOT
from tests.peers.events import name_of_group
from tests.peers.trace_processor import TraceProcessor
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.calls.paths import FRAMES
from viewer.analysis.links.linker import unlinked
from viewer.formats import open_file
from viewer.model.times import tick_to_ns
from viewer.model.trace import Trace
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.slow

SAMPLES = ROOT / "resources" / "samples"
# Threads, and tracks of units below one of their file.
SLICES = """
    select slice.id, slice.parent_id, slice.name, dur,
           coalesce(process.name, above.name, ''), coalesce(thread.name, track.name, '')
    from slice join track on track.id = slice.track_id
    left join track as above on above.id = track.parent_id
    left join thread_track on thread_track.id = track.id
    left join thread using (utid) left join process using (upid) where dur >= 0
"""
MARKS = ("Inferences",)


# Process, thread and name of slices.
Places = set[tuple[str, str, str]]


def places_of(trace: Trace, of: np.ndarray) -> Places:
    slices, tracks = trace.slices, trace.tracks
    return {
        (tracks[slices.track(i)].process, tracks[slices.track(i)].thread, trace.name(i))
        for i in np.flatnonzero(of).tolist()
    }


def of_peer(path: Path, left_out: Collection[tuple[str, str, str]] = ()) -> Paths:
    """Total ns, self ns and count by path. left_out: what has no path."""
    with TraceProcessor(path) as peer:
        rows = {row[0]: row[1:] for row in peer.rows(SLICES)}
    total, own, count = Counter(), Counter(), Counter()
    paths = {}
    for id in sorted(rows):  # parents come before their children
        parent, name, dur, process, thread = rows[id]
        around = paths[parent] if parent in rows else (process, thread)
        if thread in MARKS or (process, thread, name) in left_out:
            paths[id] = around
            continue
        path = paths[id] = (*around, name_of_group(name))
        total[path] += dur
        own[path] += dur
        own[around] -= dur
        count[path] += 1
    return {path: (total[path], own[path], count[path]) for path in count}


def ours(trace: Trace) -> Paths:
    rate = trace.clock.ns_per_tick
    table = CallTree(unlinked(trace)).table()
    return {
        tuple(table.path(node)): (
            tick_to_ns(int(table.total[node]), rate),
            tick_to_ns(int(table.self_ticks[node]), rate),
            int(table.count[node]),
        )
        for node in np.flatnonzero(table.depth >= FRAMES).tolist()
    }


def without_threads(paths: Paths) -> Paths:
    """The same, of all threads together."""
    sums: dict[tuple[str, ...], np.ndarray] = {}
    for path, figures in paths.items():
        sums[path[FRAMES:]] = sums.get(path[FRAMES:], 0) + np.array(figures)
    return {path: tuple(figures.tolist()) for path, figures in sums.items()}


@pytest.mark.parametrize(
    "name", ["kineto_cpu.json", "onnxruntime_profile.json", "torch_training.json.gz"]
)
def test_chrome_traces_have_the_paths_of_trace_processor(name):
    """Threads that the file does not name are called differently."""
    path = DATA / "chrome_json" / name
    assert without_threads(ours(open_file(str(path)))) == without_threads(of_peer(path))


SOURCES = {
    **{
        folder.name: [
            path
            for path in sorted(folder.iterdir())
            if path.suffix in (".etdp", ".etrecord", ".csv", ".mlir")
        ]
        for folder in sorted(SAMPLES.iterdir())
        if folder.is_dir()
    },
    **{
        name: [DATA / name]
        for name in (
            "etdump/SYN_qnn_like.etdp", "etdump/SYN_wraparound.etdp",
            "etdump/cond_nested_portable_x4.etdp", "etdump/gru_portable_x1.etdp",
            "pte/mix_str_failed.etdp", "pte/mobile_x.etdp", "table_csv/two_threads.csv",
            "torq/compile_c1_css_cdma.csv", "torq/host_h4_latest_2inv.csv",
            "torq/runtime_r0_nss.csv",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_exports_have_the_paths_of_trace_processor(name, tmp_path):
    space = Workspace()
    for path in SOURCES[name]:
        space.open(str(path))
    to = tmp_path / "run.pftrace"
    export(space, str(to))
    trace = open_file(str(to))
    left_out: Places = set()
    of_trace = CallTree(unlinked(trace)).left_out
    if of_trace is not None:
        left_out = places_of(trace, of_trace)
        assert not left_out & places_of(trace, ~of_trace)
    found, peer = ours(trace), of_peer(to, left_out)
    assert found
    if trace.clock.ns_per_tick == 1:
        assert found == peer
        return
    # We round the sum of ticks, the peer adds up slices that were rounded one by one.
    assert found.keys() == peer.keys()
    for path, (total, own, count) in found.items():
        inside = sum(n for below, (_, _, n) in found.items() if below[: len(path)] == path)
        assert peer[path][2] == count
        assert abs(peer[path][0] - total) <= count
        assert abs(peer[path][1] - own) <= inside


@pytest.mark.parametrize("seed", range(3))
def test_random_slices_have_the_paths_of_trace_processor(seed, tmp_path):
    """Recursion, slices without a length, and slices that overlap: on tracks of their own there."""
    dice = random.Random(seed)
    path, to = tmp_path / "random.csv", tmp_path / "run.pftrace"
    rows = [
        f"p,{dice.choice('st')},{dice.choice('abc')},{dice.randrange(1000)},"
        f"{dice.choice([0, 1, 5, 40, 300])}\n"
        for _ in range(150)
    ]
    path.write_text("process,thread,name,start_ns,dur_ns\n" + "".join(rows))
    space = workspace_of(path)
    (trace,) = space.traces
    assert int(trace.slices.row_lane.max()) > 0
    export(space, str(to))
    found = ours(trace)
    assert found == ours(open_file(str(to)))
    # The further lanes of a thread are tracks below its process.
    assert without_threads(found) == without_threads(of_peer(to))
