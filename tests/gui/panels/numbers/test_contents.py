"""The rows and texts of the Numbers panel."""

import numpy as np
import pytest

from viewer.gui.panels.numbers.contents import (
    PENDING,
    Measure,
    conclusion_text,
    contents_of,
    figure_text,
    jump_text,
    row_colors,
    subtitle_text,
    times_text,
    tip_lines,
)
from viewer.gui.session.feeds.logged_numbers import (
    MeasuredNumbers,
    NumbersQuestion,
    logged_numbers,
    measure,
)
from viewer.gui.session.feeds.references import Reference
from viewer.model.times import plain_spaces
from viewer.render.palette import RAMP, SLAB
from viewer.workspace.workspace import Workspace


@pytest.fixture
def found(data):
    """The recorded pair, with portable kernels as the reference."""
    workspace = Workspace()
    for name in ("xnnpack.etdp", "xnnpack.etrecord", "portable.etdp", "portable.etrecord"):
        workspace.open(str(data / "numbers" / name))
    a, b = (workspace.links(trace) for trace in workspace.traces)
    question = NumbersQuestion(a, None, Reference(b.trace.path), b)
    return measure(MeasuredNumbers(logged_numbers(question)))


@pytest.fixture
def alone(found):
    """The same profile without a reference."""
    question = NumbersQuestion(found.numbers.question.table)
    return measure(MeasuredNumbers(logged_numbers(question)))


def texts(contents, row):
    own = contents.rows[row]
    cells = zip(contents.headings[1:], own.texts[1:], strict=True)
    return own.name, {heading.title: plain_spaces(text) for heading, text in cells}


def test_values_have_their_range_and_counts(alone):
    name, cells = texts(contents_of(alone, Measure.SNR), 2)
    assert name == "norm · layer_norm ([0])"
    assert cells["Tensor"] == "f32 1 × 16 × 8"
    assert (cells["Min"], cells["Max"]) == ("−1.132", "2.642")
    assert (cells["NaN"], cells["Inf"]) == ("0", "0")


def test_the_chosen_measure_comes_first(found):
    contents = contents_of(found, Measure.MSE)
    assert [heading.title for heading in contents.headings[:4]] == [
        "Operator", "MSE", "Mean", "Max",
    ]  # fmt: skip
    _, cells = texts(contents, 2)
    assert cells["SNR, dB"] == "135.3"
    assert cells["Grows"] == "1.7 ×"
    assert cells["At"] == "0, 9, 2"
    assert cells["Max"] == "2.642"


def test_arguments_have_no_measure_and_say_what_they_are(found):
    name, cells = texts(contents_of(found, Measure.SNR), 0)
    assert name == "XnnpackBackend · 4 ops (argument)"
    assert cells["SNR, dB"] == "–"


def test_what_is_not_read_yet_is_marked(found):
    contents = contents_of(MeasuredNumbers(found.numbers), Measure.SNR)
    assert texts(contents, 1)[1]["SNR, dB"] == PENDING
    assert "0 of 15 read…" in plain_spaces(subtitle_text(MeasuredNumbers(found.numbers)))


def test_the_texts_say_where_the_error_starts(found, alone):
    assert subtitle_text(found) == "11 of 15 logged values compared"
    assert plain_spaces(conclusion_text(found)) == (
        "The error starts at XnnpackBackend · 4 ops: 1.021e−07 of the signal"
    )
    assert jump_text(found) == "XnnpackBackend · 4 ops · error starts"
    assert conclusion_text(alone) == ""


def test_a_tip_has_all_measures(found):
    lines = [plain_spaces(line) for line in tip_lines(found, 2)]
    assert lines[:2] == ["norm · layer_norm [0]", "f32 1 × 16 × 8"]
    assert lines[2].startswith("SNR 135.3 dB · cosine 1.000000 · max error 5.96e−07 at 0, 9, 2")
    assert lines[3].startswith("MSE 2.975e−14")


def test_rows_have_the_colors_of_their_operators(found):
    colors = row_colors(found.numbers, None)
    assert colors[1] == SLAB, "four operators share the call"
    assert len(set(colors[2:5].tolist())) == 1
    by_error = np.full(len(found.numbers.program.operators), RAMP + 2, np.uint8)
    assert row_colors(found.numbers, by_error)[1] == RAMP + 2


def test_numbers_are_short():
    assert figure_text(-1.23456e-7) == "−1.235e−07"
    assert [plain_spaces(times_text(x)) for x in (1.72, 19.4, 1234, 2.5e7)] == [
        "1.7 ×", "19 ×", "1 234 ×", "2.5e+07 ×",
    ]  # fmt: skip
