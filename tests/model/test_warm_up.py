"""Warm-up: which inferences figures leave out, and how a sentence says so."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.formats import open_file
from viewer.model.queries import counted_slices
from viewer.model.trace import Run, RunKind
from viewer.model.trace_attributes import INFERENCE, STEP
from viewer.model.warm_up import (
    counted_inferences,
    included_text,
    typical_inference,
    warm_up_inferences,
    with_warm_up,
)

LOAD = "load"


def runs_of(*blocks: str, failed: tuple[int, ...] = (), first: int = 1) -> list[Run]:
    """Runs of one process in order: "load", or the scope of an inference."""
    numbers = dict.fromkeys("abc", first)
    runs = []
    for at, block in enumerate(blocks):
        number = 0 if block == LOAD else numbers[block]
        if block != LOAD:
            numbers[block] += 1
        runs.append(
            Run(
                RunKind.LOAD if block == LOAD else RunKind.INFERENCE,
                number,
                block,
                track=0,
                scope="abc".find(block),
                start=10 * at,
                end=10 * at + 5,
                finished=at not in failed,
            )
        )
    return runs


def warm(runs: list[Run], processes: tuple[str, ...] = ("net",)) -> list[int]:
    """The positions of those that warm up."""
    return [at for at, run in enumerate(with_warm_up(runs, processes)) if run.warms_up]


@pytest.mark.parametrize(
    ("inferences", "left_out"), [(1, 0), (3, 0), (4, 1), (8, 2), (12, 3), (100, 3)]
)
def test_a_quarter_warms_up_and_at_most_three(inferences, left_out):
    assert warm(runs_of(LOAD, *"a" * inferences)) == [*range(1, 1 + left_out)]


def test_each_load_and_each_scope_has_its_own_warm_up():
    assert warm(runs_of(LOAD, *"aaaa", LOAD, *"abababab")) == [1, 6, 7]


def test_a_load_belongs_to_the_method_that_runs_next():
    """The load of b does not make the second inference of a a first one."""
    assert warm(runs_of(LOAD, "a", LOAD, "b", *"aaa", *"bbb")) == [1, 3]


def test_time_decides_and_not_the_order_in_the_file():
    runs = runs_of(LOAD, *"aaaa", LOAD, *"aaaa")
    assert warm([runs[0], runs[5], *runs[1:5], *runs[6:]]) == [2, 6]


def test_every_process_has_its_own_warm_up():
    runs = runs_of(*"aaaa", *"aaaa")
    runs = [replace(run, track=at // 4, number=at % 4 + 1) for at, run in enumerate(runs)]
    assert warm(runs, ("one", "two")) == [0, 4]


def test_the_first_inference_of_a_part_of_a_trace_does_not_warm_up():
    assert warm(runs_of(*"aaaaaaaa", first=5)) == []
    assert warm(runs_of(*"aa", LOAD, *"aaaa", first=5)) == [3]


def test_an_inference_that_did_not_finish_is_neither_warm_nor_steady():
    assert warm(runs_of(*"aaaaa", failed=(0,), first=0)) == [1]


@pytest.fixture
def trace(tmp_path):
    """Four inferences of 100 ns on one thread, and work of 40 ns in each on another."""
    rows = ["process,thread,name,start_ns,dur_ns,method"]
    for start in (0, 200, 400, 600):
        rows.append(f"net,main,Method::execute,{start},100,forward")
        rows.append(f"net,worker,conv,{start + 20},40,forward")
    rows.append("net,worker,conv,150,10,forward")  # between two inferences
    path = tmp_path / "worker.csv"
    path.write_text("\n".join(rows))
    return open_file(str(path))


def test_the_user_can_include_the_warm_up(trace):
    runs = list(trace.inferences())
    assert warm_up_inferences(trace) == runs[:1]
    assert counted_inferences(trace) == runs
    assert counted_inferences(trace, warm_up=False) == runs[1:]


def test_work_of_other_threads_is_left_out_with_its_inference(trace):
    counts = counted_slices(trace, warm_up=False)
    left_out = np.flatnonzero(~counts)
    assert sorted(trace.slices.start[left_out].tolist()) == [0, 20]
    assert counted_slices(trace) is None


def test_without_a_warm_up_both_masks_are_one(trace):
    plain = replace(trace, runs=tuple(replace(run, warms_up=False) for run in trace.runs))
    assert counted_slices(plain, warm_up=False) is counted_slices(plain)


def test_without_a_finished_inference_all_count(trace):
    failed = replace(trace, runs=tuple(replace(run, finished=False) for run in trace.runs))
    assert len(counted_inferences(failed)) == 4


def test_the_typical_one_of_an_even_number_is_the_shorter_of_the_middle_two():
    runs = [
        replace(run, end=run.start + long)
        for run, long in zip(runs_of(*"aaaa"), (9, 2, 4, 3), strict=True)
    ]
    assert typical_inference(runs).end - typical_inference(runs).start == 3


def test_a_sentence_says_what_medians_cover():
    assert included_text(3, 0, INFERENCE) == "3 inferences"
    assert included_text(3, 1, STEP) == "3 steps (1 warm-up left out)"
    assert included_text(9, 3, INFERENCE) == "9 inferences (3 warm-ups left out)"
