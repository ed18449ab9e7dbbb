"""The layered drawing of graphs: nothing overlaps, edges go one way, odd graphs end in time."""

import random
import time

import numpy as np
import pytest

from viewer.render.graph.layout import crossings, isotonic, layered, ordered

WIDE, HIGH = 190.0, 52.0


def draw(count, edges, *, across=True, number=None):
    return layered(
        np.full(count, WIDE), np.full(count, HIGH),
        np.array([a for a, _ in edges], np.int64), np.array([b for _, b in edges], np.int64),
        np.arange(count) if number is None else number, across=across,
    )  # fmt: skip


def some_dag(count, seed, reach=6.0):
    dice, edges = random.Random(seed), set()
    for i in range(1, count):
        for _ in range(dice.choice((1, 1, 2, 3))):
            edges.add((max(0, i - 1 - int(dice.expovariate(1 / reach))), i))
    return sorted(edges)


def line(drawn, edge):
    return drawn.points[drawn.ptr[edge] : drawn.ptr[edge + 1]]


def assert_apart(drawn):
    """No two nodes overlap, and all lie inside the drawing."""
    x, y = drawn.x, drawn.y
    beside = np.abs(x[:, None] - x) >= WIDE - 1e-6
    below = np.abs(y[:, None] - y) >= HIGH - 1e-6
    assert (beside | below | np.eye(len(x), dtype=bool)).all()
    assert ((x >= WIDE / 2 - 1e-6) & (x <= drawn.width - WIDE / 2 + 1e-6)).all()
    assert ((y >= HIGH / 2 - 1e-6) & (y <= drawn.height - HIGH / 2 + 1e-6)).all()


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize(("count", "dice"), [(2, 0), (9, 1), (40, 2), (200, 3)])
def test_nodes_lie_apart_and_edges_go_one_way(count, dice, across):
    edges = some_dag(count, dice)
    drawn = draw(count, edges, across=across)
    assert_apart(drawn)
    along = drawn.x if across else drawn.y
    for number, (a, b) in enumerate(edges):
        assert along[a] < along[b]
        points = line(drawn, number)[:, 0 if across else 1]
        assert (np.diff(points) >= -1e-9).all()


def test_lines_run_from_the_side_of_a_node_to_the_side_of_the_next():
    drawn = draw(3, [(0, 1), (1, 2), (0, 2)])
    for number, (a, b) in enumerate([(0, 1), (1, 2), (0, 2)]):
        (x0, y0), (x1, y1) = line(drawn, number)[[0, -1]]
        assert x0 == pytest.approx(drawn.x[a] + WIDE / 2)
        assert x1 == pytest.approx(drawn.x[b] - WIDE / 2)
        assert abs(y0 - drawn.y[a]) <= HIGH / 2
        assert abs(y1 - drawn.y[b]) <= HIGH / 2


def test_a_line_over_a_layer_keeps_clear_of_its_nodes():
    """0 → 1 → 2 → 3 and 0 → 3: the long line runs beside 1 and 2, not through them."""
    edges = [(0, 1), (1, 2), (2, 3), (0, 3)]
    drawn = draw(4, edges)
    for x, y in line(drawn, 3)[1:-1]:
        for node in (1, 2):
            assert abs(x - drawn.x[node]) > WIDE / 2 or abs(y - drawn.y[node]) > HIGH / 2


def test_a_chain_is_straight():
    drawn = draw(6, [(i, i + 1) for i in range(5)])
    assert np.ptp(drawn.y) == pytest.approx(0)
    assert np.ptp(drawn.points[:, 1]) == pytest.approx(0)


