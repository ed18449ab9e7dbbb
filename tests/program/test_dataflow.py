"""The edges between operators, both ways, and what surrounds several of them at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.program.dataflow import ExternalInput, MethodFlow, joined, neighbors_of

EDGES = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60),
        st.sets(st.integers(0, n - 1), min_size=1),
    )
)


@pytest.mark.slow
@given(EDGES)
def test_both_directions_hold_the_edges_that_were_put_in(case):
    count, pairs, chosen = case
    pairs = {(c, p) for c, p in pairs if c != p}
    ordered = sorted(pairs)
    half = len(ordered) // 2  # as if of two methods
    flows = [
        MethodFlow(tuple(c for c, _ in part), tuple(p for _, p in part))
        for part in (ordered[:half], ordered[half:])
    ]
    flow = joined(count, flows, {})
    for i in range(count):
        assert flow.inputs_of(i).tolist() == sorted(p for c, p in pairs if c == i)
        assert flow.outputs_of(i).tolist() == sorted(c for c, p in pairs if p == i)
    around = neighbors_of(flow, tuple(chosen))
    assert set(around.inputs) == {p for c, p in pairs if c in chosen} - chosen
    assert set(around.outputs) == {c for c, p in pairs if p in chosen} - chosen


def test_what_is_given_from_outside_and_what_is_unknown_are_said_of_the_whole_set():
    weight = ExternalInput("fc.weight", True)
    flow = joined(3, [MethodFlow((1,), (0,), {0: (weight,), 1: (weight,)}, frozenset([2]))], {})
    assert neighbors_of(flow, (0, 1)).given == (weight,)
    assert neighbors_of(flow, (0, 1)).reason == ""
    assert neighbors_of(flow, (1, 2)).reason != ""
