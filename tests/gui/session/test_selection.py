"""Several slices by mouse and keys: what is added, taken out, reached, and made an area."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt

from tests.builders.clocked_traces import NS, clocked_trace
from tests.gui.events import CTRL, LEFT, SHIFT, canvas, column, drag, move, place_of, press, release
from tests.gui.fake_host import FakeHost
from tests.model.test_queries import slices, trace_of
from viewer.gui.panels.details.panel import DetailsPanel
from viewer.gui.panels.selection import SelectionPanel
from viewer.gui.session import navigation
from viewer.gui.session.selection import (
    can_make_area,
    clear,
    make_area,
    nearest_slice,
    select_same,
    selected_span_ns,
    slices_of,
)
from viewer.gui.session.session import Session
from viewer.gui.window.frame.status import selection_text
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import Inferences
from viewer.model.times import format_time
from viewer.model.trace import Clock, KeyKind
from viewer.render.layout import BandKind
from viewer.view.open_trace import views_of
from viewer.view.selection import span_ns
from viewer.view.state import Area, SliceRef, SliceSet
from viewer.workspace.workspace import Workspace


@pytest.fixture
def rows(harness, tmp_path):
    """Two threads of eight slices of 10 ns, every 20 ns, named a and b by turns."""
    path = tmp_path / "rows.csv"
    lines = [f"p,t{t},{'ab'[i % 2]},{20 * i},10" for t in range(2) for i in range(8)]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *lines]) + "\n")
    harness.open(path)
    return harness


def click(qtbot, harness, index, held=Qt.KeyboardModifier.NoModifier):
    qtbot.mouseClick(canvas(harness), Qt.MouseButton.LeftButton, held, place_of(harness, index))


def chosen(harness):
    return [ref.index for ref in harness.session.state.slices]


def test_ctrl_click_adds_and_takes_out(rows, qtbot):
    session = rows.session
    click(qtbot, rows, 1)
    click(qtbot, rows, 3, CTRL)
    click(qtbot, rows, 12, CTRL)
    assert chosen(rows) == [1, 3, 12]
    assert session.state.slice == SliceRef(0, 12)
    click(qtbot, rows, 12, CTRL)
    assert chosen(rows) == [1, 3]
    assert session.state.slice in session.state.slices
    click(qtbot, rows, 1, CTRL)
    click(qtbot, rows, 3, CTRL)
    assert chosen(rows) == []
    assert session.state.slice is None


def test_ctrl_click_beside_all_slices_keeps_what_is_selected(rows, qtbot):
    click(qtbot, rows, 1)
    click(qtbot, rows, 2, CTRL)
    below = QPoint(300, canvas(rows).height() - 2)
    for held in (CTRL, SHIFT):
        qtbot.mouseClick(canvas(rows), Qt.MouseButton.LeftButton, held, below)
        assert chosen(rows) == [1, 2]
    click(qtbot, rows, 4)
    assert chosen(rows) == [4]


def test_shift_click_reaches_along_the_row_from_the_same_slice_again(rows, qtbot):
    click(qtbot, rows, 3)
    click(qtbot, rows, 6, SHIFT)
    assert chosen(rows) == [3, 4, 5, 6]
    click(qtbot, rows, 1, SHIFT)
    assert chosen(rows) == [1, 2, 3]
    assert rows.session.state.slice == SliceRef(0, 3)
    click(qtbot, rows, 10, SHIFT)  # on the other row
    assert chosen(rows) == [10]


def test_shift_click_leaves_out_what_lies_on_the_other_line_of_the_row(attention, qtbot):
    session = attention.session
    slices = session.traces[0].trace.slices
    t0, t1 = session.state.t0, session.state.t1
    rows = slices.rows()
    for row in np.unique(rows[slices.start == slices.end]).tolist():
        own = [
            i for i in np.flatnonzero(rows == row).tolist()
            if slices.end[i] > slices.start[i] and t0 <= session.traces[0].span_ns(i)[0] < t1
            and column(attention, session.traces[0].span_ns(i)[1])
            - column(attention, session.traces[0].span_ns(i)[0]) > 4
        ]  # fmt: skip
        if len(own) >= 2:
            click(qtbot, attention, own[0])
            click(qtbot, attention, own[-1], SHIFT)
            wanted = [i for i in range(own[0], own[-1] + 1) if slices.end[i] > slices.start[i]]
            assert chosen(attention) == wanted
            return
    pytest.fail("no row has slices with a length and without")


def test_shift_drag_still_pans(rows, qtbot):
    session = rows.session
    session.set_range(40, 80)
    click(qtbot, rows, 3)
    before = session.state
    drag(canvas(rows), QPoint(400, 40), QPoint(300, 40), held=SHIFT)
    assert session.state.t0 > before.t0
    assert session.state.t1 - session.state.t0 == before.t1 - before.t0
    assert session.state.slices == before.slices


def test_select_same_takes_all_of_the_name_then_everything(rows, qtbot):
    click(qtbot, rows, 2)
    select_same(rows.session)
    assert chosen(rows) == list(range(0, 16, 2))
    assert rows.session.state.slice == SliceRef(0, 2)
    select_same(rows.session)
    assert rows.session.state.area == Area(0, 150, frozenset({(0, 0), (0, 1)}))
    assert chosen(rows) == []


def test_select_same_goes_by_the_name_on_screen(attention):
    """In a dump all calls of operators have one name; on screen that of their operator."""
    shown = attention.session.traces[0]
    labels = [shown.label(i) for i in range(len(shown.trace.slices))]
    index = next(
        i for i, text in enumerate(labels)
        if text == "blocks.0 · scaled_dot_product_attention"
        and shown.span_ns(i)[1] > shown.span_ns(i)[0]
    )  # fmt: skip
    attention.session.select_slice(SliceRef(0, index))
    select_same(attention.session)
    assert chosen(attention) == [i for i, text in enumerate(labels) if text == labels[index]]


def test_an_area_is_made_of_what_is_selected(rows, qtbot):
    click(qtbot, rows, 1)
    click(qtbot, rows, 12, CTRL)
    make_area(rows.session)
    assert rows.session.state.area == Area(20, 90, frozenset({(0, 0), (0, 1)}))
    assert chosen(rows) == []


def test_an_area_is_made_of_a_highlighted_operator(attention):
    session = attention.session
    session.select_operators(0, (10,))
    shown, found = session.traces[0], slices_of(session, 0, (10,))
    assert len(found)
    spans = [shown.span_ns(i) for i in found.tolist()]
    assert can_make_area(session)
    make_area(session)
    area = session.state.area
    assert (area.t0, area.t1) == (min(a for a, _ in spans), max(b for _, b in spans))
    assert area.tracks == {(0, shown.trace.slices.track(i)) for i in found.tolist()}


def test_fitting_shows_all_that_is_selected(rows, qtbot):
    session = rows.session
    click(qtbot, rows, 2)
    click(qtbot, rows, 5, CTRL)
    assert selected_span_ns(session) == (40, 110)
    navigation.fit_selection(session)
    assert (session.state.t0, session.state.t1) == (39, 111)


def test_undo_and_redo_walk_through_the_selection(rows, qtbot):
    click(qtbot, rows, 1)
    click(qtbot, rows, 2, CTRL)
    click(qtbot, rows, 3, CTRL)
    rows.session.undo()
    assert chosen(rows) == [1, 2]
    rows.session.undo()
    assert chosen(rows) == [1]
    rows.session.redo()
    assert chosen(rows) == [1, 2]
    clear(rows.session)
    assert chosen(rows) == []


def test_a_ring_is_in_every_selected_slice_and_in_no_other(rows, qtbot):
    rows.session.set_range(-10, 160)
    click(qtbot, rows, 3)
    before = canvas(rows).grab().toImage()
    click(qtbot, rows, 5, CTRL)
    click(qtbot, rows, 12, CTRL)
    after = canvas(rows).grab().toImage()
    ring = rows.theme.color("ring").rgb()
    scene = rows.timeline.scene
    for index in range(16):
        start, end = rows.session.traces[0].span_ns(index)
        band = scene.band_of(SliceRef(0, index))
        y = int(scene.layout.y[band]) + 2 - scene.scroll  # the upper line of a ring
        x = (column(rows, start) + column(rows, end)) // 2
        assert (after.pixel(x, y) == ring) == (index in (3, 5, 12)), index
    assert before != after


def test_a_drag_on_the_ruler_selects_all_tracks(rows):
    ruler = rows.timeline.ruler
    session = rows.session
    t0, t1, width = session.state.t0, session.state.t1, canvas(rows).width()
    drag(ruler, QPoint(700, 12), QPoint(200, 14))
    area = session.state.area
    assert area.tracks == {(0, 0), (0, 1)}
    assert area.t0 == t0 + 200 * (t1 - t0) // width
    assert area.t1 == t0 + 700 * (t1 - t0) // width
    drag(ruler, QPoint(300, 12), QPoint(302, 12))  # a click: nothing is dragged
    assert session.state.area == area


def test_the_area_dragged_on_the_ruler_is_seen_while_it_is_dragged(rows):
    ruler, view = rows.timeline.ruler, rows.timeline.view
    press(ruler, QPoint(200, 10))
    move(ruler, QPoint(260, 10), LEFT)
    assert view._overlay.dragged is not None
    release(ruler, QPoint(260, 10))
    assert view._overlay.dragged is None


def test_zero_length_slices_can_be_several(attention):
    session = attention.session
    slices = session.traces[0].trace.slices
    zero = np.flatnonzero(slices.start == slices.end)[:5]
    session.select_slices(SliceSet({0: zero}), SliceRef(0, int(zero[0])))
    assert not canvas(attention).grab().isNull()
    bands = attention.timeline.scene.layout.kind
    assert (bands == BandKind.STRIP).any()


def test_the_nearest_slice_is_that_to_the_view_of_its_own_clock(qapp):
    session = Session()
    starts = range(0, 100_000, 10_000)
    session.add(
        [
            clocked_trace("a.etdp", NS, (0, 1_000_000)),
            clocked_trace("b.etdp", NS, *((ns, ns + 5_000) for ns in starts)),
        ]
    )
    session.activate("b.etdp")
    session.set_range(28_000, 36_000)
    session.activate("a.etdp")
    session.set_range(70_000, 72_000)
    assert nearest_slice(session, 1, np.arange(10)) == 3


def test_closing_forgets_what_is_selected(rows, qtbot):
    panel = SelectionPanel(FakeHost(rows.session, rows.theme))
    rows.add(panel)
    click(qtbot, rows, 1)
    click(qtbot, rows, 2, CTRL)
    assert not panel.is_empty
    rows.session.close_all()
    assert not rows.session.state.slices
    assert rows.timeline.scene.drawings.selected_rasters.rasters == {}
    assert panel.is_empty


def test_many_slices_are_drawn_and_counted_off_the_gui_thread(harness):
    count = 60_000
    builder = TraceBuilder("/large.csv", "test", "", Clock())
    start = np.arange(count, dtype=np.int64) * 100
    names = np.array([builder.intern("a"), builder.intern("b")], np.uint32)
    keys = np.array([builder.key(KeyKind.PLAIN, n) for n in "ab"], np.uint32)
    odd = np.arange(count) % 2
    builder.add(
        track=builder.track("p", "t", flat=True), start=start, end=start + 70 + odd,
        name=names[odd], key=keys[odd],
    )  # fmt: skip
    session = harness.session
    host = FakeHost(session, harness.theme)
    panel, details = (kind(host) for kind in (SelectionPanel, DetailsPanel))
    harness.add(panel)
    harness.add(details)
    session.add([builder.build()])
    harness.settle()
    session.select_slice(SliceRef(0, 1))
    select_same(harness.session)
    assert len(harness.session.state.slices) == count // 2
    assert harness.timeline.scene.drawings.selected_rasters.rasters == {}
    harness.settle()
    drawn = harness.timeline.scene.drawings.selected_rasters.rasters[0].drawn
    assert len(drawn.start) == count // 2
    assert selection_text(session).endswith(f"{format_time(71 * count // 2)} in total")
    assert not canvas(harness).grab().isNull()
    select_same(harness.session)
    harness.settle()
    model = panel.model
    assert [model.index(r, 0).data() for r in range(2)] == ["b", "a"]
    assert details.widget().rows("Busy")


@pytest.mark.slow
@given(st.lists(st.sets(st.integers(0, 30)), min_size=1, max_size=3), st.data())
def test_a_set_of_slices_is_like_a_set_of_python(numbers, data):
    plain = {SliceRef(trace, i) for trace, own in enumerate(numbers) for i in own}
    made = SliceSet.of_refs(plain)
    assert len(made) == len(plain)
    assert list(made) == sorted(plain, key=lambda ref: (ref.trace, ref.index))
    ref = SliceRef(data.draw(st.integers(0, 3)), data.draw(st.integers(0, 30)))
    assert (ref in made) == (ref in plain)
    assert set(made.with_one(ref)) == plain | {ref}
    assert set(made.without(ref)) == plain - {ref}
    assert made.without(ref).with_one(ref) == SliceSet.of_refs(plain | ({ref} & plain) | {ref})
    assert [made[i] for i in range(-len(made), 0)] == list(made)
    assert made == SliceSet.of_refs(list(made))
    assert hash(made) == hash(SliceSet.of_refs(list(made)))


@pytest.mark.slow
@given(slices, st.sets(st.integers(0, 13), min_size=1))
def test_the_span_is_from_the_first_start_to_the_last_end(opened_of, items, chosen):
    shown = opened_of(items)
    count = len(shown.trace.slices)
    index = [i for i in chosen if i < count]
    if not index:
        return
    spans = [shown.span_ns(i) for i in index]
    found = span_ns([shown], SliceSet({0: np.array(sorted(index))}))
    assert found == (min(a for a, _ in spans), max(b for _, b in spans))


@pytest.fixture(scope="module")
def opened_of():
    """A trace of some (track, start, length, key) as the window keeps it."""

    def make(items):
        space = Workspace()
        space.add(trace_of(items))
        (shown,) = views_of(space, {Inferences.AS_RUN}, {}).values()
        return shown

    return make
