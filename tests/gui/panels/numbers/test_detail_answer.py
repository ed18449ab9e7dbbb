"""The detail of a row: its plane and histograms, or why there are none."""

import numpy as np
import pytest

from tests.builders.logged_runs import LoggedRun, floats
from viewer.analysis.numbers.tensor_summary import Shown
from viewer.gui.panels.numbers.contents import DetailQuestion, detail_of
from viewer.gui.session.feeds.logged_numbers import (
    MeasuredNumbers,
    NumbersQuestion,
    logged_numbers,
    measure,
)
from viewer.gui.session.feeds.references import Reference
from viewer.workspace.workspace import Workspace


@pytest.fixture
def detail(tmp_path):
    """The detail of a value and its reference, None for none."""

    def make(a, b=None, shown=Shown.DIFFERENCE, plane=None):
        workspace = Workspace()
        for name, values in (("a", a), ("b", b)):
            if values is not None:
                run = LoggedRun()
                run.inference(("relu.out", [values]))
                workspace.open(run.write(tmp_path, name)[0])
        tables = [workspace.links(trace) for trace in workspace.traces]
        other = tables[1] if b is not None else None
        reference = None if other is None else Reference(other.trace.path)
        found = measure(
            MeasuredNumbers(logged_numbers(NumbersQuestion(tables[0], None, reference, other)))
        )
        figures = found.figures[0]
        return detail_of(
            DetailQuestion(found.numbers.rows[0], shown, plane, figures.summary, figures.gap)
        )

    return make


def test_the_plane_with_the_largest_error_comes_first(detail):
    a = np.zeros((1, 3, 4, 5), np.float32)
    b = a.copy()
    b[0, 2, 1, 3] = 1.0
    found = detail(a, b)
    assert found.plane.plane == 2
    assert found.largest == 2 * 20 + 8
    assert found.plane.cell_of(found.largest) == (1, 3)
    assert detail(a, b, plane=0).plane.plane == 0
    assert detail(a, b, plane=99).plane.plane == 2, "there are three"


def test_histograms_have_one_range(detail):
    found = detail(floats(0, 1, 2), floats(1, 2, 4))
    counts = found.counted.histograms
    assert (counts.low, counts.high) == (0.0, 4.0)
    assert (counts.a.sum(), counts.b.sum()) == (3, 3)


def test_without_a_reference_values_are_shown(detail):
    found = detail(floats(1, -2))
    assert found.plane.shown is Shown.A
    assert found.plane.values.tolist() == [[1.0, -2.0]]
    assert not len(found.counted.histograms.b)


def test_another_shape_is_said_and_own_values_are_shown(detail):
    found = detail(floats(1, 2), floats(1, 2, 3))
    assert found.note == "the shapes differ"
    assert found.plane.shown is Shown.A


def test_a_tensor_without_values_and_one_without_numbers(detail):
    assert detail(np.empty((0, 3), np.float32)).fault == "The tensor has no values"
    found = detail(floats(np.nan, np.inf))
    assert found.counted.histograms is None
    assert (found.counted.summary.nan, found.counted.summary.inf) == (1, 1)
    assert found.plane is not None
