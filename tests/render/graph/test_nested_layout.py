"""The layout of nested groups: nothing overlaps, lines end where they should, shapes fit."""

from itertools import pairwise

import numpy as np
import pytest

from tests.builders.nested_program import calls_of, chain, nested_program
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.render.graph.model_tree import (
    group_edges,
    group_tree,
    operator_edges,
    shown_groups,
    shown_operators,
)
from viewer.render.graph.nested_layout import GroupSizes, NestedLayouter


def laid_out(program, calls=(), opened=None, layouter=None, **sizes):
    tree = group_tree(program, calls)
    opened = frozenset(np.flatnonzero(tree.is_group).tolist()) if opened is None else opened
    shown = shown_groups(tree, opened)
    edges = group_edges(shown, *operator_edges(dataflow_of(program)))
    return (layouter or NestedLayouter()).layout(shown, edges, GroupSizes(**sizes))


def blocks(count, parts="xxyyz"):
    places = [f"layers.{block}.{part}" for block in range(count) for part in parts]
    size = len(parts)
    skips = [(block * size, block * size + size - 1) for block in range(count)]
    return nested_program(places, [*chain(len(places)), *skips])


@pytest.mark.parametrize("count", [1, 4, 30])
def test_members_are_inside_of_their_group_and_apart(count):
    layout = laid_out(blocks(count), calls_of({1: (1, 2), 2: (6, 7, 8)} if count > 1 else {}))
    tree, rects = layout.shown.tree, layout.rects
    visible = np.flatnonzero(layout.shown.is_box | layout.shown.is_frame)
    for node in visible[1:].tolist():
        left, top, right, bottom = rects[node]
        around = rects[tree.parent[node]]
        assert around[0] < left < right < around[2]
        assert around[1] < top < bottom < around[3]
    for group in layout.shown.frames.tolist():
        members = [n for n in visible.tolist() if tree.parent[n] == group]
        for at, one in enumerate(members):
            for other in members[at + 1 :]:
                a, b = rects[one], rects[other]
                assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_lines_connect_the_sides_of_what_they_join():
    layout = laid_out(blocks(6))
    edges = layout.edges
    for edge in range(len(edges)):
        line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]]
        group, source, target = (int(c[edge]) for c in (edges.group, edges.source, edges.target))
        if source != group:
            assert line[0][1] == pytest.approx(layout.rects[source][3])
        if target != group:
            assert line[-1][1] == pytest.approx(layout.rects[target][1])
        inside = layout.rects[group]
        assert (line >= inside[:2] - 1).all()
        assert (line <= inside[2:] + 1).all()


def test_lines_from_outside_cross_no_member():
    places = ["", *(f"a.{part}" for part in "vwxyz"), ""]
    program = nested_program(places, [*chain(7), (0, 3), (0, 5), (2, 6), (1, 6)])
    layout = laid_out(program)
    boxes = layout.rects[layout.shown.boxes]
    edges = layout.edges
    for edge in np.flatnonzero((edges.source == edges.group) | (edges.target == edges.group)):
        line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]]
        for (x0, y0), (x1, y1) in pairwise(line):
            low, high = (min(x0, x1), min(y0, y1)), (max(x0, x1), max(y0, y1))
            crossed = (boxes[:, 0] < high[0] - 1) & (boxes[:, 2] > low[0] + 1) | (
                (boxes[:, 0] + 1 < low[0]) & (high[0] < boxes[:, 2] - 1)
            )
            crossed &= (boxes[:, 1] < high[1] - 1) & (boxes[:, 3] > low[1] + 1)
            assert not crossed.any()


@pytest.mark.parametrize("aspect", [0.5, 1.25, 3.2])
def test_a_long_chain_is_wrapped_to_the_shape_of_the_window(aspect):
    layout = laid_out(nested_program([""] * 48, chain(48)), aspect=aspect)
    assert 0.5 * aspect < layout.width / layout.height < 2 * aspect


def test_a_chain_in_the_only_group_of_a_model_is_wrapped_too():
    program = nested_program(["net.body"] * 48, chain(48))
    layout = laid_out(program, calls_of({0: tuple(range(48))}), aspect=1.6)
    assert 0.8 < layout.width / layout.height < 3.2


def test_closing_and_opening_a_group_again_gives_the_same_layout():
    program, layouter = blocks(5), NestedLayouter()
    first = laid_out(program, layouter=layouter)
    laid_out(program, opened=frozenset({1}), layouter=layouter)
    again = laid_out(program, layouter=layouter)
    assert (first.rects == again.rects).all()
    assert (first.points == again.points).all()


def test_cycles_and_operators_without_edges_are_laid_out():
    program = nested_program(["a", "b", "a", "c", "c", "d"], [(0, 1), (1, 2), (2, 3), (3, 2)])
    layout = laid_out(program)
    assert np.isfinite(layout.rects).all()
    assert np.isfinite(layout.points).all()


def test_a_program_of_one_operator():
    layout = laid_out(nested_program([""]))
    assert layout.width > 0
    assert len(layout.points) == 0


@pytest.mark.parametrize("across", [False, True])
def test_a_neighborhood_is_one_drawing_that_is_not_wrapped(across):
    program = nested_program([f"m{n}" for n in range(30)], [*chain(30), (3, 9)])
    tree = group_tree(program, ())
    shown = shown_operators(tree, np.arange(2, 28))
    edges = group_edges(shown, *operator_edges(dataflow_of(program)))
    layout = NestedLayouter().layout(shown, edges, GroupSizes(is_bare=True, across=across))
    low, high = layout.rects[shown.boxes][:, :2], layout.rects[shown.boxes][:, 2:]
    axis = 0 if across else 1
    assert (np.diff(low[:, axis]) > 0).all()
    assert (low >= GroupSizes().inset).all()
    assert (high <= [layout.width, layout.height]).all()
    for edge in range(len(edges)):
        line = layout.points[layout.ptr[edge] : layout.ptr[edge + 1]]
        assert line[0][axis] == pytest.approx(layout.rects[edges.source[edge], 2 + axis])
        assert line[-1][axis] == pytest.approx(layout.rects[edges.target[edge], axis])
