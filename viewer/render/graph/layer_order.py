"""Orders the nodes within the layers of a layered drawing to reduce edge crossings.

The standard method (Sugiyama): layer by layer, forward and backward, every node moves to the mean
position of its neighbors in the previous layer, and the order with the fewest crossings is kept.
Then adjacent nodes are swapped if that saves crossings. The number of rounds depends only on the
size of the graph, never on the clock, so a graph is always drawn the same way.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

# This many edges in all sweeps take about 50 ms, whatever the graph.
_WORK = 20_000
_MOST_SWEEPS, _LEAST_SWEEPS = 16, 2
_MOST_SWAP_ROUNDS = 6
# Two nodes with more edge pairs to compare than this are not swapped.
_MOST_COMPARED = 2_000

Links = Sequence[Sequence[int]]


def ordered(layers: list[list[int]], before: Links, after: Links) -> list[list[int]]:
    """Return the layers, each reordered so that the edges between them cross little.

    before, after: per node its neighbors, in the previous and in the next layer.
    """
    edges = sum(map(len, after))
    if not edges:
        return layers
    sweeps = min(max(_WORK // edges, _LEAST_SWEEPS), _MOST_SWEEPS)
    now = [list(layer) for layer in layers]
    best, least = [list(layer) for layer in now], crossings(now, after)
    stale = 0
    for number in range(sweeps):
        forward = number % 2 == 0
        _sweep(now, before if forward else after, forward)
        fewest = crossings(now, after)
        if fewest < least:
            best, least, stale = [list(layer) for layer in now], fewest, 0
        else:
            stale += 1
        if not least or stale == 4:
            break
    if least:
        _swap(best, before, after, min(max(_WORK // edges, 1), _MOST_SWAP_ROUNDS))
    return best


def crossings(layers: list[list[int]], after: Links) -> int:
    """Return how often the edges between adjacent layers cross, drawn as straight lines."""
    total = 0
    for layer, following in pairwise(layers):
        place = {node: index for index, node in enumerate(following)}
        seen: list[int] = []
        for node in layer:
            ends = [place[other] for other in after[node]]
            for end in ends:
                total += len(seen) - bisect_right(seen, end)
            for end in ends:
                insort(seen, end)
    return total


def _sweep(layers: list[list[int]], links: Links, forward: bool) -> None:
    """Sort every layer by the mean position of its neighbors in the layer sorted before."""
    numbers = range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1)
    for number in numbers:
        place = {node: index for index, node in enumerate(layers[number + (-1 if forward else 1)])}
        layer = layers[number]
        means = {
            node: sum(place[other] for other in links[node]) / len(links[node])
            if links[node]
            else index  # stays about where it is
            for index, node in enumerate(layer)
        }
        layer.sort(key=means.__getitem__)


def _swap(layers: list[list[int]], before: Links, after: Links, rounds: int) -> None:
    """Swap adjacent nodes in a layer as long as that saves crossings."""
    place = {node: position for layer in layers for position, node in enumerate(layer)}
    for _ in range(rounds):
        saved = False
        for layer in layers:
            for index in range(len(layer) - 1):
                node, other = layer[index], layer[index + 1]
                gain = 0
                for sides in (before, after):
                    if len(sides[node]) * len(sides[other]) <= _MOST_COMPARED:
                        gain += _gain(sides[node], sides[other], place)
                if gain > 0:
                    layer[index], layer[index + 1] = other, node
                    place[node], place[other] = index + 1, index
                    saved = True
        if not saved:
            return


def _gain(neighbors: Sequence[int], other: Sequence[int], place: dict[int, int]) -> int:
    """Return how many crossings swapping two adjacent nodes saves, given their edges."""
    if not neighbors or not other:
        return 0
    ends = sorted(place[node] for node in other)
    gain = 0
    for node in neighbors:
        position = place[node]
        gain += bisect_left(ends, position) - (len(ends) - bisect_right(ends, position))
    return gain
