"""Where the nodes of a layer are along it: near their neighbors, in order, without overlap.

Each layer is a problem of its own with an exact answer: of all places that keep order and room, the
ones with the least squares of the distances to the wished places. Take away the room that nodes
need, and what is left is a sequence that must not fall: isotonic regression, by pooling adjacent
violators.
"""

from __future__ import annotations

from collections.abc import Sequence

# A long chain needs many rounds to be straight; of a large graph they would take too long.
_ROUNDS, _FEWER_ROUNDS, _LARGE = 14, 6, 1_000
# An edge through several layers is straight rather than short: its bends weigh more than nodes.
_BEND, _NODE = 8.0, 1.0
# A node without neighbors on the side that is looked at stays about where it is.
_ALONE = 0.05

Links = Sequence[Sequence[int]]


def placed(
    layers: Sequence[Sequence[int]],
    before: Links,
    after: Links,
    breadth: Sequence[float],
    gap: float,
    is_bend: Sequence[bool],
) -> list[float]:
    """The middle of every node along its layer.

    breadth: how much room a node takes, gap: the least between two. is_bend: whether a node only
    stands for an edge that goes through the layer.
    """
    place = [0.0] * len(breadth)
    room = [_rooms(layer, breadth, gap) for layer in layers]
    for layer, needed in zip(layers, room, strict=True):
        middle = needed[-1] / 2 if needed else 0.0
        for node, at in zip(layer, needed, strict=True):
            place[node] = at - middle
    rounds = _ROUNDS if len(breadth) <= _LARGE else _FEWER_ROUNDS
    for number in range(rounds):
        ways: tuple[Links, ...] = (before,) if number % 2 == 0 else (after,)
        if number == rounds - 1:
            ways = before, after
        order = range(len(layers)) if number % 2 == 0 else range(len(layers) - 1, -1, -1)
        for at in order:
            _place(layers[at], room[at], ways, place, is_bend)
    return place


def _rooms(layer: Sequence[int], breadth: Sequence[float], gap: float) -> list[float]:
    """Where the nodes of a layer lie if each is as near to the one before as it may be."""
    found, at = [], 0.0
    for number, node in enumerate(layer):
        if number:
            at += (breadth[layer[number - 1]] + breadth[node]) / 2 + gap
        found.append(at)
    return found


def _place(
    layer: Sequence[int],
    needed: Sequence[float],
    ways: tuple[Links, ...],
    place: list[float],
    is_bend: Sequence[bool],
) -> None:
    wished, weights = [], []
    for node, at in zip(layer, needed, strict=True):
        total = weight = 0.0
        for links in ways:
            for other in links[node]:
                heavy = _BEND if is_bend[node] and is_bend[other] else _NODE
                total += heavy * place[other]
                weight += heavy
        wished.append((total / weight if weight else place[node]) - at)
        weights.append(weight or _ALONE)
    for node, at, found in zip(layer, needed, isotonic(wished, weights), strict=True):
        place[node] = at + found


def isotonic(wished: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The sequence that does not fall and is nearest to the wished one, by weighted squares."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for value, weight in zip(wished, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] >= pool[0]:
            mean, heavy, count = pools.pop()
            whole = heavy + pool[1]
            pool = (mean * heavy + pool[0] * pool[1]) / whole, whole, count + pool[2]
        pools.append(pool)
    return [mean for mean, _, count in pools for _ in range(count)]
