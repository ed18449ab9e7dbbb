"""Chrome traces that Arm's script makes of an ETDump, beside the ETDump itself."""

import json
from collections import Counter

import numpy as np
import pytest

from tests.builders.chrome_cases import read, slice_event
from tests.paths import DATA
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.links.linker import unlinked
from viewer.analysis.recorded.program import recorded_links
from viewer.formats import open_file
from viewer.model.queries import run_of_slices
from viewer.model.trace import KeyKind, RunKind

DUMPS = ("attn_portable_x5", "attn_xnnpack_x5", "cnn_portable_x10", "cnn_xnnpack_x10")


def as_script_writes(trace, shift=0, types=None):
    """The events of an ETDump as the script writes them: block by block, event by event.

    shift: added to all starts, in ns.
    """
    slices = trace.slices
    run = run_of_slices(trace)
    stated = np.ones(len(slices), np.bool_) if slices.derived is None else ~slices.derived
    order = np.argsort(slices.source_row, kind="stable")
    events = []
    for tid, (block, kind) in enumerate(
        (("Default", RunKind.LOAD), ("Execute", RunKind.INFERENCE))
    ):
        runs = [number for number, one in enumerate(trace.runs) if one.kind is kind]
        events.append(
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "args": {"name": block}}
        )
        by_run = [[i for i in order.tolist() if run[i] == number and stated[i]] for number in runs]
        for parts in zip(*by_run, strict=True):
            for iteration, i in enumerate(parts):
                key = slices.key[i]
                name = trace.name(i)
                is_event = int(trace.keys.kind[key]) == KeyKind.DELEGATE_EVENT
                args = {
                    "event_block": block, "iteration": iteration, "is_delegated_op": is_event,
                    "delegate_backend_name": "XnnpackBackend" if is_event else None,
                    "op_types": (types or {}).get(name, []),
                }  # fmt: skip
                events.append(
                    {"name": name, "cat": block, "ph": "X", "pid": 1, "tid": tid, "args": args,
                     "ts": float(shift + int(slices.start[i])) * (1.0 / 1000.0),
                     "dur": float(int(slices.end[i] - slices.start[i]) / 1000)}
                )  # fmt: skip
    return json.dumps({"traceEvents": events})


def spans(trace, shift=0):
    """(kind, number, start, end) of the runs, from the first slice to the last."""
    run, found = run_of_slices(trace), []
    for number, one in enumerate(trace.runs):
        own = np.flatnonzero(run == number)
        if trace.slices.derived is not None:
            own = own[~trace.slices.derived[own]]
        start, end = int(trace.slices.start[own].min()), int(trace.slices.end[own].max())
        found.append((one.kind, one.number, start - shift, end - shift))
    return found


def stated(trace, shift=0):
    """(name, start, duration, depth) of all slices that the file states."""
    s = trace.slices
    derived = np.zeros(len(s), np.bool_) if s.derived is None else s.derived
    return Counter(
        (trace.name(i), int(s.start[i]) - shift, int(s.end[i] - s.start[i]))
        for i in np.flatnonzero(~derived).tolist()
    )


@pytest.mark.parametrize("name", DUMPS)
@pytest.mark.parametrize("shift", [0, 9 * 10**14])
def test_the_inferences_and_times_are_those_of_the_etdump(tmp_path, name, shift):
    dump = open_file(str(DATA / f"etdump/{name}.etdp"))
    trace = read(tmp_path, text=as_script_writes(dump, shift))
    assert trace.clock.unit == "ns"
    if not shift:
        assert stated(trace) == stated(dump)
    # With so late times, the script itself rounds starts to 0.12 µs: the durations stay.
    lengths = Counter((name, length) for name, _, length in stated(trace).elements())
    assert lengths == Counter((name, length) for name, _, length in stated(dump).elements())
    found, meant = spans(trace, shift), spans(dump)
    assert [(kind, number) for kind, number, _, _ in found] == [
        (kind, number) for kind, number, _, _ in meant
    ]
    assert all(
        abs(ours[2] - theirs[2]) <= 150 * bool(shift)
        for ours, theirs in zip(found, meant, strict=True)
    )
    assert all(run.finished for run in trace.runs)
    assert trace.problems == ()


@pytest.mark.parametrize("name", ["attn_portable_x5", "cnn_portable_x10"])
def test_kernels_are_inside_their_calls_and_are_operators(tmp_path, name):
    dump = open_file(str(DATA / f"etdump/{name}.etdp"))
    types = {"native_call_add.out": ["aten.add.Tensor"]}
    trace = read(tmp_path, text=as_script_writes(dump, types=types))
    table = CallTree(unlinked(dump)).table()
    meant = {tuple(table.path(i)[2:]) for i in range(len(table))}
    table = CallTree(unlinked(trace)).table()
    assert {tuple(table.path(i)[2:]) for i in range(len(table))} == meant
    links = recorded_links(trace)
    kernels = {
        trace.strings[int(trace.keys.name[key])]: list(links.executed(key))
        for key in range(len(trace.keys))
        if trace.keys.kind[key] == KeyKind.KERNEL
    }
    assert kernels
    assert all(len(parts) == 1 for parts in kernels.values())


def test_a_negative_duration_is_no_run_that_ends_before_it_starts(tmp_path):
    one = {"event_block": "Execute", "iteration": 0, "is_delegated_op": False}
    (run,) = read(tmp_path, slice_event("a", 1, -1, args=one)).runs
    assert run.start == run.end == 1000


def test_events_with_other_arguments_are_no_inferences(tmp_path):
    one = {"event_block": "Execute", "iteration": 0, "is_delegated_op": False}
    trace = read(tmp_path, slice_event("a", 1, 1, args=one), slice_event("b", 3, 1))
    assert trace.runs == ()
    assert (trace.keys.kind == KeyKind.PLAIN).all()
