"""One strip per clock: each has times, rows and parts of its own, and input makes it active."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtWidgets import QApplication

from tests.builders import many_slices
from tests.builders.clocked_traces import HOST, profile
from tests.gui.events import CTRL, SHIFT, drag, move, press, release, wheel
from viewer.gui.session import bookmarks, navigation
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.session.choices import toggle_strip
from viewer.gui.session.clocks import share
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.selection import clear, select_same
from viewer.model.inference_views import Inferences
from viewer.view.clock_groups import Tie
from viewer.view.state import Bookmark, SliceRef
from viewer.view.visible_ranges import with_margin

MIDDLE = QPoint(300, 20)


def strips(harness):
    return harness.timeline.strips


def ranges(harness):
    return harness.session.state.all_ranges


def point_on(strip, index):
    """A point inside a slice of the strip's trace."""
    (trace,) = strip.scene.group.traces
    return strip.view.place_of(SliceRef(trace, index)).center()


def image_of(part):
    return part.grab().toImage()


def colors_of(part):
    image = image_of(part)
    return {
        image.pixel(x, y) for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)
    }


def test_two_clocks_have_a_strip_each_with_their_own_file(two):
    assert [strip.header.title for strip in strips(two)] == ["a.csv", "b.csv"]
    assert [{spec.trace for spec in s.scene.processes} for s in strips(two)] == [{0}, {1}]
    assert [strip.scene.range for strip in strips(two)] == [(-20, 1020), (-100, 5100)]
    for strip in strips(two):
        assert strip.header.isVisible()
        assert strip.edge.isVisible()
        assert strip.view.isVisible()


def test_one_clock_has_no_header_and_no_edge(harness):
    harness.session.add([profile("/a.csv", 3, 1000, HOST), profile("/b.csv", 2, 5000, HOST)])
    harness.settle()
    (strip,) = strips(harness)
    assert strip.is_alone
    assert strip.header.isHidden()
    assert strip.edge.isHidden()
    assert strip.size() == harness.timeline.stack.viewport().size()
    assert {spec.trace for spec in strip.scene.processes} == {0, 1}


def test_one_strip_says_why_its_files_are_on_one_axis(harness):
    harness.session.add([profile("/a.csv", 3, 1000), profile("/b.csv", 2, 5000)])
    share(harness.session)
    harness.settle()
    (strip,) = strips(harness)
    assert (strip.is_alone, strip.header.isHidden(), strip.header.fold.isHidden()) == (
        True, False, True,
    )  # fmt: skip
    assert strip.header.title == "a.csv"
    assert strip.header.caption.startswith("+ 1 file · ")
    assert strip.header.caption.endswith(" · same clock, as you stated")
    assert not strip.header.align.isHidden()
    harness.session.undo()
    harness.settle()
    assert [strip.header.fold.isHidden() for strip in strips(harness)] == [False, False]


def test_without_files_there_is_one_empty_strip(harness):
    (strip,) = strips(harness)
    assert strip.header.isHidden()
    assert strip.scene.layout.total_height == 0


def test_two_etdumps_are_on_two_clocks(attention, data):
    attention.open(data / "etdump" / "SYN_qnn_like.etdp")
    assert [strip.header.title for strip in strips(attention)] == [
        "attn_xnnpack_x5.etdp", "SYN_qnn_like.etdp",
    ]  # fmt: skip


def test_canvas_and_ruler_of_every_strip_are_as_wide_when_the_bars_appear(harness):
    whole = many_slices.trace(2000)
    clocks = [replace(whole.clock, domain=domain) for domain in ("a", "b")]
    harness.window.resize(1600, 900)
    harness.session.add([replace(whole, path=c.domain, clock=c) for c in clocks])
    harness.settle()
    shown = harness.timeline.strips
    assert [strip.scrolls for strip in shown] == [True, True]
    widths = {(strip.view.viewport().width(), strip.ruler.width()) for strip in shown}
    assert widths == {(shown[0].view.width(), shown[0].view.width())}


@pytest.mark.parametrize("number", [0, 1])
def test_a_zoom_moves_the_times_of_its_strip_alone(two, number):
    before = ranges(two)
    strip, other = strips(two)[number], strips(two)[1 - number]
    wheel(strip.view.viewport(), MIDDLE, 1, held=CTRL)
    assert ranges(two)[other.scene.clock] == before[other.scene.clock]
    t0, t1 = ranges(two)[strip.scene.clock]
    first, last = before[strip.scene.clock]
    assert first < t0 < t1 < last
    assert two.session.state.clock == strip.scene.clock
    assert strip.scene.visible == (t0, t1)


