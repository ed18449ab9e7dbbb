"""Warm-up: which inferences figures leave out, and how a sentence says so."""

from dataclasses import replace

import pytest

from viewer.formats import open_file
from viewer.model.trace import Run, RunKind, Trace
from viewer.model.warm_up import counted_inferences, included_text, warm_up_inferences

LOAD = "load"


@pytest.fixture
def trace_of(data):
    """Return a trace with the runs that are listed: "load", or the scope of an inference."""
    base = open_file(str(data / "etdump/words_failing_x3.etdp"))

    def make(*blocks: str, failed: tuple[int, ...] = ()) -> Trace:
        runs = [
            Run(
                RunKind.LOAD if block == LOAD else RunKind.INFERENCE,
                at,
                block,
                track=0,
                scope="abc".find(block),
                start=10 * at,
                end=10 * at + 5,
                finished=at not in failed,
            )
            for at, block in enumerate(blocks)
        ]
        return replace(base, runs=tuple(runs))

    return make


@pytest.mark.parametrize(
    ("inferences", "left_out"), [(1, 0), (3, 0), (4, 1), (8, 2), (12, 3), (100, 3)]
)
def test_one_of_four_warms_up_and_at_most_three(trace_of, inferences, left_out):
    trace = trace_of(LOAD, *"a" * inferences)
    assert warm_up_inferences(trace) == set(trace.runs[1 : 1 + left_out])
    assert counted_inferences(trace, warm_up=False) == list(trace.runs[1 + left_out :])


def test_each_load_and_each_scope_has_its_own_warm_up(trace_of):
    trace = trace_of(LOAD, *"aaaa", LOAD, *"abababab")
    assert warm_up_inferences(trace) == {trace.runs[at] for at in (1, 6, 7)}


def test_an_inference_that_did_not_finish_is_neither_warm_nor_steady(trace_of):
    trace = trace_of(*"aaaaa", failed=(0,))
    assert warm_up_inferences(trace) == {trace.runs[1]}
    assert counted_inferences(trace, warm_up=False) == list(trace.runs[2:])


def test_the_user_can_include_the_warm_up(trace_of):
    trace = trace_of(LOAD, *"aaaa")
    assert counted_inferences(trace) == list(trace.runs[1:])
    assert included_text(trace, warm_up=True) == "4 inferences"


def test_without_a_finished_inference_all_count(trace_of):
    trace = trace_of(*"aaaa", failed=(0, 1, 2, 3))
    assert counted_inferences(trace, warm_up=False) == list(trace.runs)


def test_a_view_of_inferences_states_which_warm_up(trace_of):
    trace = trace_of(*"aaaa")
    shown = replace(trace, runs=tuple(replace(run, warms_up=False) for run in trace.runs))
    assert not warm_up_inferences(shown)


def test_a_sentence_says_what_medians_cover(trace_of):
    assert included_text(trace_of(*"aaa")) == "3 inferences"
    assert included_text(trace_of(*"aaaa")) == "3 inferences, without 1 that warms up"
    assert included_text(trace_of(*"a" * 12)) == "9 inferences, without 3 that warm up"
