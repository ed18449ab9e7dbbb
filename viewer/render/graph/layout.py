"""The layout of a graph: positions of nodes and lines of edges in a layered drawing, as arrays.

Every edge points one way, left to right or top to bottom, so the inputs of an operator come before
it. rustworkx (Apache-2.0) finds cycles, connected parts and layers. The order in the layers and the
positions come from `viewer.render.graph.layer_order` and `placed`, because no available layout
library handles every graph in bounded time: fast-sugiyama 0.5.3 crashes on a self loop and never
ends on some cycles, and graphlay 0.3.1 takes 70 s for 20 operators with 180 consumers. Here 200
nodes with 1,000 edges take at most some tenths of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt

import numpy as np

from viewer.arrays import Floats, Ints
from viewer.render.graph.layer_order import ordered

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
