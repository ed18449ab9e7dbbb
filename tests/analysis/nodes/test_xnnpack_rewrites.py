"""Random graphs, rewritten by a copy of XNNPACK's rewrites: no event gets a wrong node."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.builders.xnnpack_graphs import xnnpack_graph
from tests.builders.xnnpack_runtime import Graph, Logged, logged_by, random_graph
from viewer.analysis.nodes.xnnpack_events import Alignment, align, may_have_logged
from viewer.program.executables import XnnpackNode

RELEASES = (2024, 2025, 2026)
REMOVABLE = ("Transpose", "Static Reshape", "Clamp", "Convert", "Copy", "Square", "Multiply",
             "Constant Pad", "Maximum", "Invalid")  # fmt: skip


def aligned(graph: Graph, logged: list[Logged]) -> tuple[Alignment, list[XnnpackNode]]:
    nodes, flow = xnnpack_graph(graph.described)
    return align([one.event for one in logged], nodes, flow), nodes


def wrong(found: Alignment, logged: list[Logged]) -> list[tuple[str, tuple[int, ...], object]]:
    """The events that have a node that they do not run."""
    return [
        (one.event, nodes, one.nodes)
        for one, nodes in zip(logged, found.nodes, strict=True)
        if not frozenset(nodes) <= one.nodes
    ]


def changed(random: Random, logged: list[Logged]) -> list[Logged]:
    """The same after rewrites that nobody knows: new operators, renamed and removed ones.

    What known rewrites may remove stays: then another explanation is as good as the truth.
    """
    logged = list(logged)
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(logged))
        match random.randrange(4):
            case 0:
                logged.insert(at, Logged(f"New Fusion (NC) #{at}", frozenset()))
            case 1:
                logged[at] = replace(logged[at], event=f"New Operator (NC) #{at}")
            case 2 if len(logged) > 1 and not logged[at].event.startswith(REMOVABLE):
                del logged[at]
            case _:
                logged[at : at + 2] = [Logged(f"New Fusion (NC) #{at}", frozenset())]
    return logged


def campaign(seeds: range) -> tuple[int, int]:
    """Check graphs; how many events there are, and how many are linked."""
    events = linked = 0
    for seed in seeds:
        random = Random(seed)
        graph = random_graph(random, random.randrange(1, 12))
        logged = logged_by(graph, release=random.choice(RELEASES))
        found, nodes = aligned(graph, logged)
        assert wrong(found, logged) == [], seed
        assert found.is_possible, seed
        assert may_have_logged(
            nodes, [one.event for one in logged], xnnpack_graph(graph.described)[1]
        )
        ambiguous = {why for why in found.reasons if why}
        assert all(why.endswith("may be one of several nodes") for why in ambiguous), seed
        events += len(logged)
        linked += sum(map(bool, found.nodes))
        other = changed(random, logged)
        assert wrong(aligned(graph, other)[0], other) == [], seed
    return events, linked


@pytest.mark.slow
def test_no_event_gets_a_wrong_node_and_nearly_all_get_theirs():
    events, linked = campaign(range(60))
    assert linked >= 0.998 * events


@pytest.mark.nightly
def test_no_event_of_many_graphs_gets_a_wrong_node():
    events, linked = campaign(range(1000, 5000))
    assert linked >= 0.998 * events


@pytest.mark.slow
def test_events_of_another_graph_are_of_another_program():
    refuted = 0
    for seed in range(60):
        random = Random(seed)
        graph, other = (random_graph(random, 6) for _ in range(2))
        found, _ = aligned(graph, logged_by(other))
        refuted += not found.is_possible
    assert refuted == 60
