"""What is written on slices, and that chips of flows do not cover it."""

import json

import pytest

from tests.builders.runtime_files import qnn_csv
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.gui.timeline.painting.labels import UNATTRIBUTED_ROOM
from viewer.model.times import format_time
from viewer.model.trace import KeyKind
from viewer.view.state import SliceRef


@pytest.fixture
def written(monkeypatch):
    """The labels that were asked for since the list was cleared."""
    texts, fit = [], LabelCache.fit

    def note(cache, label, room):
        texts.append((label, room))
        return fit(cache, label, room)

    monkeypatch.setattr(LabelCache, "fit", note)
    return texts


def paint(harness):
    harness.timeline.view.viewport().repaint()
    harness.settle()


def labels(harness):
    return harness.timeline.view.frames.labels


def test_chips_of_flows_do_not_cover_labels(attention):
    session, shown = attention.session, attention.session.traces[0]
    run = shown.trace.runs[0]
    chosen = next(
        i for i in range(len(shown.trace.slices))
        if shown.label(i).startswith("XnnpackBackend") and shown.trace.slices.start[i] >= run.start
    )  # fmt: skip
    session.select_slice(SliceRef(0, chosen))
    start, end = shown.span_ns(chosen)
    session.set_range(start + 100, end + 20_000)
    paint(attention)
    chips = attention.timeline.view.frames.flows.chips
    assert {"←", "→"} <= {sign for chip in chips for sign in (chip.text[0], chip.text[-1])}
    assert not labels(attention).selected_label.isEmpty()
    for chip in chips:
        assert not any(chip.room.intersects(label) for label in labels(attention).taken)


def test_short_unattributed_time_has_no_label(attention, written):
    paint(attention)
    shown = attention.session.traces[0]
    unattributed = next(
        i for i in range(len(shown.trace.slices))
        if shown.trace.keys.kind[shown.trace.slices.key[i]] == KeyKind.UNATTRIBUTED
    )  # fmt: skip
    start, end = shown.span_ns(unattributed)
    name = shown.label(unattributed)
    widths = []
    for part in (2, 20):
        attention.session.set_range(start - 100, start - 100 + (end - start) * part)
        written.clear()
        paint(attention)
        widths += [room for label, room in written if label == name]
    assert widths
    assert min(widths) > UNATTRIBUTED_ROOM - 20


def test_zero_length_slices_are_named_only_in_focus(attention, written):
    shown = attention.session.traces[0]
    slices = shown.trace.slices
    zero = next(i for i in range(len(slices)) if slices.start[i] == slices.end[i])
    start, _ = shown.span_ns(zero)
    attention.session.set_range(start - 500, start + 500)
    paint(attention)
    written.clear()
    paint(attention)
    assert shown.label(zero) not in [label for label, _ in written]
    attention.session.select_slice(SliceRef(0, zero))
    attention.session.set_range(start - 500, start + 500)
    written.clear()
    paint(attention)
    assert shown.label(zero) in [label for label, _ in written]


def test_the_time_of_another_clock_is_shown_and_not_the_drawn_length(
    harness, tmp_path, monkeypatch
):
    path = tmp_path / "qnn.csv"
    path.write_text(qnn_csv())
    measured, width = [], LabelCache.width

    def note(cache, text):
        measured.append(text)
        return width(cache, text)

    monkeypatch.setattr(LabelCache, "width", note)
    harness.open(path)
    shown = harness.session.traces[0]
    native = [i for i in range(len(shown.trace.slices)) if shown.native(i) is not None]
    longest = max(native, key=lambda i: shown.trace.slices.end[i] - shown.trace.slices.start[i])
    start, end = shown.span_ns(longest)
    harness.session.set_range(start - 10, end + 10)
    measured.clear()
    paint(harness)
    assert "cycles" in shown.length_text(longest)
    assert shown.length_text(longest) in measured
    assert format_time(end - start) not in measured


def test_chips_are_on_slices_of_several_operators(attention):
    table = attention.session.traces[0].table
    assert table.are_shared.tolist() == [len(link.operators) > 1 for link in table.links]
    assert table.are_shared.any()
    assert not table.are_shared.all()


@pytest.mark.parametrize(
    ("name", "label"), [("", "(no name)"), ("  ", "(blank)"), ("conv", "conv"), ("a\nb", "a\nb")]
)
def test_a_slice_without_a_name_says_so(harness, written, tmp_path, name, label):
    event = {"name": name, "ph": "X", "ts": 0, "dur": 100, "pid": 1, "tid": 1}
    path = tmp_path / "names.json"
    path.write_text(json.dumps({"traceEvents": [event, {**event, "name": "next", "ts": 100}]}))
    harness.open(path)
    paint(harness)
    assert label in [text for text, _ in written]
    assert "" not in [text for text, _ in written]