INPUT = {
    "press": lambda strip: press(strip.view.viewport(), MIDDLE),
    "zoom": lambda strip: wheel(strip.view.viewport(), MIDDLE, 1, held=CTRL),
    "pan": lambda strip: wheel(strip.view.viewport(), MIDDLE, 1, held=SHIFT),
    "overview": lambda strip: drag(strip.overview, QPoint(300, 12), QPoint(500, 12)),
    "ruler": lambda strip: drag(strip.ruler, QPoint(300, 8), QPoint(500, 8)),
    "header": lambda strip: press(strip.header, QPoint(300, 8)),
}


@pytest.mark.parametrize("way", INPUT)
def test_input_on_a_strip_makes_its_clock_active(two, way):
    for strip in (strips(two)[1], strips(two)[0], strips(two)[1]):
        told = []
        two.session.clock_activated.connect(lambda told=told: told.append(True))
        INPUT[way](strip)
        assert two.session.state.clock == strip.scene.clock
        assert two.timeline.strip is strip
        assert told
        assert [s.header.is_active for s in strips(two)] == [s is strip for s in strips(two)]
        release(strip.view.viewport(), MIDDLE)


def test_a_mouse_that_only_passes_over_a_strip_does_not_activate_it(two):
    move(strips(two)[1].view.viewport(), MIDDLE)
    assert two.session.state.clock == "/a.csv"


def test_keys_act_on_the_active_strip(two):
    session = two.session
    for strip in strips(two):
        session.set_range(100, 200)
        session.activate(strip.scene.clock)
        navigation.fit_all(session)
        assert strip.scene.range == with_margin(0, strip.scene.group.span_ns)


def test_the_keyboard_focus_goes_to_the_active_strip(two):
    first, second = strips(two)
    first.view.setFocus()
    two.session.activate(second.scene.clock)
    assert second.view.hasFocus()
    two.session.activate(first.scene.clock)
    assert first.view.hasFocus()


