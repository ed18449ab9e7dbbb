"""Steps of PyTorch and runs of ONNX Runtime as inferences, in samples and in hostile files.

Chrome traces that Arm's script makes of an ETDump, beside the ETDump itself.
"""

import gzip
import json
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from tests.builders.chrome_cases import DATA, problems, read, slice_event
from tests.builders.workspaces import export, workspace_of
from tests.paths import DATA as ALL_DATA
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.links.labels import slice_labels
from viewer.analysis.links.linker import unlinked
from viewer.analysis.profiled_program.program import recorded_links
from viewer.analysis.statistics.events import event_statistics
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.formats.chrome import frameworks
from viewer.formats.chrome.frameworks import EMPTY, OVERLAPS, TOO_MANY
from viewer.model.charging import sum_per_key
from viewer.model.figures import TimeScope, starts_in, whole_scope_text
from viewer.model.inference_views import aligned_runs, mean_run, typical_run
from viewer.model.queries import run_of_slices
from viewer.model.times import plain_spaces
from viewer.model.trace import KeyKind, RunKind

STEPS, RUNS = DATA / "torch_training.json.gz", DATA / "onnxruntime_runs.json"


def step(number, ts, dur, **more):
    return slice_event(f"ProfilerStep#{number}", ts, dur, cat="user_annotation", **more)


def run(ts, dur, name="model_run", **more):
    return slice_event(name, ts, dur, cat="Session", **more)


