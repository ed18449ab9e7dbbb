"""Processes and threads by the uuids of their descriptors; numbers that are used again."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.perfetto.test_reader import BEGIN, END, Writer
from tests.paths import DATA
from tests.peers.trace_processor import TraceProcessor
from viewer.formats import open_file

THREADS = """
    select slice.name, process.name, thread.name from slice
    left join thread_track on thread_track.id = slice.track_id
    left join thread using (utid)
    left join process_track on process_track.id = slice.track_id
    left join process on process.upid = coalesce(thread.upid, process_track.upid)
"""


class Processes(Writer):
    """A trace of processes, threads and slices; every slice has its own name."""

    def process(self, uuid, pid, name="", ts=None):
        packet = self.packet(9) if ts is None else self.packet(9, timestamp=ts)
        d = packet.track_descriptor
        d.uuid, d.process.pid, d.process.process_name = uuid, pid, name

    def thread_of(self, uuid, pid, tid, name, parent=0):
        d = self.packet(9).track_descriptor
        d.uuid, d.thread.pid, d.thread.tid, d.thread.thread_name = uuid, pid, tid, name
        if parent:
            d.parent_uuid = parent

    def slice(self, ts, uuid, name):
        self.event(ts, BEGIN, uuid, name)
        self.event(ts + 5, END, uuid)

    def legacy(self, ts, sequence, name):
        event = self.packet(sequence, timestamp=ts).track_event
        event.name, event.legacy_event.phase = name, ord("X")
        event.legacy_event.duration_us = 1

    def tree(self, ts, pid, parent, name, tid=0, started=0):
        tree = self.packet(8, timestamp=ts).process_tree
        process = tree.processes.add(pid=pid, ppid=parent, process_start_from_boot=started)
        process.cmdline.append(name)
        if tid:
            tree.threads.add(tid=tid, tgid=pid, name=f"thread of {name}")

    def print(self, ts, tid, text, cpu=0):
        bundle = self.packet(7).ftrace_events
        bundle.cpu = cpu
        event = bundle.event.add(timestamp=ts, pid=tid)
        event.print.buf = text


def places(path: Path) -> dict[str, tuple[str, str]]:
    """Process and thread of each slice by its name."""
    trace = open_file(str(path))
    found = {}
    for i in range(len(trace.slices)):
        track = trace.tracks[trace.slices.track(i)]
        found[trace.name(i)] = track.process, track.thread
    return found


def peer_places(path: Path) -> dict[str, tuple[str, str]]:
    """The same of trace_processor; the thread of a process's own track is its name."""
    with TraceProcessor(path) as peer:
        return {name: (process, thread or process) for name, process, thread in peer.rows(THREADS)}


# A second process of a pid, or a thread: pid, tid and which of two descriptors.
_PIDS = 100, 200
_STATEMENTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(_PIDS)),
        st.tuples(st.sampled_from(_PIDS), st.integers(0, 2), st.integers(0, 1)),
    ),
    min_size=1,
    max_size=10,
)


@pytest.mark.slow
@settings(max_examples=15)
@given(_STATEMENTS, st.data())
def test_places_are_those_of_the_engine(tmp_path_factory, statements, data):
    """Slices come between the descriptors, also of tracks that were described long before.

    Of three processes with one pid, trace_processor (v52) takes the last two for one; the same with
    threads.
    """
    w = Processes()
    for pid in _PIDS:  # else the engine names nothing
        w.process(pid, pid, f"first {pid}")
    uuids, count = list(_PIDS), 0
    for pid, *thread in statements:
        if thread:
            uuids.append(10 * pid + 2 * thread[0] + thread[1])
            w.thread_of(uuids[-1], pid, pid + thread[0], f"thread {uuids[-1]}")
        else:
            uuids.append(pid + 1)
            w.process(uuids[-1], pid, f"second {pid}")
        for _ in range(data.draw(st.integers(0, 2))):
            count += 1
            w.slice(10 * count, data.draw(st.sampled_from(uuids)), f"slice {count}")
    w.slice(10 * count + 10, uuids[-1], "last")
    path = w.save(tmp_path_factory.mktemp("places"))
    assert places(path) == peer_places(path)


