"""Layered drawings of graphs as arrays: positions of nodes, lines of edges, and these as pixels.

Every edge points one way, so the inputs of an operator come before it. rustworkx (Apache-2.0) finds
cycles, connected parts and layers. The order in the layers and the positions come from `ordered`
and `placed`, because no available layout library handles every graph in bounded time: fast-sugiyama
0.5.3 crashes on a self loop and never ends on some cycles, and graphlay 0.3.1 takes 70 s for 20
operators with 180 consumers. Here 200 nodes with 1,000 edges take at most some tenths of a second.

The order is found by the standard method (Sugiyama): layer by layer, forward and backward, every
node moves to the mean position of its neighbors, and the order with the fewest crossings is kept.
Then adjacent nodes are swapped if that saves crossings. The number of rounds depends only on the
size of the graph, never on the clock, so a graph is always drawn the same way.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, sqrt

import numpy as np

from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass

# This many edges in all sweeps take about 50 ms, whatever the graph.
_WORK = 20_000
_MOST_SWEEPS, _LEAST_SWEEPS = 16, 2
_MOST_SWAP_ROUNDS = 6
# Two nodes with more edge pairs to compare than this are not swapped.
_MOST_COMPARED = 2_000


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


# Bends keep long edges clear of nodes in between; beyond this many, the longest edges get none.
_MOST_BENDS = 2_500
_BEND_BREADTH = 4.0
_PART_GAP = 1.6  # between parts that no edge connects, as a multiple of the gap in a layer
_WIDEST = 2.2  # maximum factor of the gap between two layers if edges are steep
# A long chain needs many rounds to become straight; a large graph cannot afford them.
_ROUNDS, _FEWER_ROUNDS, _LARGE = 14, 6, 1_000
# Straightness matters more than length for edges through several layers: bends weigh more.
_BEND, _NODE = 8.0, 1.0
# Weight of a node without neighbors on the current side: it stays about where it is.
_ALONE = 0.05

Links = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class GraphLayout:
    """The layout of a graph.

    x, y (n): the centers of the nodes. points (p, 2): the lines of the edges, from the producer's
    side to the consumer's; points[ptr[i] : ptr[i + 1]] is edge i, empty for a self loop. width,
    height: of the whole drawing; the top left corner is (0, 0).
    """

    x: Floats
    y: Floats
    points: Floats
    ptr: Ints
    width: float
    height: float


def layered(
    widths: Floats,
    heights: Floats,
    producer: Ints,
    consumer: Ints,
    number: Ints,
    *,
    across: bool,
    layer_gap: float = 44.0,
    node_gap: float = 14.0,
) -> GraphLayout:
    """Lay out a graph of n nodes and m edges.

    widths, heights (n): px. producer, consumer (m): positions of nodes. number (n): the preferred
    order of nodes; in a cycle, edges against that order are drawn backward. across: producers are
    left of consumers, else above them. layer_gap, node_gap: px between layers, and within a layer.
    """
    thick, breadth = (widths, heights) if across else (heights, widths)
    ends = list(zip(producer.tolist(), consumer.tolist(), strict=True))
    graph = _Graph(len(widths), ends, number.tolist())
    u, v = np.zeros(len(widths)), np.zeros(len(widths))
    lines: list[list[tuple[float, float]]] = [[] for _ in ends]
    top = 0.0
    for part in graph.parts:
        drawn = _Part(graph, part, thick, breadth, layer_gap, node_gap)
        shift = top - drawn.low
        for node, (along, offset) in drawn.places.items():
            u[node], v[node] = along, offset + shift
        for edge, line in drawn.lines.items():
            lines[edge] = [(along, offset + shift) for along, offset in line]
        top += drawn.high - drawn.low + _PART_GAP * node_gap
    top = _grid(graph.alone, u, v, thick, breadth, top, node_gap)
    ptr = np.concatenate([[0], np.cumsum([len(line) for line in lines], dtype=np.int64)])
    points = np.array([p for line in lines for p in line], np.float64).reshape(-1, 2)
    far, wide = _extent(u, thick), _extent(v, breadth)
    if across:
        return GraphLayout(u, v, points, ptr, far, wide)
    return GraphLayout(v, u, points[:, ::-1], ptr, wide, far)


def _extent(middle: Floats, size: Floats) -> float:
    return float((middle + size / 2).max()) if len(middle) else 0.0


def _grid(
    nodes: Sequence[int],
    u: Floats,
    v: Floats,
    thick: Floats,
    breadth: Floats,
    top: float,
    gap: float,
) -> float:
    """Place nodes without edges in rows below the rest."""
    if not nodes:
        return top
    wide, high = float(thick[list(nodes)].max()) + gap, float(breadth[list(nodes)].max()) + gap
    most = max(_extent(u, np.zeros(len(u))), sqrt(len(nodes) * wide * high) * 1.5)
    columns = max(min(ceil(most / wide), len(nodes)), 1)
    for index, node in enumerate(nodes):
        row, column = divmod(index, columns)
        u[node] = column * wide + thick[node] / 2
        v[node] = top + row * high + breadth[node] / 2
    return top + ceil(len(nodes) / columns) * high


class _Graph:
    """The nodes in layers, and the connected parts, largest first."""

    def __init__(self, count: int, ends: list[tuple[int, int]], number: list[int]) -> None:
        import rustworkx as rx  # takes 4 ms, so only imported for a graph

        self.number = number
        pairs = sorted({pair for pair in ends if pair[0] != pair[1]})
        graph = rx.PyDiGraph()
        graph.add_nodes_from(range(count))
        graph.add_edges_from_no_data(pairs)
        cycle = [0] * count
        for i, members in enumerate(rx.strongly_connected_components(graph)):
            for node in members:
                cycle[node] = i
        # Edges along the layers, each with its original positions and whether they are reversed.
        self.edges: dict[tuple[int, int], list[tuple[int, bool]]] = {}
        for i, (a, b) in enumerate(ends):
            if a != b:
                is_back = cycle[a] == cycle[b] and self._first(a) > self._first(b)
                pair = (b, a) if is_back else (a, b)
                self.edges.setdefault(pair, []).append((i, is_back))
        straight = sorted(self.edges)
        acyclic = rx.PyDiGraph()
        acyclic.add_nodes_from(range(count))
        acyclic.add_edges_from_no_data(straight)
        self.layer = [0] * count
        order: list[int] = []
        for i, generation in enumerate(rx.topological_generations(acyclic)):
            for node in generation:
                self.layer[node] = i
                order.append(node)
        self._pull(straight, order)
        parts = [sorted(part, key=self._first) for part in rx.weakly_connected_components(graph)]
        parts.sort(key=lambda part: (-len(part), self._first(part[0])))
        self.parts = [part for part in parts if len(part) > 1]
        self.alone = [part[0] for part in parts if len(part) == 1]

    def _first(self, node: int) -> tuple[int, int]:
        return self.number[node], node

    def _pull(self, edges: list[tuple[int, int]], order: list[int]) -> None:
        """Move nodes with more consumers than producers next to their consumers: shorter edges."""
        after: list[list[int]] = [[] for _ in self.layer]
        before = [0] * len(self.layer)
        for a, b in edges:
            after[a].append(b)
            before[b] += 1
        for node in reversed(order):
            if after[node] and before[node] < len(after[node]):
                self.layer[node] = min(self.layer[other] for other in after[node]) - 1


class _Part:
    """The drawing of one connected part; u is across the layers, v along them."""

    def __init__(
        self,
        graph: _Graph,
        part: list[int],
        thick: Floats,
        breadth: Floats,
        layer_gap: float,
        node_gap: float,
    ) -> None:
        self._graph, self._real = graph, part
        local = {node: index for index, node in enumerate(part)}
        first = min(graph.layer[node] for node in part)
        self._layer = [graph.layer[node] - first for node in part]
        self._breadth = [float(breadth[node]) for node in part]
        self._chains: dict[tuple[int, int], list[int]] = {}
        pairs = [pair for pair in graph.edges if pair[0] in local]
        pairs.sort(key=lambda pair: (graph.layer[pair[1]] - graph.layer[pair[0]], pair))
        for a, b in pairs:
            self._chains[a, b] = self._chain(local[a], local[b])
        count = len(self._layer)
        before: list[list[int]] = [[] for _ in range(count)]
        after: list[list[int]] = [[] for _ in range(count)]
        for chain in self._chains.values():
            for source, other in pairwise(chain):
                if self._layer[other] == self._layer[source] + 1:
                    after[source].append(other)
                    before[other].append(source)
        layers: list[list[int]] = [[] for _ in range(max(self._layer) + 1)]
        for node, layer in enumerate(self._layer):
            layers[layer].append(node)
        layers = ordered(layers, before, after)
        is_bend = [node >= len(part) for node in range(count)]
        self._v = placed(layers, before, after, self._breadth, node_gap, is_bend)
        self._thick = [float(thick[node]) for node in part]
        self._start, self._end = self._columns(layers, after, layer_gap)
        half = [
            (center - size / 2, center + size / 2)
            for center, size in zip(self._v, self._breadth, strict=True)
        ]
        self.low, self.high = min(low for low, _ in half), max(high for _, high in half)
        self.places = {
            node: (
                (self._start[self._layer[index]] + self._end[self._layer[index]]) / 2,
                self._v[index],
            )
            for index, node in enumerate(part)
        }
        self.lines = self._lines()

    def _chain(self, node: int, other: int) -> list[int]:
        """Return the nodes of an edge: its ends, and a bend per layer between, up to the limit."""
        first, last = self._layer[node], self._layer[other]
        if len(self._layer) - len(self._real) + last - first - 1 > _MOST_BENDS:
            return [node, other]
        bends = range(len(self._layer), len(self._layer) + last - first - 1)
        self._layer.extend(range(first + 1, last))
        self._breadth.extend([_BEND_BREADTH] * len(bends))
        return [node, *bends, other]

    def _columns(
        self, layers: list[list[int]], after: list[list[int]], gap: float
    ) -> tuple[list[float], list[float]]:
        """Return the start and end of each layer; gaps with steep edges are wider."""
        start, end, start_of_layer = [], [], 0.0
        for layer in layers:
            start.append(start_of_layer)
            start_of_layer += max(
                (self._thick[n] for n in layer if n < len(self._real)), default=0.0
            )
            end.append(start_of_layer)
            steep = max((abs(self._v[n] - self._v[o]) for n in layer for o in after[n]), default=0)
            start_of_layer += gap * min(1.0 + steep / (8 * gap), _WIDEST)
        return start, end

    def _lines(self) -> dict[int, list[tuple[float, float]]]:
        """Return the line of every edge, by its position."""
        leaving: dict[int, list[tuple[float, tuple[int, int]]]] = {}
        coming: dict[int, list[tuple[float, tuple[int, int]]]] = {}
        for pair, chain in self._chains.items():
            leaving.setdefault(chain[0], []).append((self._v[chain[1]], pair))
            coming.setdefault(chain[-1], []).append((self._v[chain[-2]], pair))
        out, into = self._ports(leaving), self._ports(coming)
        points: dict[int, list[tuple[float, float]]] = {}
        for pair, chain in self._chains.items():
            line = [(self._side(chain[0], 1), out[pair])]
            for bend in chain[1:-1]:
                layer = self._layer[bend]
                line += [(self._start[layer], self._v[bend]), (self._end[layer], self._v[bend])]
            line.append((self._side(chain[-1], -1), into[pair]))
            for edge, is_back in self._graph.edges[pair]:
                points[edge] = line[::-1] if is_back else line
        return points

    def _side(self, node: int, way: int) -> float:
        """Return the side of a node where edges leave (1) or arrive (-1)."""
        layer = self._layer[node]
        return (self._start[layer] + self._end[layer] + way * self._thick[node]) / 2

    def _ports(
        self, ends: dict[int, list[tuple[float, tuple[int, int]]]]
    ) -> dict[tuple[int, int], float]:
        """Return where edges attach to the side of a node: spread out, in the order of ends."""
        ports = {}
        for node, lines in ends.items():
            step = min(8.0, 0.6 * self._breadth[node] / len(lines))
            for index, (_, pair) in enumerate(sorted(lines)):
                ports[pair] = self._v[node] + (index - (len(lines) - 1) / 2) * step
        return ports


# Positions of nodes along their layer: near their neighbors, in order, without overlap.
#
# Each layer is a separate problem with an exact solution: of all positions that keep order and
# spacing, those with the least squared distance to the desired positions. After subtracting the
# required space, the solution is the nearest nondecreasing sequence: isotonic regression, solved by
# pooling adjacent violators.


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
        for node, position in zip(layer, needed, strict=True):
            place[node] = position - middle
    rounds = _ROUNDS if len(breadth) <= _LARGE else _FEWER_ROUNDS
    for number in range(rounds):
        ways: tuple[Links, ...] = (before,) if number % 2 == 0 else (after,)
        if number == rounds - 1:
            ways = before, after
        order = range(len(layers)) if number % 2 == 0 else range(len(layers) - 1, -1, -1)
        for position in order:
            _place(layers[position], room[position], ways, place, is_bend)
    return place


def _rooms(layer: Sequence[int], breadth: Sequence[float], gap: float) -> list[float]:
    """Return the positions of a layer's nodes if they are packed as tightly as allowed."""
    rooms, position = [], 0.0
    for number, node in enumerate(layer):
        if number:
            position += (breadth[layer[number - 1]] + breadth[node]) / 2 + gap
        rooms.append(position)
    return rooms


