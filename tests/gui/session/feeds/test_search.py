"""Searching: the field, the way through the hits, the list, the marks on the timeline."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QToolButton

import viewer.gui.session.feeds.search
import viewer.gui.timeline.scene.trace_rasters
from tests.builders.clocked_traces import HOST, NS, clocked_trace
from tests.gui.fake_host import FakeHost
from viewer.gui.panels.search import (
    DURATION,
    HITS,
    NAME,
    OPERATOR,
    START,
    TEACH,
    TRACK,
    HitsPanel,
    Order,
    sorted_hits,
)
from viewer.gui.session import navigation
from viewer.gui.session.choices import toggle_part
from viewer.gui.session.feeds.search import TYPING_BURST, Search, find
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.texts import track_title
from viewer.gui.timeline.scene.trace_rasters import hit_columns
from viewer.gui.window.toolbar.toolbar import SearchField
from viewer.render.layout import BandKind
from viewer.render.palette import Emphasis, cell_colors
from viewer.render.time_axis import XMap
from viewer.view.state import SliceRef

KEY = Qt.Key
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def field(attention):
    """The search field below the attention sample."""
    made = SearchField(attention.session, attention.theme)
    attention.add(made)
    return made


@pytest.fixture
def panel(attention):
    """The list of hits below the attention sample."""
    made = HitsPanel(FakeHost(attention.session, attention.theme))
    attention.add(made)
    return made


@pytest.fixture
def slow(monkeypatch):
    """Every search and every raster of hits is made off the GUI thread."""
    monkeypatch.setattr(viewer.gui.session.feeds.search, "AT_ONCE", -1)
    monkeypatch.setattr(viewer.gui.timeline.scene.trace_rasters, "AT_ONCE", -1)


def type_query(qtbot, harness, field, text):
    field.setFocus()
    qtbot.keyClicks(field, text)
    harness.settle()


def linear(harness):
    """The slices of linear operators, slice by slice, in order of time."""
    shown = harness.session.traces[0]
    found = [
        i for i in range(len(shown.trace.slices))
        if any("linear" in op.name for op in shown.table.operators(int(shown.trace.slices.key[i])))
    ]  # fmt: skip
    return sorted(found, key=lambda i: (shown.span_ns(i)[0], i))


@pytest.mark.parametrize("threads", [False, True])
def test_enter_walks_through_the_hits_in_order_of_time(attention, field, qtbot, request, threads):
    if threads:
        request.getfixturevalue("slow")
    session = attention.session
    type_query(qtbot, attention, field, "op:linear")
    expected = linear(attention)
    assert field.count.text() == str(len(expected))
    session.set_range(0, session.traces[0].span_ns(expected[0])[0])
    walked = []
    for _ in range(len(expected) + 1):
        qtbot.keyClick(field, KEY.Key_Return)
        walked.append(session.state.slice.index)
    assert walked == [*expected, expected[0]]
    assert field.count.text() == f"1 of {len(expected)}"
    qtbot.keyClick(field, KEY.Key_Return, SHIFT)
    assert session.state.slice.index == expected[-1]
    Search.of(session).step(1)
    assert session.state.slice.index == expected[0]
    Search.of(session).step(-1)
    assert session.state.slice.index == expected[-1]
    t0, t1 = session.traces[0].span_ns(expected[-1])
    assert session.state.t0 < t1
    assert t0 < session.state.t1


def test_a_hit_in_view_does_not_move_the_view(attention, field, qtbot):
    session = attention.session
    type_query(qtbot, attention, field, "op:linear")
    navigation.fit_all(session)
    before = session.state.t0, session.state.t1
    qtbot.keyClick(field, KEY.Key_Return)
    assert session.state.slice is not None
    assert (session.state.t0, session.state.t1) == before


def test_enter_before_the_answer_goes_to_the_first_hit_once_it_is_there(attention, slow):
    session = attention.session
    navigation.fit_all(session)
    Search.of(session).set_query("op:linear")
    assert Search.of(session).pending
    Search.of(session).step(1)
    attention.settle()
    assert session.state.slice == SliceRef(0, linear(attention)[0])


def test_from_a_slice_that_is_no_hit_the_way_goes_on_in_time(attention):
    session = attention.session
    hits, shown = linear(attention), session.traces[0]
    between = next(
        i for i in range(len(shown.trace.slices))
        if i not in hits
        and shown.span_ns(hits[3])[0] < shown.span_ns(i)[0] < shown.span_ns(hits[4])[0]
    )  # fmt: skip
    Search.of(session).set_query("op:linear")
    session.select_slice(SliceRef(0, between))
    Search.of(session).step(1)
    assert session.state.slice.index == hits[4]
    session.select_slice(SliceRef(0, between))
    Search.of(session).step(-1)
    assert session.state.slice.index == hits[3]


def test_typing_is_one_step_of_undo(attention, field, qtbot):
    session = attention.session
    before = session.state
    type_query(qtbot, attention, field, "linear")
    assert session.state.query == "linear"
    session.undo()
    assert session.state == before
    assert field.text() == ""
    session.redo()
    assert field.text() == "linear"
    assert Search.of(session).is_on


def test_letters_far_apart_or_after_something_else_are_steps_of_their_own(attention):
    session = attention.session
    Search.of(session).set_query("a", now=10.0)
    Search.of(session).set_query("ab", now=10.1)
    Search.of(session).set_query("abc", now=10.2 + TYPING_BURST)
    session.undo()
    assert session.state.query == "ab"
    Search.of(session).set_query("abd", now=10.3 + TYPING_BURST)
    navigation.fit_all(session)
    Search.of(session).set_query("abde", now=10.4 + TYPING_BURST)
    session.undo()
    assert session.state.query == "abd"


def test_a_wrong_query_is_told_below_the_field_and_in_the_list(attention, field, panel, qtbot):
    type_query(qtbot, attention, field, "dur > fast")
    sentence = "expected a duration such as 1ms"
    assert sentence in Search.of(attention.session).complaint
    assert field.help.isVisible()
    assert sentence in field.help.findChildren(type(field.count))[0].text()
    assert sentence in field.accessibleDescription()
    assert panel.sentence == Search.of(attention.session).complaint
    qtbot.keyClick(field, KEY.Key_Return)
    assert attention.session.state.slice is None


def test_cycles_are_asked_of_files_that_count_them(attention):
    Search.of(attention.session).set_query("dur > 5 cycles")
    assert "counts cycles" in Search.of(attention.session).complaint


# -- the list --------------------------------------------------------------------------------


def test_the_list_teaches_then_says_what_is_not_found(attention, panel):
    panel.show_keys({"search.find": "Ctrl+F or /"}.get)
    assert panel.sentence == TEACH.format("Ctrl+F or /")
    Search.of(attention.session).set_query("no such <b>thing")
    assert panel.sentence == "No matches for “no such <b>thing”"


def test_a_row_selects_its_slice_and_a_selected_hit_marks_its_row(attention, field, panel, qtbot):
    session = attention.session
    field.list_requested.connect(panel.take_focus)
    type_query(qtbot, attention, field, "op:linear")
    qtbot.keyClick(field, KEY.Key_Down)
    assert panel.table.hasFocus()
    expected = linear(attention)
    assert session.state.slice.index == expected[0]
    qtbot.keyClick(panel.table, KEY.Key_Down)
    assert session.state.slice.index == expected[1]
    session.select_slice(SliceRef(0, expected[7]))
    assert [i.row() for i in panel.table.selectionModel().selectedRows()] == [7]
    session.clear_selection()
    assert not panel.table.selectionModel().hasSelection()


def test_rows_are_copied_with_plain_numbers(attention, panel):
    Search.of(attention.session).set_query("op:linear")
    attention.settle()
    panel.table.selectRow(0)
    panel.table.copy()
    head, line, _ = QGuiApplication.clipboard().text().split("\n")
    shown, i = attention.session.traces[0], linear(attention)[0]
    values = dict(zip(head.split("\t"), line.split("\t"), strict=True))
    start, end = shown.span_ns(i)
    assert (values["Start (ns)"], values["Duration (ns)"]) == (str(start), str(end - start))
    assert values["Name"] == shown.label(i)


@pytest.mark.parametrize("cell", [NAME, OPERATOR, START, DURATION, TRACK])
@pytest.mark.parametrize("descending", [False, True])
def test_the_list_is_sorted_as_python_would(attention, panel, cell, descending):
    session = attention.session
    Search.of(session).set_query("a")
    hits, shown = Search.of(session).hits, session.traces[0]
    order = sorted_hits(hits, session.traces, Order(cell, descending))

    def value(at):
        i = hits.ref(at).index
        start, end = shown.span_ns(i)
        return {
            NAME: shown.label(i).casefold(),
            OPERATOR: panel.model.text(at, OPERATOR).replace("–", "").casefold(),
            START: start,
            DURATION: end - start,
            TRACK: panel.model.text(at, TRACK).casefold(),
        }[cell]

    values = [value(at) for at in order.tolist()]
    assert sorted(order.tolist()) == list(range(len(hits)))
    assert values == sorted(values, reverse=descending)


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_it_round(attention, panel, qtbot):
    session = attention.session
    Search.of(session).set_query("op:linear")
    attention.settle()
    header = panel.table.horizontalHeader()
    at = HITS.place(DURATION)
    lengths = []
    for arrow in "↓↑":
        x = header.sectionViewportPosition(at) + header.sectionSize(at) // 2
        place = QPoint(x, header.height() // 2)
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert panel.model.titles[at] == f"Duration {arrow}"
        refs = [panel.model.contents.hits.ref(int(i)) for i in panel.model.items]
        spans = [session.traces[0].span_ns(ref.index) for ref in refs]
        lengths.append([end - start for start, end in spans])
    assert lengths[0] == sorted(lengths[0], reverse=True)
    assert lengths[1] == sorted(lengths[0])


# -- the timeline ----------------------------------------------------------------------------


def hit_pixels(harness):
    """The places of the canvas that have the color of hits: (columns, lines)."""
    image = harness.timeline.view.grab().toImage()
    color = harness.theme.color("hit").rgb() & 0xFFFFFF
    width, height = image.width(), image.height()
    rgb = np.frombuffer(image.constBits(), np.uint32).reshape(height, -1)[:, :width] & 0xFFFFFF
    return np.nonzero(color == rgb.T)


@pytest.mark.parametrize("threads", [False, True])
def test_hits_have_a_bar_however_far_one_zooms_out(attention, request, threads):
    if threads:
        request.getfixturevalue("slow")
    session = attention.session
    assert not len(hit_pixels(attention)[0])
    Search.of(session).set_query("op:linear")
    attention.settle()
    navigation.fit_all(session)
    attention.settle()
    columns, _ = hit_pixels(attention)
    state, width = session.state, attention.timeline.view.viewport().width()
    for i in linear(attention):
        start = session.traces[0].span_ns(i)[0]
        column = (start - state.t0) * width // (state.t1 - state.t0)
        assert np.abs(columns - column).min() <= 1
    Search.of(session).set_query("")
    attention.settle()
    assert not len(hit_pixels(attention)[0])


def test_hits_without_a_length_are_diamonds_in_their_strip(attention):
    session = attention.session
    Search.of(session).set_query("zero")
    attention.settle()
    layout = attention.timeline.scene.layout
    _, lines = hit_pixels(attention)
    assert len(lines)
    bands = {layout.kind[layout.band_at(int(y))] for y in np.unique(lines).tolist()}
    assert bands == {BandKind.STRIP}


def test_the_funnel_in_the_field_shows_only_hits(field, attention):
    assert not field.only_hits.isVisible()
    Search.of(attention.session).set_query("op:linear")
    assert field.only_hits.isVisible()
    button = next(
        b for b in field.findChildren(QToolButton) if b.defaultAction() is field.only_hits
    )
    assert not field.count.geometry().intersects(button.geometry())
    field.only_hits.trigger()
    assert attention.session.state.only_hits
    field.only_hits.trigger()
    assert not attention.session.state.only_hits


def test_only_hits_dims_all_else_and_is_undone(attention):
    session = attention.session
    Search.of(session).set_query("op:linear")
    attention.settle()
    plain = attention.timeline.view.grab().toImage()
    Search.of(session).show_only_hits(True)
    assert session.state.only_hits
    attention.settle()
    other = attention.timeline.view.grab().toImage()
    assert plain != other
    session.undo()
    assert not session.state.only_hits
    assert attention.timeline.view.grab().toImage() == plain


def test_a_query_dims_what_does_not_match(attention):
    session, scene = attention.session, attention.timeline.scene
    every = np.arange(len(session.traces[0].trace.slices))
    assert scene.drawings.stand_out(0, every).all()
    Search.of(session).set_query("op:linear")
    assert np.flatnonzero(scene.drawings.stand_out(0, every)).tolist() == sorted(linear(attention))
    source = scene.sources(dark=True)[0]
    assert source.hits is scene.rasters[0].search_hits
    assert (source.colors.body == cell_colors(True, Emphasis.UNMATCHED).body).all()
    Search.of(session).set_query("name:nothing-has-this-name")
    assert not scene.drawings.stand_out(0, every).any()
    Search.of(session).set_query("")
    assert scene.drawings.stand_out(0, every).all()


def test_a_step_zooms_to_a_hit_that_is_too_narrow_and_is_undone_at_once(attention):
    session, shown = attention.session, attention.session.traces[0]
    Search.of(session).set_query("op:linear")
    attention.settle()
    hits = Search.of(session).hits
    spans = [shown.span_ns(hits.ref(at).index) for at in range(len(hits))]
    narrow = next(at for at, (start, end) in enumerate(spans) if at and 0 < end - start < 3_000)
    Search.of(session).select(narrow - 1)
    navigation.fit_all(session)
    before = session.state
    Search.of(session).step(1)
    state = session.state
    assert state.slice is not None
    start, end = shown.span_ns(state.slice.index)
    assert state.t0 < start < end < state.t1
    assert state.t1 - state.t0 < 30 * (end - start)
    session.undo()
    assert session.state == before


def test_a_step_shows_all_of_a_hit_that_is_longer_than_the_view(attention):
    session, shown = attention.session, attention.session.traces[0]
    Search.of(session).set_query("op:linear")
    attention.settle()
    hits = Search.of(session).hits
    at = max(range(len(hits)), key=lambda at: np.diff(shown.span_ns(hits.ref(at).index))[0])
    start, end = shown.span_ns(hits.ref(at).index)
    for t0, t1 in ((start - 2 * (end - start), start + 10), (start + 10, start + 20)):
        session.clear_selection()
        session.select_slice(hits.ref((at - 1) % len(hits)))
        session.set_range(t0, t1)
        before = session.state
        Search.of(session).step(1)
        assert session.state.slice == hits.ref(at)
        assert session.state.t0 <= start < end <= session.state.t1
        session.undo()
        assert session.state == before


def test_tracks_tell_how_many_hits_they_have(attention):
    session, scene = attention.session, attention.timeline.scene
    assert track_title(scene, 0, 0)[1] == "5 inferences"
    Search.of(session).set_query("op:linear")
    told = [track_title(scene, 0, t)[1] for t in range(len(session.traces[0].trace.tracks))]
    assert told[0] == f"{len(linear(attention))} hits"


def test_the_overview_has_a_tick_where_hits_begin():
    xmap = XMap(0, 1000, 10)
    assert hit_columns(np.array([0, 5, 99, 100, 950, 2000]), xmap).tolist() == [0, 1, 9]


def test_a_hit_in_a_folded_process_is_unfolded(attention):
    session = attention.session
    process = session.traces[0].trace.tracks[0].process
    toggle_part(session, (0, process))
    Search.of(session).set_query("op:linear")
    Search.of(session).step(1)
    assert session.state.tracks.collapsed == frozenset()


# -- what is open changes --------------------------------------------------------------------


def test_hits_follow_what_is_open(attention, field, slow):
    session = attention.session
    Search.of(session).set_query("a")
    attention.settle()
    first = len(Search.of(session).hits)
    attention.open_sample("torq_npu")
    hits = Search.of(session).hits
    assert len(hits.slices) == len(session.traces)
    assert len(hits) > first
    assert len(session.groups) > 1
    for group in session.groups:
        own = hits.starts_in(group.traces)
        assert (np.diff(own) >= 0).all()
        assert len(own) == sum(len(hits.slices[trace]) for trace in group.traces)
    for at in range(0, len(hits), 17):
        ref = hits.ref(at)
        start = session.traces[ref.trace].span_ns(ref.index)[0]
        assert hits.start[at] == start
        assert hits.place(ref, start) == at
    session.close_all()
    attention.settle()
    assert len(Search.of(session).hits) == 0
    assert not field.isEnabled()


def test_hits_are_by_clock_then_by_time(qapp):
    """Times of different clocks do not compare, so no hit of one is between those of another."""
    session = Session()
    session.add(
        [
            clocked_trace("host.csv", HOST, (104, 120), (130, 140)),
            clocked_trace("net.etdp", NS, (5_000, 9_000), (9_500, 9_600)),
            clocked_trace("host2.csv", HOST, (100, 150)),
        ]
    )
    searching = Search.of(session)
    searching.set_query("a")
    hits = searching.hits
    listed = [(hits.ref(at), int(hits.start[at])) for at in range(len(hits))]
    assert listed == [
        (SliceRef(2, 0), 0), (SliceRef(0, 0), 4_000), (SliceRef(0, 1), 30_000),
        (SliceRef(1, 0), 0), (SliceRef(1, 1), 4_500),
    ]  # fmt: skip
    assert sorted_hits(hits, session.traces, Order()).tolist() == [0, 1, 2, 3, 4]
    # A step leaves one clock for the next, which becomes active.
    session.select_slice(SliceRef(0, 1))
    host = session.state.range_of("torq host")
    searching.step(1)
    assert (session.state.slice, session.state.clock) == (SliceRef(1, 0), "net.etdp")
    assert session.state.range_of("torq host") == host
    # From the left edge of the active clock.
    session.clear_selection()
    session.set_range(4_400, 5_000)
    searching.step(1)
    assert session.state.slice == SliceRef(1, 1)
    searching.step(1)
    assert (session.state.slice, session.state.clock) == (SliceRef(2, 0), "torq host")


def test_undo_while_hits_are_looked_for(attention, slow):
    session = attention.session
    Search.of(session).set_query("op:linear")
    session.undo()
    attention.settle()
    assert len(Search.of(session).hits) == 0
    assert not len(hit_pixels(attention)[0])


def test_nothing_is_found_in_nothing():
    from viewer.analysis.search.query import parse

    assert len(find(parse("a"), ())) == 0


def test_a_field_that_there_is_not_is_told_where_nothing_is_found(harness):
    harness.open_sample("plain_csv")
    field = SearchField(harness.session, harness.theme)
    harness.add(field)
    for query, advice in (
        ("foo:bar", "No matches. Unknown field foo; the fields are name, op, type, module, file"),
        ("std::foo", "none"),
        ("sin:0", ""),  # an identifier of this file: found as the text that it is
        ("op:nothing", "none"),
    ):
        Search.of(harness.session).set_query(query)
        said = field.accessibleDescription()
        if advice:
            assert said.startswith(advice)
        else:
            assert len(Search.of(harness.session).hits)
            assert "field" not in said
