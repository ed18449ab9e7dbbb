"""Tracks are in the order that a Perfetto file states, and stay in it through exports."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import viewer
from tests.formats.perfetto.test_processes import Processes
from tests.formats.perfetto.test_reader import COUNTER
from tests.paths import DATA
from tests.peers.trace_processor import TraceProcessor
from viewer.export.perfetto.writer import export_perfetto
from viewer.formats import open_file
from viewer.workspace.perfetto_export import perfetto_source
from viewer.workspace.snapshot import Snapshot
from viewer.workspace.workspace import Workspace

NONE, BY_NAME, BY_TIME, EXPLICIT = range(4)
GROUPS = """
    select cast(track_ids as int), parent_id, order_id from _track_event_tracks_ordered_groups
"""
NAMES = "select id, name from track where type glob '*_track_event'"


@dataclass
class Node:
    """A track: its name, the order that it wants for those below it, and its place among others."""

    uuid: int
    name: str
    ordering: int
    rank: int
    time: int
    children: list["Node"] = field(default_factory=list)

    def sorted(self):
        """The children in the order that the file states."""
        if self.ordering == EXPLICIT:
            return sorted(self.children, key=lambda node: node.rank)
        if self.ordering == BY_TIME:
            return sorted(self.children, key=lambda node: node.time)
        return sorted(self.children, key=lambda node: node.name)

    def in_order(self):
        """This track and those below it, depth first."""
        return [self, *(node for child in self.sorted() for node in child.in_order())]


@st.composite
def trees(draw):
    """A root with tracks below it; some of one rank, and of one time."""
    count = draw(st.integers(1, 9))
    names = draw(st.permutations([f"{chr(97 + i)}" for i in range(count)]))
    nodes = [Node(50, "top", draw(st.integers(0, 3)), 0, 0)]
    for number, name in enumerate(names):
        ranks = st.integers(-3, 3)
        node = Node(51 + number, name, draw(st.integers(0, 3)), draw(ranks), 0)
        node.time = 10 * draw(st.integers(1, 5))
        draw(st.sampled_from(nodes)).children.append(node)
        nodes.append(node)
    return nodes[0]


def write(w, root, *, as_counters=False):
    """Write the descriptors below a root in order of uuids, with a slice or sample on each."""
    parents = {child.uuid: each.uuid for each in root.in_order() for child in each.children}
    for each in sorted(root.in_order()[1:], key=lambda one: one.uuid):
        d = w.packet(9).track_descriptor
        d.uuid, d.name, d.parent_uuid = each.uuid, each.name, parents[each.uuid]
        d.child_ordering, d.sibling_order_rank = each.ordering, each.rank
        if as_counters:
            d.counter.SetInParent()
            w.event(each.time, COUNTER, each.uuid).counter_value = 3
        else:
            w.slice(each.time, each.uuid, f"on {each.name}")


def leaves(trace):
    """The last part of the name of each track."""
    return [track.thread.rpartition(" › ")[2] for track in trace.tracks]


@pytest.mark.slow
@given(trees())
def test_tracks_of_a_process_are_in_the_order_that_it_states(tmp_path_factory, root):
    w = Processes()
    w.process(root.uuid, 7, "P")
    w.trace.packet[-1].track_descriptor.child_ordering = root.ordering
    write(w, root)
    trace = open_file(str(w.save(tmp_path_factory.mktemp("order"))))
    assert leaves(trace) == [node.name for node in root.in_order()[1:]]
    assert {track.process for track in trace.tracks} == {"P"}


@settings(max_examples=20)
@given(trees())
def test_counters_of_a_process_are_in_the_order_that_it_states(tmp_path_factory, root):
    w = Processes()
    w.process(root.uuid, 7, "P")
    w.trace.packet[-1].track_descriptor.child_ordering = root.ordering
    write(w, root, as_counters=True)
    trace = open_file(str(w.save(tmp_path_factory.mktemp("order"))))
    names = [counter.name.rpartition(" › ")[2] for counter in trace.counters]
    assert names == [node.name for node in root.in_order()[1:]]


@pytest.mark.slow
@settings(max_examples=12)
@given(trees())
def test_plain_tracks_are_in_the_order_of_the_engine(tmp_path_factory, root):
    """The engine's own order of the UI; it leaves equal ones in any order."""
    for node in root.in_order():
        for number, child in enumerate(node.children):
            child.rank, child.time = 10 * child.rank + number, child.time + number
    w = Processes()
    d = w.packet(9).track_descriptor
    d.uuid, d.name, d.child_ordering = root.uuid, root.name, root.ordering
    w.slice(1, root.uuid, "on top")
    write(w, root)
    path = w.save(tmp_path_factory.mktemp("order"))
    trace = open_file(str(path))
    with TraceProcessor(path) as peer:
        peer.rows("include perfetto module viz.summary.track_event")
        below: dict[int | None, list[tuple[int, int]]] = {}
        for track, parent, place in peer.rows(GROUPS):
            below.setdefault(parent, []).append((place, track))
        names = dict(peer.rows(NAMES))
    order, todo = [], [track for _, track in sorted(below[None], reverse=True)]
    while todo:
        order.append(names[todo.pop()])
        todo += [
            track for _, track in sorted(below.get(_id_of(names, order[-1]), ()), reverse=True)
        ]
    assert leaves(trace) == order


