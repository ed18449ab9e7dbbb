"""Warm-up: which inferences medians leave out, and how a sentence says so."""

from dataclasses import replace

import pytest

from viewer.formats import open_file
from viewer.model.trace import Run, RunKind, Trace
from viewer.model.warm_up import included_text, steady_inferences, warm_up_inferences

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
    assert steady_inferences(trace) == list(trace.runs[1 + left_out :])


def test_each_load_and_each_scope_has_its_own_warm_up(trace_of):
    trace = trace_of(LOAD, *"aaaa", LOAD, *"abababab")
    assert warm_up_inferences(trace) == {trace.runs[at] for at in (1, 6, 7)}


def test_an_inference_that_did_not_finish_is_neither_warm_nor_steady(trace_of):
    trace = trace_of(*"aaaaa", failed=(0,))
    assert warm_up_inferences(trace) == {trace.runs[1]}
    assert steady_inferences(trace) == list(trace.runs[2:])


def test_a_sentence_says_what_medians_cover(trace_of):
    assert included_text(trace_of(*"aaa")) == "3 inferences"
    assert included_text(trace_of(*"aaaa")) == "3 inferences, without 1 that warms up"
    assert included_text(trace_of(*"a" * 12)) == "9 inferences, without 3 that warm up"
