"""Arrows on the canvas: where they are, how inputs and outputs differ, what chips say and do."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage

from tests.gui.events import LEFT, canvas, press, release
from viewer.gui.session.choices import toggle_part
from viewer.gui.session.feeds.selection import FlowFeed
from viewer.gui.timeline.painting import flows as flow_painting
from viewer.view.state import SliceRef

MLP = (15, 16, 17, 18)


@pytest.fixture
def attention(attention):
    """The attention sample; `chosen` is a slice of its MLP in an inference."""
    shown = attention.session.traces[0]
    run, trace = shown.trace.runs[2], shown.trace
    attention.chosen = next(
        SliceRef(0, i) for i in range(len(trace.slices))
        if shown.link(i).operators == MLP and run.start <= trace.slices.start[i] < run.end
    )  # fmt: skip
    return attention


def flows(harness):
    return harness.timeline.view.frames.flows


def ends(harness, *, forward):
    answer = FlowFeed.of(harness.session).answer
    return [SliceRef(0, end.slice) for end in answer.flows.ends(forward=forward)]


def show(harness, t0, t1):
    harness.session.set_range(t0, t1)
    paint(harness)


def paint(harness):
    harness.timeline.view.viewport().repaint()
    harness.settle()


def pixels(harness):
    image = harness.timeline.view.viewport().grab().toImage()
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    flat = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    return flat[:, : image.width()].copy()


def drawn_by_flows(harness):
    """The pixels that change when arrows are switched on."""
    feed = FlowFeed.of(harness.session)
    feed.show(False)
    paint(harness)
    without = pixels(harness)
    feed.show(True)
    paint(harness)
    changed = pixels(harness) != without
    return changed


def test_arrows_lead_from_where_a_producer_ends_to_where_its_consumer_begins(attention):
    session, shown = attention.session, attention.session.traces[0]
    session.select_slice(attention.chosen)
    assert flows(attention).chips == []  # all of the inference is in view
    start, end = shown.span_ns(attention.chosen.index)
    others = [shown.span_ns(r.index) for r in ends(attention, forward=False)]
    after = [shown.span_ns(r.index) for r in ends(attention, forward=True)]
    changed = drawn_by_flows(attention)
    assert flows(attention).drawn == 4
    columns = np.flatnonzero(changed.any(axis=0))
    state, width = session.state, canvas(attention).width()

    def x(ns):
        return (ns - state.t0) * width / (state.t1 - state.t0)

    # From the first end of a producer to the begin of the last consumer, and nothing else.
    assert columns[0] == pytest.approx(x(min(e for _, e in others)), abs=10)
    assert columns[-1] == pytest.approx(x(max(s for s, _ in after)), abs=10)
    near = changed[:, int(x(start)) - 4 : int(x(start)) + 2]
    far = changed[:, int(x(end)) : int(x(end)) + 6]
    assert near.any()
    assert far.any()


def inked(harness, first, last):
    """Per column between two slices whether an arrow has its own color there, not its halo's."""
    shown, state = harness.session.traces[0], harness.session.state
    changed, picture = drawn_by_flows(harness), pixels(harness)
    bright = changed & ((picture & 0xFF) > 0xA0)  # blue is high in both, and low in the canvas
    width = canvas(harness).width()
    x0, x1 = (
        (ns - state.t0) * width // (state.t1 - state.t0)
        for ns in (shown.span_ns(first.index)[1], shown.span_ns(last.index)[0])
    )
    return bright.any(axis=0)[x0 + 30 : x1 - 30]


def test_inputs_are_dashed_and_outputs_are_not(attention):
    """Told apart by more than color; one and the same flow, seen from both its ends."""
    session = attention.session
    session.select_slice(attention.chosen)
    far = ends(attention, forward=True)[-1]
    solid = inked(attention, attention.chosen, far)
    assert solid.mean() > 0.95
    session.select_slice(far)
    assert attention.chosen in ends(attention, forward=False)
    dashed = inked(attention, attention.chosen, far)
    assert np.count_nonzero(np.diff(dashed.astype(int))) > 20


def test_an_end_out_of_view_has_a_chip_and_a_click_on_it_goes_there(attention):
    session = attention.session
    session.select_slice(attention.chosen)
    near, far = ends(attention, forward=True)
    span = session.traces[0].span_ns
    show(attention, span(attention.chosen.index)[0] - 500, span(near.index)[1])
    chips = flows(attention).chips
    (chip,) = [chip for chip in chips if chip.ref == far]
    assert chip.text.endswith("→")
    assert session.traces[0].label(far.index) in chip.text
    assert canvas(attention).rect().contains(chip.room.toRect())
    middle = chip.room.center().toPoint()
    press(canvas(attention), middle, LEFT)
    release(canvas(attention), middle, LEFT)
    assert session.state.slice == far
    assert session.state.t0 < span(far.index)[1]
    assert session.state.t1 > span(far.index)[0]