def test_what_feeds_only_a_late_operator_stands_right_before_it():
    """A constant that the end of a chain takes is not drawn at its begin."""
    drawn = draw(5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert drawn.x[4] == pytest.approx(drawn.x[2])


def test_the_same_graph_is_drawn_the_same():
    edges = some_dag(120, 5)
    one, other = draw(120, edges), draw(120, list(edges))
    assert np.array_equal(one.x, other.x)
    assert np.array_equal(one.y, other.y)
    assert np.array_equal(one.points, other.points)


def test_crossings_that_can_be_avoided_are():
    """Two layers of five, joined each with the one that stands opposite in reverse order."""
    edges = [(i, 9 - i) for i in range(5)]
    links = [[b for a, b in edges if a == n] for n in range(10)]
    back = [[a for a, b in edges if b == n] for n in range(10)]
    layers = [list(range(5)), list(range(5, 10))]
    assert crossings(layers, links) == 10
    assert crossings(ordered(layers, back, links), links) == 0


@pytest.mark.parametrize("seed", range(5))
def test_crossings_are_counted_as_lines_cross(seed):
    dice = random.Random(seed)
    links = [sorted(dice.sample(range(8, 16), dice.randrange(5))) for _ in range(8)]
    links += [[] for _ in range(8)]
    pairs = [(a, b) for a in range(8) for b in links[a]]
    by_hand = sum(a < c and b > d for a, b in pairs for c, d in pairs)
    layers = [list(range(8)), list(range(8, 16))]
    assert crossings(layers, links) == by_hand


def test_the_nearest_sequence_that_does_not_fall():
    assert isotonic([1.0, 2.0, 3.0], [1, 1, 1]) == [1.0, 2.0, 3.0]
    assert isotonic([3.0, 1.0], [1, 1]) == [2.0, 2.0]
    assert isotonic([3.0, 1.0], [3, 1]) == [2.5, 2.5]
    assert isotonic([0.0, 4.0, 2.0, 9.0], [1, 1, 1, 1]) == [0.0, 3.0, 3.0, 9.0]


def test_a_cycle_is_drawn_with_the_edge_back_running_back():
    drawn = draw(3, [(0, 1), (1, 2), (2, 0)])
    assert drawn.x[0] < drawn.x[1] < drawn.x[2]
    assert line(drawn, 2)[0, 0] > line(drawn, 2)[-1, 0]  # from 2 to 0, right to left
    turned = draw(3, [(0, 1), (1, 2), (2, 0)], number=np.array([2, 0, 1]))
    assert turned.x[1] < turned.x[2] < turned.x[0]


ODD = {
    "nothing": (0, []),
    "one": (1, []),
    "apart": (200, []),
    "self loops": (3, [(0, 0), (1, 1), (1, 2)]),
    "one edge fifty times": (2, [(0, 1)] * 50),
    "both ways": (2, [(0, 1), (1, 0)]),
    "cycles": (5, [(0, 1), (0, 2), (0, 3), (1, 0), (1, 3), (2, 0), (2, 3), (3, 0), (4, 1), (4, 2)]),
    "all take one": (200, [(0, i) for i in range(1, 200)]),
    "one takes all": (200, [(i, 0) for i in range(1, 200)]),
    "chain and a skip to all": (
        200, [(i, i + 1) for i in range(199)] + [(0, i) for i in range(2, 200)],
    ),
    "twenty that fifty take": (70, [(a, b) for a in range(20) for b in range(20, 70)]),
    "everything": (45, [(a, b) for b in range(45) for a in range(b)]),
    "anything": (
        200, [(random.Random(i).randrange(200), random.Random(-i - 1).randrange(200))
              for i in range(1000)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_graphs_are_drawn_in_time(name):
    count, edges = ODD[name]
    began = time.process_time()
    drawn = draw(count, edges)
    assert time.process_time() - began < 1.0  # the slowest takes 0.2 s here
    assert_apart(drawn) if count else None
    assert len(drawn.ptr) == len(edges) + 1
    lengths = np.diff(drawn.ptr)
    loops = np.array([a == b for a, b in edges], bool)
    assert (lengths[loops] == 0).all()
    assert (lengths[~loops] >= 2).all()
    assert np.isfinite(drawn.points).all()
