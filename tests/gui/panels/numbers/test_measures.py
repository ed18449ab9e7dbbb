"""The bars of a measure, and their axis."""

import numpy as np
import pytest

from tests.builders.logged_runs import LoggedRun, floats
from viewer.gui.panels.numbers.contents import (
    DISTANCE,
    LARGEST,
    BarKind,
    Measure,
    bars_of,
    power_text,
)
from viewer.gui.session.feeds.logged_numbers import (
    MeasuredNumbers,
    NumbersQuestion,
    logged_numbers,
    measure,
)
from viewer.gui.session.feeds.references import Reference
from viewer.workspace.workspace import Workspace


@pytest.fixture
def of(tmp_path):
    """The figures of a run and its reference: the values of each call in both."""

    def make(*pairs, with_reference=True):
        workspace = Workspace()
        for side, file in enumerate(("a", "b")):
            run = LoggedRun()
            run.inference(*(("relu.out", [pair[side]]) for pair in pairs))
            workspace.open(run.write(tmp_path, file)[0])
        a, b = (workspace.links(trace) for trace in workspace.traces)
        reference = Reference(b.trace.path) if with_reference else None
        question = NumbersQuestion(a, None, reference, b if with_reference else None)
        return measure(MeasuredNumbers(logged_numbers(question)))

    return make


def test_an_error_is_a_bar_on_a_logarithmic_axis(of):
    bars = bars_of(of((floats(1, 1.0625), floats(1, 1)), (floats(2), floats(1))), Measure.MAX)
    assert bars.kind.tolist() == [BarKind.MEASURED] * 2
    assert bars.top == pytest.approx([np.log10(0.0625), 0])
    assert [text for _, text in bars.ticks] == ["10⁻²", "10⁻¹", "1"]
    assert bars.low < -2, "the smallest bar is visible, too"
    assert bars.rises
    assert bars.most == 1


def test_snr_is_in_db_and_lower_is_worse(of):
    bars = bars_of(of((floats(1.1), floats(1)), (floats(1.01), floats(1))), Measure.SNR)
    assert bars.top == pytest.approx([20, 40], abs=0.1)
    assert not bars.rises
    assert bars.badness[0] > bars.badness[1]


def test_cosine_is_shown_by_its_distance_from_1(of):
    bars = bars_of(of((floats(1, 0), floats(1, 1))), Measure.COSINE)
    assert bars.title == DISTANCE
    assert bars.top == pytest.approx([np.log10(1 - np.sqrt(0.5))], abs=1e-6)


def test_equal_odd_and_not_compared_values_have_their_own_marks(of):
    found = of(
        (floats(1), floats(1)),
        (floats(np.nan), floats(1)),
        (floats(1, 2), floats(1, 2, 3)),
        (floats(2), floats(1)),
    )
    for one in Measure:
        bars = bars_of(found, one)
        assert bars.kind.tolist()[:3] == [BarKind.EQUAL, BarKind.ODD, BarKind.PENDING]
    assert bars.bar_of(3) == 3
    assert bars.bar_of(9) == -1


def test_without_a_reference_bars_are_the_largest_values(of):
    found = of((floats(-100, 1), floats(1)), (floats(0), floats(1)), with_reference=False)
    bars = bars_of(found, Measure.SNR)
    assert bars.title == LARGEST
    assert bars.kind.tolist() == [BarKind.MEASURED, BarKind.EQUAL]
    assert bars.top[0] == 2.0


def test_what_is_not_read_yet_has_no_bar(of):
    found = of((floats(2), floats(1)), (floats(2), floats(1)))
    bars = bars_of(MeasuredNumbers(found.numbers, found.figures[:1]), Measure.MSE)
    assert bars.kind.tolist() == [BarKind.MEASURED, BarKind.PENDING]


def test_powers_of_ten():
    assert [power_text(n) for n in (-15, -1, 0, 3)] == ["10⁻¹⁵", "10⁻¹", "1", "10³"]
