"""The canvas under a real mouse, wheel and keyboard: what is hit, how the range moves."""

from fractions import Fraction

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QScrollBar

from tests.gui.events import (
    CTRL,
    LEFT,
    MIDDLE,
    PLAIN,
    SHIFT,
    canvas,
    column,
    drag,
    middle_of,
    move,
    place_of,
    press,
    release,
    wheel,
)
from viewer.gui.session import navigation
from viewer.gui.timeline.view import HeldAxis, HeldKeys, HeldWay
from viewer.gui.window.frame.status import selection_text
from viewer.model.inference_views import Inferences
from viewer.model.text import name_text
from viewer.model.times import format_time
from viewer.render.layout import BandKind
from viewer.view.state import Area, SliceRef

Key = Qt.Key


def view_range(harness):
    return harness.session.state.t0, harness.session.state.t1


def held_keys(harness):
    return harness.timeline.view.findChild(HeldKeys)


def goes_on(harness):
    """Whether a held key moves the view with the time."""
    return held_keys(harness).findChild(QTimer).isActive()


def scroll_bar(harness):
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    return harness.timeline.strip.findChild(QScrollBar, options=direct)


def in_view(harness, at_least=3):
    """The slices of every row that are wide enough to be hit, by the numbers of the session."""
    session = harness.session
    shown = session.traces[0]
    for i in range(len(shown.trace.slices)):
        start, end = shown.span_ns(i)
        x0, x1 = column(harness, start), column(harness, end)
        if x1 - x0 >= at_least and x1 > 0 and x0 < canvas(harness).width():
            yield i


def click(qtbot, harness, at, button=Qt.MouseButton.LeftButton):
    qtbot.mouseClick(canvas(harness), button, pos=at)


# -- clicking --------------------------------------------------------------------------------------


def test_a_click_selects_the_slice_that_lies_there(attention, qtbot):
    slices = list(in_view(attention))
    assert len(slices) > 20
    for index in slices:
        click(qtbot, attention, place_of(attention, index))
        assert attention.session.state.slice == SliceRef(0, index)


def test_a_click_beside_all_slices_clears(attention, qtbot):
    session = attention.session
    session.select_slice(SliceRef(0, next(in_view(attention))))
    last = canvas(attention).height() - 1
    assert attention.timeline.scene.layout.band_at(last) == -1
    click(qtbot, attention, QPoint(300, last))
    assert session.state.slice is None
    assert session.state.operators is None


def test_a_click_on_a_diamond_selects_its_zero_length_slice(attention, qtbot):
    trace = attention.session.traces[0]
    slices = trace.trace.slices
    t0, t1 = view_range(attention)
    zero = [
        i for i in np.flatnonzero(slices.start == slices.end).tolist()
        if t0 < trace.span_ns(i)[0] < t1
    ]  # fmt: skip
    # Those whose pixel is theirs alone, by the definition of a column.
    columns = [column(attention, trace.span_ns(i)[0]) for i in zero]
    alone = [i for i, x in zip(zero, columns, strict=True) if columns.count(x) == 1]
    assert alone
    for index in alone:
        band = attention.timeline.scene.band_of(SliceRef(0, index))
        assert attention.timeline.scene.layout.kind[band] == BandKind.STRIP
        click(qtbot, attention, place_of(attention, index))
        assert attention.session.state.slice == SliceRef(0, index)


@pytest.mark.slow
def test_a_click_far_from_any_diamond_selects_nothing(attention, qtbot):
    scene = attention.timeline.scene
    strip = int(np.flatnonzero(scene.layout.kind == BandKind.STRIP)[0])
    attention.session.set_range(-1000, 0)
    click(qtbot, attention, QPoint(10, middle_of(attention, strip)))
    assert attention.session.state.slice is None


@pytest.mark.parametrize("part", ["canvas", "headers"])
def test_a_double_click_on_a_process_header_folds_it_and_another_opens_it(attention, qtbot, part):
    scene = attention.timeline.scene
    onto = canvas(attention) if part == "canvas" else attention.timeline.headers
    at = QPoint(50, middle_of(attention, 0))
    before = scene.layout.total_height
    qtbot.mouseClick(onto, Qt.MouseButton.LeftButton, pos=at)
    assert attention.session.state.tracks.collapsed == frozenset()  # a single click only focuses
    qtbot.mouseDClick(onto, Qt.MouseButton.LeftButton, pos=at)
    assert attention.session.state.tracks.collapsed == {(0, scene.processes[0].name)}
    assert scene.layout.kind.tolist() == [BandKind.PROCESS]
    qtbot.mouseDClick(onto, Qt.MouseButton.LeftButton, pos=at)
    assert attention.session.state.tracks.collapsed == frozenset()
    assert scene.layout.total_height == before


