"""Total and Self by name beside what Perfetto's trace_processor has of the same file.

Total: the durations of the slices without an ancestor of their name. Self: the durations less those
of direct children.
"""

from collections import Counter

import pytest

from tests.builders.workspaces import export, workspace_of
from tests.paths import DATA
from tests.peers.events import name_of_group
from tests.peers.trace_processor import TraceProcessor
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.times import tick_to_ns

pytestmark = pytest.mark.slow

SLICES = "select id, parent_id, name, dur, track_id from slice where dur >= 0"


def of_peer(path) -> tuple[Counter[str], Counter[str]]:
    """Total and self ns by name, counted slice by slice."""
    with TraceProcessor(path) as peer:
        rows = {
            id: (parent, name_of_group(name), dur) for id, parent, name, dur, _ in peer.rows(SLICES)
        }
    total, own = Counter[str](), Counter[str]()
    for parent, name, dur in rows.values():
        own[name] += dur
        if parent in rows:
            own[rows[parent][1]] -= dur
        while parent in rows and rows[parent][1] != name:
            parent = rows[parent][0]
        total[name] += 0 if parent in rows else dur
    return +total, +own


def ours(trace) -> tuple[Counter[str], Counter[str]]:
    rate = trace.clock.ns_per_tick
    total, own = Counter[str](), Counter[str]()
    for group in Grouping(unlinked(trace), rate).by("name").groups:
        total[group.label] += tick_to_ns(group.total, rate)
        own[group.label] += tick_to_ns(group.self_ticks, rate)
    return +total, +own


@pytest.mark.parametrize(
    "name", ["kineto_cpu.json", "onnxruntime_profile.json", "torch_training.json.gz"]
)
def test_chrome_traces_have_the_times_of_trace_processor(name):
    path = DATA / "chrome_json" / name
    assert ours(open_file(str(path))) == of_peer(path)


@pytest.mark.parametrize("name", ["attn_portable_x5", "cnn_portable_x10", "gru_portable_x1"])
def test_dumps_have_the_times_of_their_exports(name, tmp_path):
    """The export has the names of the file, and no slice that Opscope derived."""
    space = workspace_of(DATA / "etdump" / f"{name}.etdp")
    (trace,) = space.traces
    assert trace.slices.derived_count == 0
    path = tmp_path / "run.pftrace"
    export(space, str(path))
    total, own = of_peer(path)
    again = open_file(str(path))
    assert ours(again) == (total, own)
