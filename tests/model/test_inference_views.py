"""Inferences from one start and their mean, against plain arithmetic over every slice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import paths
from tests.builders.etdump_writer import Run as Block
from tests.builders.etdump_writer import delegate, framework, operator, write_dump
from viewer.formats import open_file
from viewer.model import inference_views as run_views
from viewer.model.building.nesting import level_fault
from viewer.model.inference_views import (
    Inferences,
    aligned_runs,
    has_run_views,
    mean_run,
    typical_run,
    view_of,
)
from viewer.model.queries import tree
from viewer.model.timing import Timing, timings
from viewer.model.trace import Run, RunKind, Trace
from viewer.model.warm_up import counted_inferences, warm_up_inferences

DATA = paths.DATA / "etdump"
DUMPS = [
    "cnn_xnnpack_x10", "attn_portable_x5", "cond_portable_x5", "demo_str_x4",
    "multi_forward_decode_portable_x3", "SYN_qnn_like", "SYN_repeat_in_run", "SYN_wraparound",
]  # fmt: skip


def read(name: str) -> Trace:
    trace = open_file(str(DATA / f"{name}.etdp"))
    assert isinstance(trace, Trace)
    return trace


def slices_of(trace: Trace, run: Run) -> list[tuple[int, int, int, int]]:
    """(key, depth, start, end) of a run in preorder, from its begin; a dump lists run after run."""
    s = trace.slices
    depth = s.row_depth[s.rows()]
    later = [r.first_row for r in trace.runs if r.first_row > run.first_row]
    stop = min(later, default=int(s.source_row.max()) + 1)
    return [
        (int(s.key[i]), int(depth[i]), int(s.start[i]) - run.start, int(s.end[i]) - run.start)
        for i in tree(s).index.tolist()
        if run.first_row <= s.source_row[i] < stop
    ]


def check(trace: Trace) -> None:
    """What every trace promises: rows by time, preorder in lanes, frozen sizes."""
    s = trace.slices
    shape = tree(s)
    row = s.rows()
    assert sorted(shape.index.tolist()) == list(range(len(s)))
    assert (np.diff(s.start)[np.diff(row) == 0] >= 0).all()
    index = shape.index
    lanes = s.row_track[row[index]] * 1000 + s.row_lane[row[index]]
    for lane in np.unique(lanes):
        own = index[lanes == lane]
        assert level_fault(s.start[own], s.end[own], shape.depth[lanes == lane]) is None
    for column in s.columns.values():
        assert len(column.values) == len(s)


@pytest.mark.parametrize("name", DUMPS)
def test_aligned_runs_are_the_runs_from_zero(name):
    trace = read(name)
    runs = list(trace.inferences())
    view = aligned_runs(trace)
    check(view)
    assert len(view.tracks) == len(runs) == len(view.runs)
    for run, moved in zip(runs, view.runs, strict=True):
        assert (moved.start, moved.end) == (0, run.end - run.start)
        assert slices_of(view, moved) == slices_of(trace, run)
    assert len(view.slices) == sum(len(slices_of(trace, run)) for run in runs)


@pytest.mark.parametrize("name", DUMPS)
def test_the_mean_is_the_mean_of_every_slice(name):
    trace = read(name)
    kinds: dict[tuple, list[list[tuple[int, int, int, int]]]] = {}
    for run in counted_inferences(trace, warm_up=False):
        found = slices_of(trace, run)
        kinds.setdefault((run.track, tuple((k, d) for k, d, _, _ in found)), []).append(found)
    view = mean_run(trace)
    check(view)
    assert [run.count for run in view.runs] == [len(runs) for runs in kinds.values()]
    for run, runs in zip(view.runs, kinds.values(), strict=True):
        means = [
            (slot[0][0], slot[0][1],
             sum(x[2] for x in slot) // len(runs), sum(x[3] for x in slot) // len(runs))
            for slot in zip(*runs, strict=True)
        ]  # fmt: skip
        assert slices_of(view, run) == means
    assert (timings(view.slices) == Timing.DERIVED).all()


def test_tracks_say_which_run_or_how_many():
    trace = read("cond_portable_x5")
    assert [t.thread for t in aligned_runs(trace).tracks] == [
        f"Execute · run {n}" for n in range(1, 6)
    ]
    means = mean_run(trace)
    assert sum(run.count for run in means.runs) == 4  # the first one warms up
    assert len({t.thread for t in means.tracks}) == len(means.tracks)


@pytest.mark.parametrize("name", DUMPS)
def test_the_typical_one_is_an_inference_that_ran(name):
    """Half of the others take at most as long; its slices have the times of the file."""
    trace = read(name)
    view = typical_run(trace)
    check(view)
    for chosen in view.runs:
        runs = [
            run for run in counted_inferences(trace, warm_up=False) if run.scope == chosen.scope
        ]
        ran = next(run for run in runs if run.number == chosen.number)
        assert slices_of(view, chosen) == slices_of(trace, ran)
        longer = sum(run.end - run.start > ran.end - ran.start for run in runs)
        shorter = sum(run.end - run.start < ran.end - ran.start for run in runs)
        assert longer <= (len(runs) + 1) // 2
        assert shorter <= (len(runs) - 1) // 2


def test_the_typical_one_of_an_even_number_is_the_shorter_of_the_middle_two(tmp_path):
    view = typical_run(timed_runs(tmp_path / "a.etdp", 900, 40, 10, 30, 20))
    assert [t.thread for t in view.tracks] == ["Execute · run 5, typical of 4"]
    assert view.slices.end.tolist() == [20]
    assert not warm_up_inferences(view)


def test_views_state_which_inferences_warm_up(tmp_path):
    trace = timed_runs(tmp_path / "a.etdp", 900, 40, 10, 30, 20)
    shown = aligned_runs(trace)
    assert [run.number for run in warm_up_inferences(shown)] == [1]
    assert view_of(trace, Inferences.AS_RUN) is trace


def timed_runs(path: Path, *lengths: int) -> Trace:
    """Inferences of some lengths in ticks."""
    blocks = [
        Block("Execute", [framework("Method::execute", 1000 * i, 1000 * i + length)])
        for i, length in enumerate(lengths)
    ]
    trace = open_file(str(write_dump(path, blocks)))
    assert isinstance(trace, Trace)
    return trace


def two_runs(path: Path, *lengths: int) -> Trace:
    """Runs with a call whose foreign event lasts as many cycles, and metadata of its own."""
    blocks = []
    for i, length in enumerate(lengths):
        t = 1000 * i
        blocks.append(
            (
                "Execute",
                [
                    delegate("conv (cycles)", 0, 0, length, metadata=f"m{length}".encode()),
                    operator("DELEGATE_CALL", 0, t + 10, t + 50 + i),
                    framework("Method::execute", t, t + 100),
                ],
            )
        )
    trace = open_file(str(write_dump(path, [Block(name, events) for name, events in blocks])))
    assert isinstance(trace, Trace)
    return trace


def test_native_lengths_are_averaged_and_arguments_kept_where_runs_agree(tmp_path):
    view = mean_run(two_runs(tmp_path / "a.etdp", 100, 203))
    columns, s = view.slices.columns, view.slices
    event = next(i for i in range(len(s)) if view.name(i) == "conv (cycles)")
    assert columns["native_dur"].value(event) == 151
    assert columns["native_unit"].value(event) == "cycles"
    assert columns["metadata"].value(event) is None
    same = mean_run(two_runs(tmp_path / "b.etdp", 7, 7))
    event = next(i for i in range(len(same.slices)) if same.name(i) == "conv (cycles)")
    assert same.slices.columns["metadata"].value(event) == "m7"


def test_a_mean_is_exact_where_the_sum_of_the_times_would_not_fit(tmp_path):
    late = (1 << 62) - (1 << 41)
    ends = [late + 10, late + 11, late + 13]
    blocks = [Block("Execute", [framework("Method::execute", late, end)]) for end in ends]
    trace = open_file(str(write_dump(tmp_path / "a.etdp", blocks)))
    (start,), (end,) = mean_run(trace).slices.start, mean_run(trace).slices.end
    assert end - start == 11


def test_native_lengths_that_are_texts_are_not_averaged(tmp_path):
    lines = ["process,thread,name,method,start_ns,dur_ns,native_dur"]
    lines += [f"p,t,Method::execute,m,{t},9,{cell}" for t, cell in ((0, "long"), (20, "longer"))]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    trace = open_file(str(path))
    assert len(list(trace.inferences())) == 2
    assert mean_run(trace).slices.columns["native_dur"].value(0) is None


@pytest.mark.slow
def test_runs_that_are_all_different_are_themselves_and_take_no_time(tmp_path):
    blocks = []
    for i in range(1500):
        call = operator("OPERATOR_CALL", i, 100 * i + 10, 100 * i + 20)
        blocks.append(Block("Execute", [call, framework("Method::execute", 100 * i, 100 * i + 90)]))
    view = mean_run(open_file(str(write_dump(tmp_path / "a.etdp", blocks))))
    check(view)
    assert len(view.tracks) == len(view.runs) == run_views.MOST_TRACKS
    assert [t.thread for t in view.tracks[:2]] == ["Execute · run 4", "Execute · run 5"]
    assert (view.runs[999].number, view.runs[999].count) == (1003, 1)


def test_kinds_of_equally_many_runs_are_told_apart(tmp_path):
    blocks = []
    for i in range(7):  # the first one warms up
        call = operator("OPERATOR_CALL", (i - 1) // 2, 100 * i + 10, 100 * i + 20)
        blocks.append(Block("Execute", [call, framework("Method::execute", 100 * i, 100 * i + 90)]))
    view = mean_run(open_file(str(write_dump(tmp_path / "a.etdp", blocks))))
    assert [t.thread for t in view.tracks] == [
        "Execute · mean of 2", "Execute · mean of 2 (2)", "Execute · mean of 2 (3)"
    ]  # fmt: skip


def test_runs_that_lie_inside_an_event_of_another_are_laid_out_alone(tmp_path):
    def run(t: int, *more: dict) -> Block:
        call = operator("OPERATOR_CALL", 0, t + 20, t + 30)
        return Block("Execute", [call, *more, framework("Method::execute", t + 10, t + 90)])

    runs = [run(0, framework("stray", 0, 10_000)), run(1000), run(2000)]
    trace = open_file(str(write_dump(tmp_path / "a.etdp", runs)))
    assert [p.kind for p in trace.problems] == [
        "levels contradict the times: nested by time instead"
    ]
    assert int(trace.slices.row_depth.max()) == 2
    for view in (aligned_runs(trace), mean_run(trace)):
        check(view)
        second = slices_of(view, view.runs[1])
        assert [depth for _, depth, _, _ in second] == [0, 1]


def test_one_inference_has_no_other_view(tmp_path):
    assert not has_run_views(read("cnn_portable_x1"))
    assert has_run_views(read("cnn_portable_x10"))


def test_only_so_many_runs_are_aligned(monkeypatch):
    monkeypatch.setattr(run_views, "MOST_TRACKS", 3)
    view = aligned_runs(read("cnn_portable_x10"))
    assert [run.number for run in view.runs] == [1, 2, 3]
    assert all(run.kind is RunKind.INFERENCE and run.total == 10 for run in view.runs)