def _place(
    layer: Sequence[int],
    needed: Sequence[float],
    ways: tuple[Links, ...],
    place: list[float],
    is_bend: Sequence[bool],
) -> None:
    desired, weights = [], []
    for node, need in zip(layer, needed, strict=True):
        total = weight = 0.0
        for links in ways:
            for other in links[node]:
                edge_weight = _BEND if is_bend[node] and is_bend[other] else _NODE
                total += edge_weight * place[other]
                weight += edge_weight
        desired.append((total / weight if weight else place[node]) - need)
        weights.append(weight or _ALONE)
    for node, need, fitted in zip(layer, needed, isotonic(desired, weights), strict=True):
        place[node] = need + fitted


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


def line_pixels(start: Floats, end: Floats, columns: int, lines: int) -> Bools:
    """Return which pixels (lines, columns) are on any of n lines of 1 px.

    start, end (n, 2): x and y in pixels, inside the canvas or not.
    """
    mask = np.zeros((lines, columns), np.bool_)
    if not columns or not lines or not len(start):
        return mask
    start, end = _clipped(start, end, columns, lines)
    cell = np.clip(np.floor(start).astype(np.int64), 0, [columns - 1, lines - 1])
    other = np.clip(np.floor(end).astype(np.int64), 0, [columns - 1, lines - 1])
    upright, flat = cell[:, 0] == other[:, 0], cell[:, 1] == other[:, 1]
    low, high = np.minimum(cell, other), np.maximum(cell, other)
    mask |= _runs(low[upright, 0], low[upright, 1], high[upright, 1], columns, lines)
    flat &= ~upright
    mask |= _runs(low[flat, 1], low[flat, 0], high[flat, 0], lines, columns).T
    steep = ~upright & ~flat
    way = other[steep] - cell[steep]
    steps = np.abs(way).max(axis=1, initial=0)
    of = np.repeat(np.arange(len(steps)), steps + 1)
    number = np.arange(len(of)) - np.repeat(np.cumsum(steps + 1) - steps - 1, steps + 1)
    cells = cell[steep][of] + np.rint(way[of] * (number / steps[of])[:, None]).astype(np.int64)
    mask[cells[:, 1], cells[:, 0]] = True
    return mask


