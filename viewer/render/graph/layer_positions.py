"""Positions of nodes along their layer: near their neighbors, in order, without overlap.

Each layer is a separate problem with an exact solution: of all positions that keep order and
spacing, those with the least squared distance to the desired positions. After subtracting the
required space, the solution is the nearest nondecreasing sequence: isotonic regression, solved by
pooling adjacent violators.
"""

from __future__ import annotations

from collections.abc import Sequence

# A long chain needs many rounds to become straight; a large graph cannot afford them.
_ROUNDS, _FEWER_ROUNDS, _LARGE = 14, 6, 1_000
# Straightness matters more than length for edges through several layers: bends weigh more.
_BEND, _NODE = 8.0, 1.0
# Weight of a node without neighbors on the current side: it stays about where it is.
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
    """Return the center of every node along its layer.

    breadth: the space that a node takes. gap: the minimum between two nodes. is_bend: whether a
    node is only a bend of an edge that passes through the layer.
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
    """Return the positions of a layer's nodes if they are packed as tightly as allowed."""
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
    desired, weights = [], []
    for node, at in zip(layer, needed, strict=True):
        total = weight = 0.0
        for links in ways:
            for other in links[node]:
                edge_weight = _BEND if is_bend[node] and is_bend[other] else _NODE
                total += edge_weight * place[other]
                weight += edge_weight
        desired.append((total / weight if weight else place[node]) - at)
        weights.append(weight or _ALONE)
    for node, at, found in zip(layer, needed, isotonic(desired, weights), strict=True):
        place[node] = at + found


def isotonic(target: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the nondecreasing sequence nearest to `target`, by weighted least squares."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, count
    for value, weight in zip(target, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] >= pool[0]:
            mean, pool_weight, count = pools.pop()
            total_weight = pool_weight + pool[1]
            pool = (
                (mean * pool_weight + pool[0] * pool[1]) / total_weight,
                total_weight,
                count + pool[2],
            )
        pools.append(pool)
    return [mean for mean, _, count in pools for _ in range(count)]
