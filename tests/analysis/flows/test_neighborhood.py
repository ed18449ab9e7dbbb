"""The operators around some operators, by hand and against a plain search on random graphs."""

import random
import time

import numpy as np
import pytest

from viewer.analysis.flows.dataflow import MOST_EDGES, Direction, neighborhood
from viewer.program.dataflow import NO_GRAPH, NO_INPUTS, Dataflow, MethodFlow, joined

# A residual block: 0 feeds 1, 2 and the sum 4; 3 is on the way; 5 takes the sum; 6 is apart.
BLOCK = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4), (4, 5)]


def flow_of(count: int, edges: list[tuple[int, int]], unknown=frozenset()) -> Dataflow:
    """A program of some operators whose edges are (producer, consumer)."""
    pairs = sorted({(b, a) for a, b in edges})
    method = MethodFlow(tuple(c for c, _ in pairs), tuple(p for _, p in pairs), unknown=unknown)
    return joined(count, [method], {})


def shown(found) -> dict[int, int]:
    """Operator -> hop."""
    return dict(zip(found.operators.tolist(), found.hop.tolist(), strict=True))


def edges(found) -> set[tuple[int, int]]:
    own = found.operators.tolist()
    ends = zip(found.producer.tolist(), found.consumer.tolist(), strict=True)
    return {(own[a], own[b]) for a, b in ends}


def plain(count, pairs, seeds, hops, way):
    """The same by sets, hop by hop."""
    hop = dict.fromkeys(seeds, 0)
    for number in range(1, hops + 1):
        near = set()
        for a, b in pairs:
            if way is not Direction.PRODUCERS and hop.get(a) == number - 1:
                near.add(b)
            if way is not Direction.CONSUMERS and hop.get(b) == number - 1:
                near.add(a)
        for operator in near:
            hop.setdefault(operator, number)
    return hop


def test_one_hop_is_producers_and_consumers():
    found = neighborhood(flow_of(7, BLOCK), [3], 1)
    assert shown(found) == {3: 0, 1: 1, 2: 1, 4: 1}
    assert edges(found) == {(1, 3), (2, 3), (3, 4)}
    assert (found.seeds, found.within, found.limit_text, found.reason) == (1, 4, "", "")


def test_edges_among_what_is_shown_are_drawn_whatever_hop_they_are_of():
    found = neighborhood(flow_of(7, BLOCK), [3], 2)
    assert shown(found) == {3: 0, 1: 1, 2: 1, 4: 1, 0: 2, 5: 2}
    assert edges(found) == set(BLOCK)


@pytest.mark.parametrize(
    ("way", "operators"),
    [(Direction.PRODUCERS, {4, 3, 0, 1, 2}), (Direction.CONSUMERS, {4, 5})],
)
def test_hops_go_one_way(way, operators):
    assert set(shown(neighborhood(flow_of(7, BLOCK), [4], 2, way))) == operators


def test_neighbors_that_are_not_shown_are_counted():
    found = neighborhood(flow_of(7, BLOCK), [3], 1)
    at = {operator: n for n, operator in enumerate(found.operators.tolist())}
    assert found.hidden_inputs[[at[1], at[2], at[3], at[4]]].tolist() == [1, 1, 0, 1]
    assert found.hidden_outputs[[at[1], at[2], at[3], at[4]]].tolist() == [0, 0, 0, 1]


def test_seeds_of_several_are_all_no_hop_away():
    found = neighborhood(flow_of(7, BLOCK), [1, 6, 1], 1)
    assert shown(found) == {1: 0, 6: 0, 0: 1, 3: 1}
    assert found.seeds == 2


def test_what_does_not_fit_is_the_cheapest_of_the_last_hop():
    fan = flow_of(10, [(0, i) for i in range(1, 10)])
    cost = np.array([0, 5, 1, 9, 1, 7, 0, 0, 3, 0])
    found = neighborhood(fan, [0], 1, cost_order=cost, most=4)
    assert found.operators.tolist() == [0, 1, 3, 5]
    assert found.hidden_outputs.tolist() == [6, 0, 0, 0]
    assert found.limit_text == (
        "4 of 10 operators are shown, the nearest first and of those the most expensive."
    )
    assert neighborhood(fan, [0], 1, most=4).limit_text == (
        "4 of 10 operators are shown, the nearest first and of those the first of the model."
    )


