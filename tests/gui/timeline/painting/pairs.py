"""Pairs of a comparison on a scene of one trace, which is enough to paint them."""

from types import SimpleNamespace

import numpy as np

from tests.builders.call_traces import trace_of
from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import Scene
from viewer.view.open_comparison import ChangedPairs, PairedSpans


def scene_of_pairs():
    """1 px per ns of a trace of 400 ns; both arms are on this clock."""
    session = Session()
    scene = Scene(Drawings(session))
    session.add([trace_of(("t", "run", 0, 400), ("t", "conv", 100, 200), ("t", "add", 300, 301))])
    session.set_range(0, 400)
    return scene


def show(scene, a, b, *, rows=None, slower=None, named=None, at_row=1):
    """Let spans of A be connected with spans of B; every row takes 5 µs longer."""
    count = len(a)
    arms = [
        PairedSpans(0, *np.array(arm).T.copy(), np.full(count, at_row)) for arm in (a, b)
    ]  # fmt: skip
    rows = np.arange(count) if rows is None else np.array(rows)
    longest = np.maximum(*(arm.end - arm.start for arm in arms)).astype(float)
    pairs = ChangedPairs(
        rows,
        np.array([True] * count if slower is None else slower),
        np.array([True] * count if named is None else named),
        longest,
        tuple(arms),
    )
    one = SimpleNamespace(verdict=Verdict.SLOWER, change_ns=5_000.0)
    comparison = SimpleNamespace(rows=[(None, one)] * (int(rows.max()) + 1))
    scene.drawings.compared_marks = SimpleNamespace(
        answer=SimpleNamespace(pairs=pairs, of={}), comparison=comparison
    )