def _runs(column: Ints, low: Ints, high: Ints, columns: int, lines: int) -> Bools:
    """Return which pixels (lines, columns) are in runs from `low` to `high` in columns `column`."""
    change = np.zeros((lines + 1, columns), np.int16)
    cells = change.reshape(-1)  # with one index, `add.at` is five times as fast as with two
    np.add.at(cells, low * columns + column, np.int16(1))
    np.add.at(cells, (high + 1) * columns + column, np.int16(-1))
    for line in range(1, lines):  # whole lines: three times as fast as `cumsum`
        change[line] += change[line - 1]
    mask: Bools = change[:-1] != 0
    return mask


def _clipped(start: Floats, end: Floats, columns: int, lines: int) -> tuple[Floats, Floats]:
    """Return the parts of lines that are on the canvas (Liang-Barsky)."""
    way = end - start
    first, last = np.zeros(len(start)), np.ones(len(start))
    is_seen = np.ones(len(start), np.bool_)
    for axis, size in ((0, columns), (1, lines)):
        along, across = way[:, axis], start[:, axis]
        still = along == 0
        is_seen &= ~still | ((across >= 0) & (across < size))
        step = np.where(still, 1.0, along)
        entry, other = -across / step, (size - 1e-6 - across) / step
        low, high = np.minimum(entry, other), np.maximum(entry, other)
        first = np.where(still, first, np.maximum(first, low))
        last = np.where(still, last, np.minimum(last, high))
    is_seen &= first <= last
    start, way, first, last = start[is_seen], way[is_seen], first[is_seen], last[is_seen]
    return start + way * first[:, None], start + way * last[:, None]