def test_the_right_button_selects_no_area(attention):
    drag(canvas(attention), QPoint(100, 40), QPoint(300, 60), button=Qt.MouseButton.RightButton)
    assert attention.session.state.area is None


def test_a_double_click_zooms_to_the_slice(attention, qtbot):
    index = max(in_view(attention), key=lambda i: i)
    at = place_of(attention, index)
    start, end = attention.session.traces[0].span_ns(index)
    qtbot.mouseClick(canvas(attention), Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseDClick(canvas(attention), Qt.MouseButton.LeftButton, pos=at)
    air = max((end - start) // 50, 1)
    assert attention.session.state.slice == SliceRef(0, index)
    assert view_range(attention) == (start - air, end + air)


# -- dragging --------------------------------------------------------------------------------------


def test_a_drag_selects_the_times_and_tracks_under_it(attention):
    scene, session = attention.timeline.scene, attention.session
    t0, t1 = view_range(attention)
    width = canvas(attention).width()
    row = int(np.flatnonzero(scene.layout.kind == BandKind.ROW)[0])
    y = middle_of(attention, row)
    drag(canvas(attention), QPoint(700, y), QPoint(200, y + 8))
    area = session.state.area
    assert area.t0 == t0 + 200 * (t1 - t0) // width
    assert area.t1 == t0 + 700 * (t1 - t0) // width
    assert area.tracks == {(0, int(scene.layout.track[row]))}
    assert session.state.slice is None
    length = format_time(area.t1 - area.t0)
    assert selection_text(session).startswith(f"{length} selected on 1 track · ")


def test_a_drag_over_several_tracks_selects_each_of_them(tall):
    scene = tall.timeline.scene
    first, last = 2, 6
    drag(
        canvas(tall), QPoint(100, middle_of(tall, first)), QPoint(400, middle_of(tall, last))
    )  # fmt: skip
    tracks = {(0, int(scene.layout.track[band])) for band in range(first, last + 1)}
    assert tall.session.state.area.tracks == tracks
    assert len(tracks) == 5


def test_a_press_that_hardly_moves_is_a_click(attention):
    index = next(in_view(attention, 20))
    at = place_of(attention, index)
    drag(canvas(attention), at, at + QPoint(2, 0))
    assert attention.session.state.slice == SliceRef(0, index)
    assert attention.session.state.area is None


@pytest.mark.parametrize(("button", "held"), [(LEFT, SHIFT), (MIDDLE, PLAIN)])
def test_dragging_with_shift_or_the_middle_button_pans_by_the_pixels(attention, button, held):
    view, x = attention.timeline.view, 400
    under = view.time_at(x)
    span = view_range(attention)[1] - view_range(attention)[0]
    drag(canvas(attention), QPoint(x, 60), QPoint(x + 173, 70), button=button, held=held)
    assert abs(column(attention, under) - (x + 173)) <= 1
    assert view_range(attention)[1] - view_range(attention)[0] == span
    assert attention.session.state.area is None
    assert attention.session.state.slice is None


def test_another_button_in_a_drag_takes_it_back(attention):
    view, before = canvas(attention), view_range(attention)
    for held in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
        press(view, QPoint(300, 60), held=held)
        move(view, QPoint(400, 60), Qt.MouseButton.LeftButton, held)
        assert view_range(attention) != before or attention.timeline.view._overlay.dragged
        press(view, QPoint(400, 60), Qt.MouseButton.RightButton, held)
        release(view, QPoint(400, 60), Qt.MouseButton.RightButton, held)
        release(view, QPoint(500, 60), held=held)
        assert attention.timeline.view._overlay.dragged is None
        assert view_range(attention) == before
        assert attention.session.state.area is None


# -- the wheel -------------------------------------------------------------------------------------


def test_the_wheel_scrolls_tracks_as_far_as_they_go(tall):
    scene, view = tall.timeline.scene, canvas(tall)
    before = view_range(tall)
    assert scene.scroll_limit == scene.layout.total_height - view.height() > 500
    wheel(view, QPoint(100, 50), -1)
    assert scene.scroll == 60
    assert scroll_bar(tall).value() == 60
    wheel(view, QPoint(100, 50), pixels=QPoint(0, 7), notches=0.1)
    assert scene.scroll == 53
    for _ in range(100):
        wheel(view, QPoint(100, 50), -1)
    assert scene.scroll == scene.scroll_limit
    for _ in range(100):
        wheel(view, QPoint(100, 50), 1)
    assert scene.scroll == 0
    assert view_range(tall) == before


def test_the_wheel_over_the_headers_scrolls_too_and_so_do_held_keys(tall, qtbot):
    scene = tall.timeline.scene
    wheel(tall.timeline.headers, QPoint(20, 50), -2)
    assert scene.scroll == 120
    hold(qtbot, tall, Key.Key_Down, DOWN)
    assert scene.scroll == 180
    hold(qtbot, tall, Key.Key_Up, UP)
    assert scene.scroll == 120


def test_a_click_after_scrolling_hits_what_is_drawn_there(tall, qtbot):
    scroll_bar(tall).setValue(600)
    at = QPoint(canvas(tall).width() // 2, 100)
    click(qtbot, tall, at)
    index = tall.session.state.slice.index
    track = tall.session.traces[0].trace.slices.track(index)
    # Two headers of processes, then one row of 30 px per thread.
    assert track == (600 + 100 - 26) // 30


def zoomed(harness, x, notches):
    """Turn the wheel at a column; the span and how far what was under the mouse went, in columns.

    Told after every notch, by the numbers of the session.
    """
    t0, t1 = view_range(harness)
    width = canvas(harness).width()
    under = Fraction(t0 * width + x * (t1 - t0), width)
    told = []
    for one in notches:
        wheel(canvas(harness), QPoint(x, 60), one, held=CTRL)
        t0, t1 = view_range(harness)
        told.append((t1 - t0, abs(float((under - t0) * width / (t1 - t0) - x))))
    return told


def test_ctrl_wheel_keeps_the_time_under_the_mouse(attention):
    width = canvas(attention).width()
    for x in (0, 1, 333, 700, width - 1):
        attention.session.set_range(600_000, 660_000)
        told = zoomed(attention, x, [1] * 10 + [-1] * 10)
        assert min(span for span, _ in told) > width, "a column is wider than a ns all the way"
        assert max(off for _, off in told) <= 1, x


def test_ctrl_wheel_keeps_the_time_under_the_mouse_where_a_ns_is_wide(attention):
    navigation.fit_all(attention.session)
    told = zoomed(attention, 700, [1] * 40)
    width = canvas(attention).width()
    assert all(off <= max(width / span, 1) for span, off in told), told[-1]


def test_ctrl_wheel_in_and_out_again_comes_back(attention):
    attention.session.set_range(300_000, 1_000_000)
    told = zoomed(attention, 500, [1] * 40 + [-1] * 40)
    assert told[-1][0] == pytest.approx(700_000, rel=0.01)
    assert told[-1][1] <= 2


@pytest.mark.parametrize("how", [{"notches": -1, "held": SHIFT}, {"sideways": -1}])
def test_shift_wheel_and_a_sideways_wheel_pan(attention, how):
    view = attention.timeline.view
    under = view.time_at(500)
    span = view_range(attention)[1] - view_range(attention)[0]
    wheel(canvas(attention), QPoint(300, 50), **how)
    assert abs(column(attention, under) - 440) <= 1
    assert view_range(attention)[1] - view_range(attention)[0] == span


def test_a_wheel_that_did_not_turn_does_nothing(attention):
    before = view_range(attention)
    wheel(canvas(attention), QPoint(300, 50), held=SHIFT)
    assert view_range(attention) == before


# -- keys ------------------------------------------------------------------------------------------


def moved(harness, before):
    """How the range changed: share by which it is wider, pixels by which its middle moved."""
    t0, t1 = view_range(harness)
    middle = ((t0 + t1) - sum(before)) / 2
    return (t1 - t0) / (before[1] - before[0]), middle * canvas(harness).width() / (
        before[1] - before[0]
    )


def hold(qtbot, harness, key, way):
    """Press a key as its command does, and let it go before any time has passed."""
    held_keys(harness).clock = lambda: 100.0
    harness.timeline.view.hold(key, way)
    qtbot.keyRelease(harness.timeline.view, key)


IN, OUT = (HeldWay(HeldAxis.ZOOM, sign) for sign in (-1, 1))
EARLIER, LATER = (HeldWay(HeldAxis.PAN, sign) for sign in (-1, 1))
UP, DOWN = (HeldWay(HeldAxis.SCROLL, sign) for sign in (-1, 1))
KEYS = {
    Key.Key_W: (IN, 1 / 1.1, 0), Key.Key_S: (OUT, 1.1, 0),
    Key.Key_A: (EARLIER, 1, -50), Key.Key_D: (LATER, 1, 50),
}  # fmt: skip


def test_a_key_moves_at_once(attention, qtbot):
    move(canvas(attention), QPoint(canvas(attention).width() // 2, 60))
    for key, (way, wider, pixels) in KEYS.items():
        attention.session.set_range(600_000, 700_000)
        before = view_range(attention)
        hold(qtbot, attention, key, way)
        found = moved(attention, before)
        assert found[0] == pytest.approx(wider, rel=0.01), key
        assert found[1] == pytest.approx(pixels, abs=1), key


def test_a_key_zooms_around_a_mouse_that_was_there_before_the_canvas(attention, qtbot):
    view, x = attention.timeline.view, 800
    at = QPointF(x, 60)
    canvas(attention).setAttribute(Qt.WidgetAttribute.WA_UnderMouse)
    QApplication.sendEvent(
        canvas(attention), QEnterEvent(at, at, canvas(attention).mapToGlobal(at))
    )
    under = view.time_at(x)
    hold(qtbot, attention, Key.Key_W, IN)
    assert abs(column(attention, under) - x) <= 3


def test_a_held_key_goes_on_until_it_is_up(attention, qtbot):
    view = attention.timeline.view
    navigation.fit_all(attention.session)
    seen = [view_range(attention)]
    attention.session.range_changed.connect(lambda: seen.append(view_range(attention)))
    view.hold(Key.Key_W, IN)
    qtbot.waitUntil(lambda: len(seen) > 6)
    qtbot.keyRelease(view, Key.Key_W)
    spans = [t1 - t0 for t0, t1 in seen]
    assert spans == sorted(spans, reverse=True)
    assert not goes_on(attention)


def test_a_key_that_is_up_elsewhere_stops_too(attention):
    attention.timeline.view.hold(Key.Key_D, LATER)
    assert goes_on(attention)
    attention.timeline.corner.filter.setFocus()
    assert not goes_on(attention)


def test_a_key_that_is_held_when_the_window_is_left_stops(attention):
    attention.timeline.view.hold(Key.Key_D, LATER)
    assert goes_on(attention)
    QApplication.sendEvent(attention.window, QEvent(QEvent.Type.WindowDeactivate))
    assert not goes_on(attention)


# -- pointing --------------------------------------------------------------------------------------


def test_pointing_tells_the_time_and_leaving_takes_it_back(attention):
    told = []
    attention.timeline.scene.pointed.connect(told.append)
    t0, t1 = view_range(attention)
    move(canvas(attention), QPoint(512, 60))
    assert told == [t0 + 512 * (t1 - t0) // canvas(attention).width()]
    assert attention.timeline.view._overlay.mouse == QPoint(512, 60)
    attention.timeline.view.leaveEvent(None)
    assert told[-1] is None
    assert attention.timeline.view.pointed_time is None


def tip_of(harness, at):
    """The lines at the mouse once it is there: they come with the same frame."""
    move(canvas(harness), at)
    return harness.timeline.view.tip.lines


def test_the_hover_text_names_the_slice_its_length_and_its_begin(attention):
    shown = attention.session.traces[0]
    index = next(i for i in in_view(attention, 10) if shown.trace.name(i) != shown.label(i))
    start, end = shown.span_ns(index)
    lines = tip_of(attention, place_of(attention, index))
    assert lines[:3] == (
        shown.label(index), f"{format_time(end - start)} at {format_time(start)}",
        shown.trace.name(index),
    )  # fmt: skip


@pytest.mark.parametrize("at", [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5)])
def test_the_hover_text_lies_beside_the_mouse_and_inside_the_window(attention, at):
    tip, port = attention.timeline.view.tip, canvas(attention)
    here = QPoint(round(at[0] * (port.width() - 1)), round(at[1] * (port.height() - 1)))
    tip.show_lines(["A title", *["a line of some length"] * 12], here)
    assert tip.isVisible()
    assert attention.window.rect().contains(tip.geometry())
    assert not tip.geometry().contains(port.mapTo(attention.window, here))


def test_the_hover_text_lets_the_mouse_through_and_goes_with_it(attention):
    at, tip = place_of(attention, next(in_view(attention, 10))), attention.timeline.view.tip
    move(canvas(attention), at)
    assert tip.isVisible()
    assert attention.window.childAt(tip.geometry().center()) is not tip
    attention.timeline.view.leaveEvent(None)
    assert not tip.isVisible()


def test_beside_all_slices_nothing_is_said(attention):
    assert tip_of(attention, place_of(attention, next(in_view(attention))))
    assert not tip_of(attention, QPoint(300, canvas(attention).height() - 1))


def test_while_an_area_is_drawn_nothing_is_said_of_slices(attention):
    at = place_of(attention, next(in_view(attention, 10)))
    press(canvas(attention), QPoint(at.x() - 40, at.y()))
    move(canvas(attention), at, LEFT)
    assert not attention.timeline.view.tip.lines
    release(canvas(attention), at)


def named(tmp_path, name):
    path = tmp_path / "named.csv"
    path.write_text(f"process,thread,name,start_ns,dur_ns\np,t,{name},0,1000\n")
    return path


def test_the_hover_text_of_a_foreign_clock_tells_its_own_numbers(harness, data):
    harness.open(data / "etdump" / "SYN_qnn_like.etdp")
    lines = tip_of(harness, place_of(harness, 4))
    assert (
        "5\u2009000\u202fcycles separate clock, position inside its call is for drawing only"
        in lines
    )
    assert not any("µs" in line for line in lines)


@pytest.mark.parametrize("name", ["<b>conv</b>", "x" * 100_000, "\u202eabc", "a\tb"])
def test_any_name_has_room_in_one_line_and_is_no_markup(harness, tmp_path, name):
    harness.open(named(tmp_path, name))
    lines = tip_of(harness, place_of(harness, 0))
    assert lines[0] == name_text(name)
    assert not canvas(harness).grab().isNull()


def test_the_ruler_says_nothing_of_a_selection_out_of_view(attention):
    session, ruler = attention.session, attention.timeline.ruler
    t1 = session.state.t1
    bare = ruler.grab().toImage()
    session.select_area(Area(t1 + 10_000, t1 + 20_000, frozenset({(0, 0)})))
    assert ruler.grab().toImage() == bare
    session.select_area(Area(t1 - 10_000, t1 + 20_000, frozenset({(0, 0)})))
    assert ruler.grab().toImage() != bare


@pytest.mark.parametrize("size", [(700, 400), (1000, 300)])
def test_a_window_of_any_size_paints_all_of_its_parts(attention, size):
    attention.window.resize(*size)
    for part in (attention.timeline, canvas(attention), attention.timeline.overview,
                 attention.timeline.ruler, attention.timeline.headers):  # fmt: skip
        assert not part.grab().isNull()


def test_a_million_slices_paint(harness, qtbot, capsys):
    from viewer.model.building.builder import TraceBuilder
    from viewer.model.trace import Clock, KeyKind

    count = 1_000_000
    builder = TraceBuilder("/large.csv", "test", "", Clock())
    start = np.arange(count, dtype=np.int64) * 100
    builder.add(
        track=builder.track("p", "t", flat=True), start=start, end=start + 70,
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    harness.session.add([builder.build()])
    harness.settle()
    for span in (100 * count, 100_000, 50):
        harness.session.set_range(0, span)
        assert not canvas(harness).grab().isNull()
        click(qtbot, harness, QPoint(3, middle_of(harness, 1)))
        assert harness.session.state.slice is not None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("change", ["aligned", "close_all", "other"])
def test_under_a_resting_mouse_another_trace_can_come(attention, data, change):
    """The rows under the mouse are others at once, or gone; what was said of them goes too."""
    at = place_of(attention, next(in_view(attention, 10)))
    for y in range(at.y(), canvas(attention).height(), 12):
        move(canvas(attention), QPoint(at.x(), y))
        if change == "aligned":
            view = attention.session.state.inferences
            aligned = view is not Inferences.ALIGNED
            attention.session.show_inferences(Inferences.ALIGNED if aligned else Inferences.AS_RUN)
        elif change == "close_all":
            attention.session.close_all()
            assert attention.timeline.view.tip.lines == ()
            attention.open_sample("plain_csv")
        else:
            attention.open(data / "etdump" / "SYN_qnn_like.etdp")
            attention.session.close_all()
            attention.open_sample("attention_xnnpack")
        if y > at.y() + 60:
            break
    attention.settle()