def found(trace):
    """(name, number, total, start, end) of all inferences, in µs."""
    return [
        (one.name, one.number, one.total, one.start // 1000, one.end // 1000)
        for one in trace.inferences()
    ]


def events_of(path) -> pd.DataFrame:
    """The complete events of a file, as any other program reads them, in ns."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events = json.loads(text)
    events = events["traceEvents"] if isinstance(events, dict) else events
    table = pd.DataFrame([e for e in events if e["ph"] == "X"])
    for name in ("ts", "dur"):
        table[name] = (table[name].astype(object).map(lambda us: round(us * 1000))).astype("int64")
    table["end"] = table.ts + table.dur
    return table


# -- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "like", "category"),
    [(STEPS, "ProfilerStep#", "user_annotation"), (RUNS, "model_run", "Session")],
)
def test_times_are_those_of_the_file(path, like, category):
    trace, events = open_file(str(path)), events_of(path)
    truth = events[events.name.str.startswith(like) & (events.cat == category)].sort_values("ts")
    own = list(trace.inferences())
    assert [one.name for one in own] == truth.name.tolist()
    assert [one.number for one in own] == list(range(1, len(truth) + 1))
    assert [one.end - one.start for one in own] == truth.dur.tolist()
    assert all(one.all_tracks for one in trace.runs)


def by_name(trace, of_keys):
    """The sums of a value of every key by name; a name may have several call sites."""
    found = Counter()
    for name, value in zip(trace.keys.name.tolist(), of_keys.tolist(), strict=True):
        found[trace.strings[name]] += value
    return dict(+found)


@pytest.mark.parametrize("path", [STEPS, RUNS])
def test_figures_of_one_inference_are_sums_over_the_events_that_start_in_it(path):
    """Of all threads; what continues after the end is cut there, and what began before too."""
    trace, events = open_file(str(path)), events_of(path)
    events["name"] = events.name.str.replace(r"^ProfilerStep#\d+$", "ProfilerStep", regex=True)
    for one in trace.inferences():
        start, last = one.start, one.end if one.end == trace.end else one.end - 1
        inside = events[(events.ts >= start) & (events.ts <= last)]
        cut = events.end.clip(start, one.end) - events.ts.clip(start, one.end)
        counts, sums = inside.groupby("name").size(), cut.groupby(events.name).sum()
        count, total = sum_per_key(trace, *TimeScope(one).span)
        assert by_name(trace, count) == counts.to_dict()
        assert by_name(trace, total) == {n: t for n, t in sums.items() if t}
        every = np.arange(len(trace.slices))
        chosen = starts_in(trace, TimeScope(one), every)
        assert len(inside) <= len(chosen) <= len(inside) + 1  # the file's end is an instant
        assert (run_of_slices(trace) == trace.runs.index(one)).sum() == len(chosen)
        table = Grouping(unlinked(trace)).by("name", *TimeScope(one).span[:2])
        of_table = {group.label: group.spread.count for group in table.groups if group.spread.count}
        assert {n: c for n, c in of_table.items() if n in counts} == counts.to_dict()


def test_steps_of_a_file_that_starts_later_do_not_warm_up_and_runs_after_a_load_do():
    steps, runs = open_file(str(STEPS)), open_file(str(RUNS))
    assert [one.number for one in steps.inferences() if one.warms_up] == []
    assert [one.number for one in runs.inferences() if one.warms_up] == [1, 2]
    loads = [one.name for one in runs.runs if one.kind is RunKind.LOAD]
    assert loads == ["model_loading_uri", "session_initialization"]
    assert whole_scope_text(runs, TimeScope(warm_up=False)) == "8 inferences after warm-up"
    assert whole_scope_text(steps) == "the whole trace"  # PyTorch does not time the steps' work


def test_steps_log_the_same_events_and_align():
    trace = open_file(str(STEPS))
    blocks = event_statistics(unlinked(trace)).blocks
    assert {(block.name, block.kind) for block in blocks if block.runs} == {
        ("ProfilerStep", RunKind.INFERENCE)
    }
    assert [len(view.runs) for view in (aligned_runs(trace), typical_run(trace))] == [5, 1]
    for view in (aligned_runs(trace), typical_run(trace), mean_run(trace)):
        slices = view.slices
        for row in range(len(slices.row_track)):
            own = slice(*slices.row_ptr[row : row + 2].tolist())
            assert (slices.start[own][1:] >= slices.end[own][:-1]).all()
        assert not any(one.all_tracks for one in view.runs)


@pytest.mark.parametrize(
    ("view_of_runs", "label"),
    [
        (typical_run, "ProfilerStep#3 · step 3 of 5"),
        (mean_run, "ProfilerStep · mean of 5 steps"),
    ],
)
def test_steps_keep_their_labels_in_views(view_of_runs, label):
    view = view_of_runs(open_file(str(STEPS)))
    labels, texts = slice_labels(unlinked(view))
    steps = [i for i in range(len(view.slices)) if view.name(i).startswith("ProfilerStep")]
    assert [plain_spaces(texts[labels[i]]) for i in steps] == [label]


def test_flows_of_views_connect_the_slices_that_the_file_connects():
    trace = open_file(str(STEPS))
    aligned, median, mean = aligned_runs(trace), typical_run(trace), mean_run(trace)
    assert connected(aligned) == connected(trace)
    assert len(connected(median)) == 51
    assert connected(median) <= connected(trace)
    assert len(mean.flows) == 0


def connected(trace):
    """The rows in the file of both ends of every flow."""
    rows, flows = trace.slices.source_row, trace.flows
    return set(zip(rows[flows.producer].tolist(), rows[flows.consumer].tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("path", [STEPS, RUNS])
def test_a_perfetto_export_states_the_inference_of_every_slice(path, tmp_path):
    workspace = workspace_of(path)
    export(workspace, str(tmp_path / "a.pftrace"))
    first, second = workspace.traces[0], open_file(str(tmp_path / "a.pftrace"))
    counts = [int((run_of_slices(first) == at).sum()) for at, _ in enumerate(first.runs)]
    numbers = second.slices.columns["run"]
    stated = numbers.values[numbers.valid]
    for count, one in zip(counts, first.runs, strict=True):
        assert one.kind is RunKind.LOAD or (stated == one.number).sum() == count


# -- what a step and a run are --------------------------------------------------------------------


def test_numbers_count_from_1_in_order_of_time_and_names_stay(tmp_path):
    trace = read(tmp_path, step(7, 100, 50), step(3, 0, 50), step(99999999999999999999, 200, 50))
    assert found(trace) == [
        ("ProfilerStep#3", 1, 3, 0, 50),
        ("ProfilerStep#7", 2, 3, 100, 150),
        ("ProfilerStep#99999999999999999999", 3, 3, 200, 250),
    ]
    assert problems(trace) == {}


def test_copies_on_a_gpu_and_other_slices_of_the_name_are_no_steps(tmp_path):
    copy = step(1, 20, 60, tid=7) | {"cat": "gpu_user_annotation"}
    others = [slice_event("ProfilerStep#x", 70, 5, cat="user_annotation"), run(80, 5)]
    trace = read(tmp_path, step(1, 0, 50), copy, slice_event("model_run", 60, 5), *others)
    assert found(trace) == [("ProfilerStep#1", 1, 1, 0, 50)]
    assert found(read(tmp_path, slice_event("model_run", 60, 5))) == []


def test_a_step_covers_all_threads_that_work_in_its_time(tmp_path):
    kernel = slice_event("kernel", 10, 100, pid=0, tid=7)
    at_the_end, after = (slice_event(f"k{at}", at, 5, pid=0, tid=8) for at in (50, 60))
    trace = read(tmp_path, step(1, 0, 50), step(2, 50, 50), kernel, at_the_end, after)
    first, second = trace.inferences()
    assert first.all_tracks
    assert TimeScope(first).span == (0, 50_000, None)
    number = run_of_slices(trace)
    of = {trace.name(i): trace.runs[number[i]].number for i in range(len(number))}
    assert of == {"ProfilerStep#1": 1, "kernel": 1, "ProfilerStep#2": 2, "k50": 2, "k60": 2}
    assert trace.run_at(0, 50_000) == 1
    for one in (first, second):
        chosen = starts_in(trace, TimeScope(one), np.arange(len(number)))
        assert (number[chosen] == one.number - 1).all()


def test_runs_of_several_threads_keep_their_own_thread(tmp_path):
    trace = read(
        tmp_path,
        *(run(0, 50), slice_event("conv", 10, 20, cat="Node")),
        *(run(20, 50, tid=3), slice_event("conv", 30, 20, tid=3, cat="Node")),
    )
    assert [(one.number, one.all_tracks) for one in trace.inferences()] == [(1, False), (2, False)]
    count, _ = sum_per_key(trace, *TimeScope(trace.runs[1]).span)
    names = [trace.strings[i] for i in trace.keys.name.tolist()]
    assert dict(zip(names, count.tolist(), strict=True)) == {"model_run": 1, "conv": 1}


def test_runs_are_the_whole_unless_other_threads_work_for_them(tmp_path):
    node = slice_event("conv_kernel_time", 10, 20, cat="Node")
    alone = read(tmp_path, run(0, 50), node)
    parallel = read(tmp_path, run(0, 50), node | {"tid": 3})
    loaded = read(tmp_path, run(0, 5, "session_initialization", tid=9), run(10, 50), node)
    assert whole_scope_text(alone) == whole_scope_text(loaded) == "the inference"
    assert [one.all_tracks for one in loaded.runs] == [True, True]
    assert whole_scope_text(parallel) == "the whole trace"
    assert (parallel.keys.kind == KeyKind.PLAIN).all()
    assert parallel.runs[0].all_tracks


def test_steps_from_0_warm_up(tmp_path):
    trace = read(tmp_path, *(step(n, 100 * n, 50) for n in range(8)))
    assert [one.number for one in trace.inferences() if one.warms_up] == [1, 2]


# -- hostile files --------------------------------------------------------------------------------


def test_steps_that_overlap_or_have_no_duration_are_no_inferences(tmp_path):
    odd = step(2, 20, 100), step(3, 60, 10), step(4, 200, -5), step(5, 300, 0)
    trace = read(tmp_path, step(1, 0, 50), *odd, step(6, 400, 10))
    assert [name for name, *_ in found(trace)] == ["ProfilerStep#1", "ProfilerStep#6"]
    counts = problems(trace)
    assert (counts[OVERLAPS], counts[EMPTY]) == (2, 2)
    assert len(trace.slices) == 6


def test_too_many_steps_are_slices_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(frameworks, "MOST_RUNS", 20)
    trace = read(tmp_path, *(step(n, 10 * n, 5) for n in range(21)))
    assert trace.runs == ()
    assert problems(trace) == {TOO_MANY: 21}


@pytest.mark.nightly
def test_very_many_steps_cost_no_more_than_as_many_slices(tmp_path):
    count = 250_000
    one = '{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":2,"ts":%d,"dur":5}'
    seconds = []
    for category, name in (("cpu_op", "op"), ("user_annotation", "ProfilerStep")):
        text = ",".join(one % (category, f"{name}#{n}", 10 * n) for n in range(count))
        before = time.process_time()
        trace = read(tmp_path, text=f"[{text}]")
        seconds.append(time.process_time() - before)
        assert (len(trace.slices), trace.runs) == (count, ())
    assert seconds[1] < 2 * seconds[0] + 0.25


def test_the_mean_is_of_the_steps_that_log_the_same_and_not_added_to_others(tmp_path):
    steps = [
        slice_event(f"ProfilerStep#{i}", 100 * i, 90, cat="user_annotation") for i in (1, 2, 3)
    ]
    ops = [slice_event("op", 100 * i + 5, 40, cat="cpu_op") for i in (1, 2, 3)]
    first = slice_event("allocate", 150, 20, cat="cpu_op")
    mean = mean_run(read(tmp_path, *steps, *ops, first))
    assert [(run.count, run.end - run.start) for run in mean.runs] == [(2, 90_000)]
    assert "allocate" not in {mean.name(i) for i in range(len(mean.slices))}


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
    dump = open_file(str(ALL_DATA / f"etdump/{name}.etdp"))
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
    dump = open_file(str(ALL_DATA / f"etdump/{name}.etdp"))
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