def test_chips_do_not_lie_over_one_another(attention):
    session = attention.session
    session.select_slice(attention.chosen)
    start, end = session.traces[0].span_ns(attention.chosen.index)
    show(attention, start + 10, end - 10)
    chips = flows(attention).chips
    assert {chip.text[0] for chip in chips if chip.text[0] == "←"}
    assert len(chips) == 4
    for at, chip in enumerate(chips):
        assert canvas(attention).rect().contains(chip.room.toRect())
        assert not any(chip.room.intersects(other.room) for other in chips[:at])


def test_an_end_on_a_folded_process_points_at_its_header(attention):
    session, shown = attention.session, attention.session.traces[0]
    session.select_slice(attention.chosen)
    toggle_part(session, (0, shown.trace.tracks[0].process))
    paint(attention)
    assert flows(attention).drawn == 4
    assert len(flows(attention).chips) == 4
    assert all(chip.text.endswith("folded") for chip in flows(attention).chips)
    chip = flows(attention).chips[0]
    middle = chip.room.center().toPoint()
    press(canvas(attention), middle, LEFT)
    release(canvas(attention), middle, LEFT)
    assert session.state.slice == chip.ref
    assert session.state.tracks.collapsed == frozenset()  # there it is seen
    session.undo()
    assert session.state.tracks.collapsed


def test_how_many_are_drawn_of_how_many_is_said(attention, monkeypatch):
    monkeypatch.setattr(flow_painting, "MOST_DRAWN", 1)
    attention.session.select_slice(attention.chosen)
    paint(attention)
    assert flows(attention).drawn == 2
    assert flows(attention).note == "2 of 4 flows"


def test_nothing_is_drawn_of_a_slice_without_flows_or_of_none(attention):
    for ref in (SliceRef(0, 1), None):
        attention.session.select_slice(ref)
        paint(attention)
        assert (flows(attention).drawn, flows(attention).chips) == (0, [])
        assert flows(attention).chip_at(QPoint(3, 3)) is None


def test_arrows_go_when_files_are_closed(attention):
    attention.session.select_slice(attention.chosen)
    paint(attention)
    attention.session.close_all()
    attention.settle()
    assert FlowFeed.of(attention.session).answer is None


def test_between_two_ends_beyond_one_edge_there_is_no_line(attention, monkeypatch):
    """Zoomed in between the begin and the end of the slice: its outputs are all on the right."""
    session = attention.session
    session.select_slice(attention.chosen)
    lines = []
    monkeypatch.setattr(
        flow_painting.FlowPainter, "_arrow", lambda *args, **more: lines.append(more["solid"])
    )
    start, end = session.traces[0].span_ns(attention.chosen.index)
    show(attention, start + 10, end - 10)
    assert lines == []
    assert len(flows(attention).chips) == 4
    show(attention, start - 10, end - 10)
    assert set(lines) == {False}  # the begin is in view, and what leads to it


def test_chips_that_have_no_room_are_counted_as_hidden(attention, monkeypatch):
    session = attention.session
    session.select_slice(attention.chosen)
    monkeypatch.setattr(flow_painting, "_CHIP_GAP", 4000)
    start, end = session.traces[0].span_ns(attention.chosen.index)
    show(attention, start + 10, end - 10)
    assert len(flows(attention).chips) == flows(attention).drawn == 2  # one at either edge
    assert flows(attention).note == "2 of 4 flows · 2 hidden"


def test_a_job_is_entered_where_it_begins_and_left_where_it_ends(harness, monkeypatch):
    harness.open_sample("torq_npu")
    session = harness.session
    number = next(
        n
        for n, t in enumerate(session.traces)
        if any(x.thread == "NSS jobs" for x in t.file.tracks)
    )
    shown = session.traces[number]
    slices = shown.trace.slices
    job = next(i for i in range(len(slices)) if shown.trace.name(i) == "job 0")
    lines = []
    monkeypatch.setattr(
        flow_painting.FlowPainter, "_arrow",
        lambda self, painter, begin, end, **more: lines.append((begin.x(), end.x())),
    )  # fmt: skip
    session.select_slice(SliceRef(number, job))
    start, end = shown.span_ns(job)
    show(harness, start - (end - start), end + (end - start))
    width, (t0, t1) = canvas(harness).width(), (session.state.t0, session.state.t1)
    x0, x1 = ((ns - t0) * width / (t1 - t0) for ns in (start, end))
    assert any(a == pytest.approx(x0, abs=1) and b == pytest.approx(x0, abs=1) for a, b in lines)
    assert any(a == pytest.approx(x1, abs=1) and b == pytest.approx(x1, abs=1) for a, b in lines)


def test_the_strip_of_another_clock_shows_no_flows(attention, data):
    attention.open(data / "etdump" / "cnn_portable_x10.etdp")
    attention.session.select_slice(attention.chosen)
    show(attention, *attention.session.traces[0].span_ns(attention.chosen.index))
    first, second = (strip.view for strip in attention.timeline.strips)
    assert first.frames.flows.chips
    second.viewport().repaint()
    other = second.frames.flows
    assert (other.chips, other.note, other.drawn) == ([], "", 0)
