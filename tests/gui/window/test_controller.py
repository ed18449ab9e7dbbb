"""The window with real files and real events: what a click in one part does in the others."""

import pytest
from PySide6.QtCore import QPoint, Qt

from tests.gui.events import canvas, move, place_of, settle
from viewer.gui.qt import crash_report
from viewer.gui.session.feeds import selection
from viewer.gui.session.selection import slices_of
from viewer.gui.window.frame.status import range_text
from viewer.model.times import format_time
from viewer.view.state import SliceRef, SliceSet


def marked(controller):
    """Per trace the slices that are drawn above the rest."""
    session = controller.session
    wanted = session.state.operators
    return set(slices_of(session, *wanted).tolist()) if wanted else set()


def test_a_click_in_the_operators_panel_marks_its_slices_and_shows_them(attention, qtbot):
    table = attention.panels["operators"].table
    session = attention.session
    session.set_range(0, 1000)
    at = table.visualRect(table.model().index(0, 1)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    wanted = set(attention.panels["operators"].model.rows[0].operators)
    assert set(session.state.operators[1]) == wanted
    links = session.traces[0].table.links
    keys = session.traces[0].trace.slices.key.tolist()
    expected = {i for i, key in enumerate(keys) if wanted <= set(links[key].operators)}
    assert marked(attention) == expected != set()
    assert attention.timeline.scene.rasters[0].hits is not None
    state = session.state
    assert any(
        start < state.t1 and end > state.t0
        for start, end in (session.traces[0].span_ns(i) for i in expected)
    )
    session.clear_selection()
    assert attention.timeline.scene.rasters[0].hits is None


def test_the_details_panel_shows_what_a_click_selected(attention, qtbot):
    shown = attention.session.traces[0]
    run = shown.trace.runs[attention.session.state.run[1]]
    slices = shown.trace.slices
    index = next(
        i for i in range(len(slices))
        if run.start <= slices.start[i] < run.end and shown.link(i).operators
        and slices.end[i] - slices.start[i] > 1000
    )  # fmt: skip
    qtbot.mouseClick(canvas(attention), Qt.MouseButton.LeftButton, pos=place_of(attention, index))
    assert attention.session.state.slice == SliceRef(0, index)
    settle(qtbot, attention)
    texts = [w.accessibleName() for w in attention.panels["details"].findChildren(object)
             if hasattr(w, "accessibleName")]  # fmt: skip
    length = int(slices.end[index] - slices.start[index])
    assert any(f"{length / 1000:.3f}" in text for text in texts), texts
    assert attention.window.status.said.text().startswith("1 slice selected · ")


def test_the_status_bar_tells_count_and_total(attention, qtbot, monkeypatch):
    session, said = attention.session, attention.window.status.said
    monkeypatch.setattr(selection, "AT_ONCE", -1)  # of many slices it comes later
    first, last = SliceRef(0, 10), SliceRef(0, 20)
    session.select_slices(SliceSet.of_refs({first, last}), first)
    assert said.text() == "2 slices selected"
    settle(qtbot, attention)
    spans = [session.traces[0].span_ns(ref.index) for ref in (first, last)]
    total = format_time(sum(end - start for start, end in spans))
    assert said.text() == f"2 slices selected · {total} in total"


def test_light_and_dark_are_different_pictures(attention, qtbot):
    pictures = {}
    for choice in ("dark", "light", "dark"):
        attention.commands.actions[f"view.theme_{choice}"].trigger()
        settle(qtbot, attention)
        pictures.setdefault(choice, []).append(attention.timeline.grab().toImage())
        assert attention.commands.actions[f"view.theme_{choice}"].isChecked()
    assert pictures["dark"][0] == pictures["dark"][1]
    assert pictures["dark"][0] != pictures["light"][0]
    assert attention.theme.choice == "dark"
    corner = canvas(attention).grab().toImage().pixelColor(1, canvas(attention).height() - 1)
    assert corner == attention.theme.color("canvas")


def test_a_row_of_the_delegation_selects_on_the_timeline(attention, qtbot):
    attention.docks.show_panel("delegation")
    settle(qtbot, attention)
    rows = attention.panels["delegation"].model.rows
    attention.panels["delegation"].table.selectRow(
        next(i for i, r in enumerate(rows) if "ops" in r.name)
    )
    qtbot.keyClick(attention.panels["delegation"].table, Qt.Key.Key_Return)
    assert attention.session.state.slice is not None
    assert "XnnpackBackend" in attention.session.traces[0].label(
        attention.session.state.slice.index
    )


@pytest.mark.qt_log_ignore("Painter ended with 1 saved states", extend=True)  # as the fault left it
def test_a_fault_in_painting_is_told_once_and_the_window_lives(attention, monkeypatch, capsys):
    crash_report.forget()
    view = attention.timeline.view
    canvas(attention).grab()

    def broken(*given):
        given[0].save()
        return [][3]

    monkeypatch.setattr(view._rest, "paint", broken)
    for _ in range(3):
        assert not canvas(attention).grab().isNull()
    told = capsys.readouterr().err
    assert told.count("IndexError: ") == 1
    assert "viewer.gui.timeline.view.TimelineView.viewportEvent" in told
    monkeypatch.undo()
    attention.session.select_slice(SliceRef(0, 5))
    assert not attention.window.grab().isNull()
    crash_report.forget()


def test_pointing_at_the_window_does_not_change_it(attention, qtbot):
    before = attention.session.state
    move(canvas(attention), QPoint(200, 80))
    assert attention.session.state == before


def test_a_test_of_the_whole_window_is_marked_so(controller, request):
    """`packaging/test --quick` leaves it out by this mark."""
    assert request.node.get_closest_marker("window")


def test_text_and_commands_follow_a_moving_range(attention, qtbot):
    session, shown = attention.session, attention.window.status.range
    state, before = session.state, shown.text()
    for step in range(1, 4):
        session.set_range(state.t0 + step, state.t1 + step, now=1.0)
    assert shown.text() == before
    qtbot.waitUntil(lambda: shown.text() == range_text(session))
    assert shown.text() != before
    assert attention.commands.actions["go.undo"].isEnabled()


def test_the_text_of_a_range_that_is_jumped_to_is_there_at_once(attention):
    session, shown = attention.session, attention.window.status.range
    before = shown.text()
    session.set_range(100_000, 300_000)
    assert shown.text() == range_text(session) != before