@settings(max_examples=25)
@given(st.permutations(range(9)), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_a_thread_is_in_the_process_that_its_parent_is(tmp_path_factory, order, tids):
    """Descriptors and slices in any order: processes 1 to 3 have one pid, and threads one parent.

    trace_processor takes the last process with the pid.
    """
    w = Processes()
    for step in order:
        kind, number = divmod(step, 3)
        if kind == 0:
            w.process(number + 1, 100, f"p{number}")
        elif kind == 1:
            w.thread_of(number + 11, 100, 100 + tids[number], f"t{number}", parent=number + 1)
        else:
            w.slice(10 * number, number + 11, f"s{number}")
    path = w.save(tmp_path_factory.mktemp("parents"))
    assert places(path) == {f"s{n}": (f"p{n}", f"t{n}") for n in range(3)}


def test_a_file_of_a_pid_that_is_used_again():
    assert places(DATA / "identity/pid_reuse.pftrace") == {
        "c": ("cargo", "main"), "q": ("query-api", "main2")
    }  # fmt: skip


def test_equal_names_of_processes_with_one_pid_are_told_apart(tmp_path):
    w = Processes()
    for uuid in (1, 2, 3):
        w.process(uuid, 100, "app")
        w.thread_of(uuid + 10, 100, 100, "main")
        w.slice(10 * uuid, uuid + 10, f"s{uuid}")
    assert places(w.save(tmp_path)) == {
        "s1": ("app", "main"), "s2": ("app 100", "main"), "s3": ("app 100 #2", "main")
    }  # fmt: skip


def test_threads_of_one_name_and_number_are_told_apart(tmp_path):
    w = Processes()
    w.process(1, 100, "app")
    for uuid in (11, 12):
        w.thread_of(uuid, 100, 101, "worker")
        w.slice(10 * uuid, uuid, f"s{uuid}")
    assert places(w.save(tmp_path)) == {"s11": ("app", "worker"), "s12": ("app", "worker 101")}


def test_legacy_descriptors_mean_the_last_process_of_their_pid(tmp_path):
    w = Processes()
    for number, name in enumerate(("cargo", "query-api")):
        w.process(number + 1, 100, name)
        sequence = number + 3
        descriptor = w.packet(sequence).thread_descriptor
        descriptor.pid, descriptor.tid, descriptor.thread_name = 100, 101, f"main{number}"
        w.legacy(10 * number, sequence, f"s{number}")
    assert places(w.save(tmp_path)) == {"s0": ("cargo", "main0"), "s1": ("query-api", "main1")}


def test_a_sequence_that_moves_to_another_thread_leaves_its_events_there(tmp_path):
    w = Processes()
    for number in range(2):
        descriptor = w.packet(3).thread_descriptor
        descriptor.pid, descriptor.tid, descriptor.thread_name = 100, 101 + number, f"t{number}"
        w.legacy(10 * number, 3, f"s{number}")
    assert places(w.save(tmp_path)) == {"s0": ("process 100", "t0"), "s1": ("process 100", "t1")}


def test_legacy_events_that_name_a_pid_are_of_its_last_process(tmp_path):
    w = Processes()
    for number, name in enumerate(("cargo", "query-api")):
        w.process(number + 1, 100, name)
        w.legacy(10 * number, 3, f"s{number}")
        event = w.trace.packet[-1].track_event.legacy_event
        event.pid_override, event.tid_override = 100, 101
    assert places(w.save(tmp_path)) == {
        "s0": ("cargo", "thread 101"), "s1": ("query-api", "thread 101")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("second", "is_other"),
    [
        ({"parent": 1}, False),
        ({"parent": 7}, True),
        ({"parent": 1, "started": 9}, True),
        ({"parent": 7, "started": 5}, False),
    ],
)
def test_a_process_tree_states_that_a_pid_is_used_again(tmp_path, second, is_other):
    """By its start, else by its parent; the first process adopts those whose parent ended."""
    w = Processes()
    w.tree(5, 100, 2, "cargo", 101, 5 if "started" in second else 0)
    w.tree(50, 100, name="cargo" if second == {"parent": 1} else "query", tid=101, **second)
    for ts, name in ((10, "a"), (60, "b")):
        w.print(ts, 101, f"B|100|{name}")
        w.print(ts + 1, 101, "E|100")
        w.print(ts + 2, 101, f"S|100|async {name}|7")
        w.print(ts + 3, 101, f"F|100|async {name}|7")
    cargo = ("cargo", "thread of cargo 101")
    query = ("query", "thread of query 101")
    found = places(w.save(tmp_path))
    assert found["a"] == cargo
    assert found["b"] == (query if is_other else cargo)
    assert found["async b"][0] == ("query" if is_other else "cargo")


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(st.tuples(st.sampled_from((101, 102)), st.sampled_from((100, 200)),
                          st.booleans()), min_size=1, max_size=8))  # fmt: skip
def test_tids_that_move_to_another_process_are_those_of_the_engine(tmp_path_factory, steps):
    """A tid that had another process before has a new thread from the next process tree on."""
    w = Processes()
    for ts, (tid, pid, is_stated) in enumerate(steps):
        if is_stated or ts == 0:
            for each in (101, 102):
                tree = w.packet(8, timestamp=100 * ts).process_tree
                tree.processes.add(pid=pid, ppid=1).cmdline.append(f"p{pid}")
                tree.threads.add(tid=each, tgid=pid)
            now = pid
        w.print(100 * ts + 10, tid, f"B|{now}|s{ts}")
        w.print(100 * ts + 20, tid, f"E|{now}")
    path = w.save(tmp_path_factory.mktemp("moves"))
    assert {name: process for name, (process, _) in places(path).items()} == {
        name: process for name, (process, _) in peer_places(path).items()
    }