def test_a_delegate_with_more_operators_than_fit_shows_its_dearest():
    chain = flow_of(3000, [(i, i + 1) for i in range(2999)])
    cost = np.arange(3000)[::-1].copy()
    found = neighborhood(chain, range(3000), 3, cost_order=cost)
    assert found.operators.tolist() == list(range(200))
    assert found.limit_text == "200 of 3\u2009000 operators are shown, the most expensive first."
    assert neighborhood(chain, range(3000), 3).limit_text == (
        "200 of 3\u2009000 operators are shown, the first of the model."
    )


def test_the_edges_are_limited_too():
    """Of 100 operators that all take 100 others nobody could follow a line."""
    dense = flow_of(200, [(a, b) for a in range(100) for b in range(100, 200)])
    found = neighborhood(dense, [0], 2)
    assert len(found.producer) <= MOST_EDGES
    assert found.within == 200
    assert 0 < len(found) < 200
    own = set(found.operators.tolist())
    assert edges(found) == {(a, b) for a in own for b in own if a < 100 <= b}


def test_what_is_not_known_has_its_reason():
    known = flow_of(7, BLOCK, unknown=frozenset({3}))
    assert neighborhood(known, [3], 1).reason == NO_INPUTS
    assert neighborhood(known, [4], 1).reason == ""
    bare = joined(2, [], {0: NO_GRAPH, 1: NO_GRAPH})
    found = neighborhood(bare, [1], 2)
    assert (shown(found), found.reason) == ({1: 0}, NO_GRAPH)


@pytest.mark.parametrize("seeds", [[], [-1, 7, 99]])
def test_seeds_that_are_no_operators_are_left_out(seeds):
    found = neighborhood(flow_of(7, BLOCK), seeds, 2)
    assert len(found) == found.within == found.seeds == 0


def test_an_empty_program_has_no_neighbors():
    assert len(neighborhood(joined(0, [], {}), [0], 2)) == 0


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_are_as_by_a_plain_search(seed):
    """Cycles and all: 40 operators, any edge but to itself."""
    dice = random.Random(seed)
    pairs = {(dice.randrange(40), dice.randrange(40)) for _ in range(dice.randrange(10, 120))}
    pairs = {(a, b) for a, b in pairs if a != b}
    flow = flow_of(40, sorted(pairs))
    seeds = dice.sample(range(40), dice.randrange(1, 4))
    for way in Direction:
        for hops in range(5):
            expected = plain(40, pairs, seeds, hops, way)
            found = neighborhood(flow, seeds, hops, way)
            assert shown(found) == expected
            assert edges(found) == {(a, b) for a, b in pairs if a in expected and b in expected}
            inputs = {o: sum(b == o and a not in expected for a, b in pairs) for o in expected}
            own = found.operators.tolist()
            assert found.hidden_inputs.tolist() == [inputs[o] for o in own]
            assert own == sorted(own)
            few = neighborhood(flow, seeds, hops, way, most=7)
            nearest = sorted(own, key=lambda o: (expected[o], o))[:7]
            assert few.operators.tolist() == sorted(nearest)
            assert few.within == len(expected)


def test_five_thousand_operators_take_a_few_ms():
    dice = np.random.default_rng(3)
    takers = np.repeat(np.arange(1, 5000), 2)
    makers = np.minimum((takers * dice.random(len(takers)) ** 0.3).astype(int), takers - 1)
    flow = flow_of(5000, list(zip(makers.tolist(), takers.tolist(), strict=True)))
    began = time.process_time()
    neighborhood(flow, [2500], 6)
    neighborhood(flow, range(3000), 2)
    assert time.process_time() - began < 1  # 3 ms here