def test_a_click_selects_the_slice_under_it_in_every_strip(two, qtbot):
    for trace, strip in enumerate(strips(two)):
        for index in (0, 3, 7):
            at = point_on(strip, index)
            qtbot.mouseClick(strip.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
            assert two.session.state.slice == SliceRef(trace, index)


def test_an_area_is_of_the_tracks_of_its_strip(two):
    second = strips(two)[1]
    port = second.view.viewport()
    drag(port, QPoint(200, 2), QPoint(400, port.height() - 3))
    area = two.session.state.area
    assert {trace for trace, _ in area.tracks} == {1}
    assert area.t0 == second.view.time_at(200)
    assert area.t1 == second.view.time_at(400)


def test_everything_is_selected_on_the_active_clock_alone(two):
    two.session.activate("/b.csv")
    select_same(two.session)
    area = two.session.state.area
    assert area.tracks == {(1, 0), (1, 1)}
    assert area.t0 <= 0
    assert area.t1 >= 5000
    assert two.session.state.clock == "/b.csv"


def test_the_first_view_of_every_strip_shows_its_content(two):
    for strip in strips(two):
        assert len(colors_of(strip.view.viewport())) > 5
        assert len(colors_of(strip.overview)) > 3
        t0, t1 = strip.scene.range
        assert t0 <= 0 < strip.scene.group.span_ns <= t1


def test_a_file_opened_later_is_shown_whole_and_keeps_what_was_seen(two):
    two.session.set_range(100, 200)
    two.session.add([profile("/c.csv", 1, 70)])
    two.settle()
    assert strips(two)[0].scene.visible == (100, 200)
    assert strips(two)[2].scene.visible == (-1, 71)
    assert len(colors_of(strips(two)[2].view.viewport())) > 5


def test_a_selected_slice_of_another_strip_is_revealed_there(harness):
    harness.session.add([profile("/a.csv", 3, 1000), profile("/b.csv", 40, 5000)])
    harness.settle()
    session, second = harness.session, strips(harness)[1]
    session.activate("/b.csv")
    session.set_range(0, 1000)
    session.activate("/a.csv")
    last = SliceRef(1, 199)
    assert second.view.place_of(last).isEmpty()
    session.select_slice(last, reveal=True)
    assert session.state.clock == "/b.csv"
    assert not second.view.place_of(last).isEmpty()
    assert session.state.ranges["/a.csv"] == (-20, 1020)
    session.undo()
    assert session.state.clock == "/a.csv"
    assert session.state.ranges["/b.csv"] == (0, 1000)


def test_a_collapsed_strip_expands_for_what_is_selected_in_it(two):
    strips(two)[1].header.toggle()
    assert not strips(two)[1].view.isVisible()
    two.session.select_slice(SliceRef(1, 3), reveal=True)
    assert strips(two)[1].view.isVisible()


def test_search_steps_through_the_hits_of_one_clock_after_the_other(two):
    session, search = two.session, Search.of(two.session)
    search.set_query("c")
    two.settle()
    assert len(search.hits) == 5
    seen = []
    for _ in range(6):
        search.step(1)
        seen.append((session.state.slice.trace, session.state.clock))
        start, end = session.traces[session.state.slice.trace].span_ns(session.state.slice.index)
        assert session.state.t0 <= start < end <= session.state.t1
    assert seen == [(0, "/a.csv")] * 3 + [(1, "/b.csv")] * 2 + [(0, "/a.csv")]
    search.step(-1)
    assert (session.state.slice.trace, session.state.clock) == (1, "/b.csv")


def test_the_overview_of_a_strip_ticks_its_own_hits_alone(harness):
    second = profile("/b.csv", 2, 5000, names="vwxyz")
    harness.session.add([profile("/a.csv", 3, 1000), second])
    search, images = Search.of(harness.session), {}
    for query, hits in (("in no file", 0), ("w", 2)):
        search.set_query(query)
        harness.settle()
        assert len(search.hits) == hits
        images[hits] = [image_of(strip.overview) for strip in strips(harness)]
    assert images[0][0] == images[2][0]
    assert images[0][1] != images[2][1]


def test_bookmarks_are_in_the_strip_of_their_clock(two):
    session, (first, second) = two.session, strips(two)
    set_bookmarks(session, (Bookmark(400, 900, "here", "", "/b.csv"),), None, None)
    two.settle()
    assert first.bookmarks_bar.isHidden()
    assert second.bookmarks_bar.isVisible()
    assert second.bookmarks_bar.flags()
    assert not first.bookmarks_bar.flags()
    bookmarks.go_to(session, 0)
    assert session.state.clock == "/b.csv"


def test_a_measured_span_is_painted_in_its_strip_alone(two):
    session = two.session
    before = [image_of(strip.view.viewport()) for strip in strips(two)]
    session.change(replace(session.state, measured=(400, 900), measured_on="/b.csv"))
    two.settle()
    after = [image_of(strip.view.viewport()) for strip in strips(two)]
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_fit_file_activates_its_clock(two):
    for trace, clock in enumerate(("/a.csv", "/b.csv", "/a.csv")):
        navigation.fit_file(two.session, trace % 2)
        assert two.session.state.clock == clock
    navigation.fit_file(two.session)
    assert two.session.state.clock == "/b.csv"


def test_light_and_dark_repaint_all_strips(two):
    dark = [image_of(strip) for strip in strips(two)]
    two.theme.set_choice("light")
    light = [image_of(strip) for strip in strips(two)]
    two.theme.set_choice("dark")
    assert all(d != li for d, li in zip(dark, light, strict=True))
    assert [image_of(strip) for strip in strips(two)] == dark


def test_the_legend_is_that_of_the_active_clock(harness):
    harness.session.add([profile("/a.csv", 1, 1000), profile("/b.csv", 1, 5000)])
    harness.settle()
    for clock, ns in (("/a.csv", 200), ("/b.csv", 1000), ("/a.csv", 200)):
        harness.session.activate(clock)
        harness.settle()
        shares = {share.title: share for share in harness.timeline.legend.shares.listed}
        assert {"a", "b", "c", "d", "e"} <= shares.keys()
        assert (shares["a"].count, shares["a"].ns) == (1, ns)


def test_clearing_the_selection_leaves_its_clock_active(two):
    two.session.select_slice(SliceRef(1, 3))
    clear(two.session)
    assert two.session.state.slice is None
    assert two.session.state.clock == "/b.csv"


def test_the_mouse_points_at_the_same_moment_in_aligned_strips(two):
    first, second = strips(two)
    before = image_of(second.view.viewport())
    move(first.view.viewport(), MIDDLE)
    assert image_of(second.view.viewport()) == before, "not aligned"
    ties = {"/a.csv": Tie(anchor=0), "/b.csv": Tie(anchor=100)}
    span = first.scene.range
    two.session.change(
        replace(two.session.state, ties=ties, ranges={"/b.csv": (span[0] + 100, span[1] + 100)})
    )
    two.settle()
    free = image_of(second.view.viewport())
    move(first.view.viewport(), MIDDLE + QPoint(1, 0))
    pointed = image_of(second.view.viewport())
    other = {x for x in range(free.width()) if pointed.pixel(x, 3) != free.pixel(x, 3)}
    assert len(other) == 1
    assert abs(other.pop() - MIDDLE.x() - 1) <= 1
    two.timeline.strips[0].view.leaveEvent(QEvent(QEvent.Type.Leave))
    assert image_of(second.view.viewport()) == free


@pytest.mark.parametrize("part", ["header", "ruler", "overview", "corner"])
def test_a_click_beside_the_canvas_gives_the_canvas_the_keyboard(two, qtbot, part):
    first, second = strips(two)
    first.headers.setFocus()
    qtbot.mouseClick(getattr(second, part), Qt.MouseButton.LeftButton, pos=QPoint(60, 3))
    assert second.view.hasFocus()


def stops(harness, qtbot):
    """The parts of strips that Tab goes through, from the first one on."""
    own = [part for strip in strips(harness) for part in strip.tab_stops]
    own[0].setFocus()
    found = []
    while (part := QApplication.focusWidget()) not in found:
        found.append(part)
        qtbot.keyClick(part, Qt.Key.Key_Tab)
    return [part for part in found if part in own]


def test_tab_goes_through_the_strips_from_top_to_bottom(two, qtbot):
    for before in (None, "/a.csv"):
        if before:
            state = two.session.state
            moved = state.strips.placed_before("/b.csv", before, two.session.groups.keys)
            two.session.change(replace(state, strips=moved))
        order = [part for strip in strips(two) for part in strip.tab_stops]
        assert stops(two, qtbot) == order


def test_a_screen_reader_tells_the_strips_apart(two):
    names = [(s.view.accessibleName(), s.headers.accessibleName()) for s in strips(two)]
    assert names == [
        ("Timeline, a.csv", "Processes and tracks, a.csv"),
        ("Timeline, b.csv", "Processes and tracks, b.csv"),
    ]
    two.session.close_all()
    two.session.add([profile("/a.csv", 3, 1000)])
    two.settle()
    assert strips(two)[0].view.accessibleName() == "Timeline"


def test_a_drag_on_an_overview_moves_its_strip_even_if_a_key_activates_another_clock(two):
    overview, before = strips(two)[0].overview, ranges(two)
    y = overview.sizes.band + overview.sizes.lanes // 2
    press(overview, QPoint(overview.width() // 2, y))
    navigation.step_clock(two.session, 1)
    move(overview, QPoint(overview.width() // 2 + 40, y))
    release(overview, QPoint(overview.width() // 2 + 40, y))
    now = ranges(two)
    assert now["/b.csv"] == before["/b.csv"]
    assert now["/a.csv"][0] > before["/a.csv"][0]


def test_a_click_on_a_bookmark_makes_its_clock_active(two):
    set_bookmarks(two.session, (Bookmark(2500, 2500, "x", clock="/b.csv"),), None, None)
    two.settle()
    assert two.session.state.clock == "/a.csv"
    bar = strips(two)[1].bookmarks_bar
    (flag,) = bar.flags()
    press(bar, QPoint(int(flag.x) + 2, bar.height() // 2))
    release(bar, QPoint(int(flag.x) + 2, bar.height() // 2))
    assert (two.session.state.clock, two.session.state.mark) == ("/b.csv", 0)


def test_only_the_active_canvas_describes_the_selection(two):
    first, second = (strip.view for strip in strips(two))
    two.timeline.set_shortcut_hints("keys")
    two.timeline.announce("slice of a")
    assert first.accessibleDescription() == "slice of a"
    two.session.activate("/b.csv")
    two.timeline.announce("slice of b")
    assert second.accessibleDescription() == "slice of b"
    assert first.accessibleDescription() == "keys"


def test_no_room_is_kept_for_inferences_that_are_not_shown_as_they_ran(attention, data):
    attention.open(data / "etdump" / "cnn_portable_x10.etdp")
    heights = []
    for view in (Inferences.AS_RUN, Inferences.ALIGNED, Inferences.MEAN, Inferences.AS_RUN):
        attention.session.show_inferences(view)
        attention.settle()
        heights.append({strip.overview.height() for strip in strips(attention)})
    assert heights == [{48}, {26}, {26}, {48}]


def test_the_parts_of_a_strip_keep_their_room_when_all_tracks_are_filtered_out(two):
    tracks = replace(two.session.state.tracks, filter="in no name")
    two.session.change(replace(two.session.state, tracks=tracks))
    two.settle()
    for strip in strips(two):
        parts = [strip.header, strip.overview, strip.ruler, strip.view, strip.edge]
        tops = [part.mapTo(strip, QPoint(0, 0)).y() for part in parts]
        ends = [top + part.height() for top, part in zip(tops, parts, strict=True)]
        assert tops[1:] == ends[:-1]
        assert ends[-1] == strip.height()


def test_the_keyboard_stays_in_a_strip_that_is_collapsed(two):
    first, second = strips(two)
    first.view.setFocus()
    toggle_strip(two.session, first.scene.clock)
    assert first.header.fold.hasFocus()
    navigation.step_clock(two.session, 1)
    assert second.view.hasFocus()
    navigation.step_clock(two.session, 1)
    assert first.header.fold.hasFocus()