def _id_of(names, name):
    return next(number for number, each in names.items() if each == name)


def threads_in_any_order(ranks, *, is_explicit):
    w = Processes()
    root = w.packet(9).track_descriptor
    root.uuid = 0
    if is_explicit:
        root.process_ordering = pb.TrackDescriptor.PROCESS_ORDERING_EXPLICIT
        root.thread_ordering = pb.TrackDescriptor.THREAD_ORDERING_EXPLICIT
    for number, rank in enumerate(ranks):
        w.process(10 + number, 100 + number, f"p{number}")
        w.trace.packet[-1].track_descriptor.sibling_order_rank = rank
    for number, rank in enumerate(ranks):
        w.thread_of(20 + number, 100, 200 + number, f"t{number}")
        w.trace.packet[-1].track_descriptor.sibling_order_rank = rank
        w.slice(10, 20 + number, "on a thread")
        w.slice(20, 10 + number, "on a process")
    return w


@pytest.mark.parametrize("is_explicit", [True, False])
def test_processes_and_threads_are_ranked_if_the_root_says_so(tmp_path, is_explicit):
    ranks = [4, -1, 4, 0]
    w = threads_in_any_order(ranks, is_explicit=is_explicit)
    trace = open_file(str(w.save(tmp_path)))
    order = sorted(range(4), key=lambda i: ranks[i]) if is_explicit else range(4)
    processes = list(dict.fromkeys(track.process for track in trace.tracks))
    threads = [t.thread for t in trace.tracks if t.process == "p0" and t.thread != "p0"]
    assert processes == [f"p{i}" for i in order]
    assert threads == [f"t{i}" for i in order]


def test_older_files_sort_threads_by_an_index(tmp_path):
    w = Processes()
    for number, index in enumerate((3, 1, 2)):
        w.thread_of(20 + number, 100, 200 + number, f"t{number}")
        w.trace.packet[-1].track_descriptor.thread.legacy_sort_index = index
        w.slice(10, 20 + number, "on a thread")
    assert leaves(open_file(str(w.save(tmp_path)))) == ["t1", "t2", "t0"]


def test_a_loop_of_parents_keeps_its_tracks(tmp_path):
    w = Processes()
    for uuid, parent in ((5, 6), (6, 5), (7, 7)):
        d = w.packet(9).track_descriptor
        d.uuid, d.parent_uuid, d.name = uuid, parent, f"t{uuid}"
        w.slice(10, uuid, f"on {uuid}")
    trace = open_file(str(w.save(tmp_path)))
    assert sorted(leaves(trace)) == ["t5", "t6", "t7"]


@pytest.mark.slow
def test_the_order_is_that_of_tables_and_exports(tmp_path):
    path = DATA / "identity/track_order.pftrace"
    expected = ["first", "second", "third", "third › child", "third › child › grandchild"]
    assert list(viewer.open(path).slices["thread"]) == expected
    exported = tmp_path / "out.pftrace"
    workspace = Workspace()
    workspace.add(open_file(str(path)))
    export_perfetto([perfetto_source(Snapshot.of(workspace), 0)], exported)
    assert [track.thread for track in open_file(str(exported)).tracks] == expected


@pytest.mark.slow
@settings(max_examples=15)
@given(trees(), st.lists(st.integers(-2, 2), min_size=1, max_size=4))
def test_exports_keep_the_order(tmp_path_factory, root, ranks):
    """Of plain tracks, threads, processes and counters."""
    w = threads_in_any_order(ranks, is_explicit=True)
    w.process(root.uuid, 7, "P")
    write(w, root)
    for number, node in enumerate(root.in_order()):
        d = w.packet(9).track_descriptor
        d.uuid, d.name, d.parent_uuid = 90 + number, f"c{node.name}", root.uuid
        d.counter.SetInParent()
        w.event(5, COUNTER, d.uuid).counter_value = number
    folder = tmp_path_factory.mktemp("order")
    trace = open_file(str(w.save(folder)))
    workspace = Workspace()
    workspace.add(trace)
    export_perfetto([perfetto_source(Snapshot.of(workspace), 0)], folder / "out.pftrace")
    again = open_file(str(folder / "out.pftrace"))
    assert again.tracks == trace.tracks
    assert [c.name for c in again.counters] == [c.name for c in trace.counters]
