"""All ways to explain events by nodes, compared with a search of every one of them."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from viewer.analysis.nodes.xnnpack_events import (
    TOO_DIFFERENT,
    TOO_LARGE,
    Choice,
    best_ways,
    bits_of,
    explains,
)


def every_way(choices, count, inserted):
    """Each way to explain events: its differences, and the node of each event (-1: none)."""

    def ways(node, at, differences, owners):
        if node == len(choices):
            left = [0 if inserted >> i & 1 else 1 for i in range(at, count)]
            yield differences + sum(left), owners + (-1,) * len(left)
            return
        if at < count:
            free = inserted >> at & 1
            yield from ways(node, at + 1, differences + 1 - free, (*owners, -1))
        choice = choices[node]
        yield from ways(node + 1, at, differences + (not choice.may_be_silent), owners)
        for length, starts in choice.runs:
            if starts >> at & 1 and at + length <= count:
                yield from ways(node + 1, at + length, differences, owners + (node,) * length)

    return list(ways(0, 0, 0, ()))


def random_case(random):
    count, nodes = random.randrange(6), random.randrange(5)
    choices = [
        Choice(
            tuple(
                (length, sum(1 << at for at in range(count - length + 1) if random.random() < 0.5))
                for length in random.sample([1, 2], random.randrange(3))
                if length <= count
            ),
            random.random() < 0.4,
        )
        for _ in range(nodes)
    ]
    inserted = sum(1 << at for at in range(count) if random.random() < 0.2)
    return choices, count, inserted, [random.randrange(3) for _ in range(nodes)]


@pytest.mark.slow
def test_what_all_best_ways_agree_on_is_what_a_search_finds():
    for seed in range(600):
        choices, count, inserted, answers = random_case(Random(seed))
        found = best_ways(choices, count, inserted, answers)
        ways = every_way(choices, count, inserted)
        least = min(differences for differences, _ in ways)
        best = [owners for differences, owners in ways if differences == least]
        assert found.differences == least, seed
        for event in range(count):
            own = {answers[way[event]] if way[event] >= 0 else -1 for way in best}
            owner = found.owners[event]
            decided = next(iter(own)) if len(own) == 1 else -1
            assert (answers[owner] if owner >= 0 else -1) == decided, (seed, event)
        unexplained = {
            event for way in best for event in range(count)
            if way[event] < 0 and not inserted >> event & 1
        }  # fmt: skip
        assert {event for event in range(count) if found.unexplained >> event & 1} == unexplained
        must_log = {node for node, choice in enumerate(choices) if not choice.may_be_silent}
        silent = {node for way in best for node in must_log if node not in way}
        assert set(found.silent) == silent, seed


@pytest.mark.slow
def test_whether_nodes_explain_all_events_is_what_a_search_finds():
    for seed in range(300):
        choices, count, inserted, _ = random_case(Random(seed))
        silent = [Choice(choice.runs, True) for choice in choices]
        expected = any(not differences for differences, _ in every_way(silent, count, inserted))
        assert explains(choices, count, inserted) == expected, seed


def test_long_rows_of_inserted_events_are_explained():
    inserted = bits_of(range(1, 1000), 1001)
    found = best_ways([Choice(((1, 1 | 1 << 1000),), False)] * 2, 1001, inserted)
    assert (found.differences, found.owners[0], found.owners[-1]) == (0, 0, 1)
    assert set(found.owners[1:-1]) == {-1}


def test_too_many_differences_and_too_large_calls_are_given_up():
    assert best_ways([Choice((), False)] * 100, 0, 0).differences == TOO_DIFFERENT
    assert best_ways([Choice((), True)] * 40_000, 40_000, 0).differences == TOO_LARGE


def test_each_node_is_its_own_answer_by_default():
    either = [Choice(((1, 1),), True)] * 2
    assert best_ways(either, 1, 0).owners == [-1]
    assert best_ways(either, 1, 0, [7, 7]).owners in ([0], [1])


def test_positions_are_bits():
    for places in ([], [0], [3, 8, 64]):
        assert bits_of(places, 65) == sum(1 << place for place in places)
    assert all(bits_of([a, b], 9) == 1 << a | 1 << b for a, b in product(range(9), repeat=2))
