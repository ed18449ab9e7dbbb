"""The legend below the rows: what it lists, what a click does, and how large traces are counted."""

import threading
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu

from tests.builders.clocked_traces import HOST, clocked_trace
from tests.paths import DATA
from viewer.formats import open_file
from viewer.gui.session import navigation
from viewer.gui.session.choices import highlight_class, set_scheme
from viewer.gui.session.clocks import clock_trace, set_clock
from viewer.gui.session.navigation import pick_run
from viewer.gui.session.selection import clear, slices_of
from viewer.gui.timeline import legend as legend_module
from viewer.gui.timeline.scene import drawings
from viewer.gui.timeline.scene.texts import process_note
from viewer.model.building.builder import TraceBuilder
from viewer.model.figures import STEADY
from viewer.model.inference_views import Inferences
from viewer.model.times import group_digits
from viewer.model.trace import Clock, KeyKind
from viewer.render.color_shares import MOST
from viewer.render.palette import RAMP, RAMP_STEPS, Emphasis, by_name, fills
from viewer.view import open_trace
from viewer.view.open_trace import AT_ONCE


def legend_of(harness):
    return harness.timeline.legend


def titles(harness):
    return [button.share.title for button in legend_of(harness).classes if not button.isHidden()]


def click(qtbot, harness, title):
    button = next(b for b in legend_of(harness).classes if b.share.title == title)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    harness.settle()


def test_it_lists_the_classes_of_the_picked_run_dearest_first(attention):
    listed = legend_of(attention).shares.listed
    assert listed[0].title == "Shared by several operators"
    assert listed[1].title == "blocks.0 · scaled_dot_product_attention"
    colored = [share for share in listed if share.color < 12]
    assert [s.ns for s in colored] == sorted((s.ns for s in colored), reverse=True)
    assert listed[-1].title in ("Unattributed time", "Scopes of the runtime")
    one_run = sum(share.count for share in listed)
    pick_run(attention.session, None)
    assert sum(share.count for share in legend_of(attention).shares.listed) == 727 > one_run


def test_a_click_draws_one_class_in_full_and_dims_the_rest_another_click_ends_it(attention, qtbot):
    session, scene = attention.session, attention.timeline.scene
    set_scheme(session, "type")
    click(qtbot, attention, "linear")
    assert session.state.lit == ("linear", 4)
    shown, picture = session.traces[0], scene.rasters[0]
    every = np.arange(len(shown.trace.slices))
    expected = [
        bool(ops) and {op.op for op in ops} == {"linear"}
        for ops in (shown.table.operators(int(k)) for k in shown.trace.slices.key)
    ]
    assert scene.drawings.stand_out(0, every).tolist() == expected
    dimmed = scene.sources(dark=True)[0]
    assert dimmed.colors.body[0xFF00] & 0xFFFFFF == fills(True, Emphasis.DIMMED)[0]
    assert dimmed.hits is picture.lit_slices is not None
    click(qtbot, attention, "linear")
    assert session.state.lit is None
    assert scene.drawings.stand_out(0, every).all()


def test_a_lit_class_is_undone_cleared_and_forgotten_with_its_scheme(attention, qtbot):
    session = attention.session
    set_scheme(session, "module")
    click(qtbot, attention, "blocks.0")
    session.undo()
    assert session.state.lit is None
    session.redo()
    assert session.state.lit == ("blocks.0", 2)
    assert [b.isChecked() for b in legend_of(attention).classes].count(True) == 1
    clear(session)
    assert session.state.lit is None
    session.redo()
    click(qtbot, attention, "blocks.0")
    set_scheme(session, "type")
    assert session.state.lit is None


def test_a_selected_operator_is_lit_before_any_class(attention, qtbot):
    session, scene = attention.session, attention.timeline.scene
    set_scheme(session, "type")
    click(qtbot, attention, "linear")
    session.select_operators(0, (9,))
    attention.settle()
    some = slices_of(session, 0, (9,))
    assert scene.drawings.stand_out(0, some).all()
    clear(session)
    assert session.state.operators is None
    assert session.state.lit == ("linear", 4)
    assert not scene.drawings.stand_out(0, some).any()


def test_durations_are_a_ramp_from_short_to_long(attention):
    set_scheme(attention.session, "duration")
    steps = [b for b in legend_of(attention).classes if b.is_step]
    assert [b.share.color for b in steps] == list(range(RAMP, RAMP + RAMP_STEPS))
    assert steps[0].title.startswith("from ")
    assert all(a.geometry().right() < b.x() for a, b in pairwise(steps))


def test_what_has_no_room_is_in_a_menu_and_can_be_lit_there(attention):
    legend, session = legend_of(attention), attention.session
    shown = titles(attention)
    assert legend.more.text() == f"and {len(legend.shares.listed) - len(shown)} more"
    menu = legend.rest_menu()
    assert isinstance(menu, QMenu)
    names = [action.text().partition("\t")[0] for action in menu.actions()]
    assert len(names) + len(shown) == len(legend.shares.listed)
    menu.actions()[0].trigger()
    assert session.state.lit == (
        legend.shares.listed[len(shown)].title,
        legend.shares.listed[len(shown)].color,
    )
    menu.close()


def test_no_class_lies_over_another_or_over_the_rows_at_any_width(attention):
    legend, view = legend_of(attention), attention.timeline.view
    for width in (700, 1000, 1900):
        attention.window.resize(width, 900)
        attention.settle()
        seen = [b for b in (*legend.classes, legend.more) if not b.isHidden()]
        seen.sort(key=lambda b: b.x())
        assert all(a.geometry().right() < b.x() for a, b in pairwise(seen))
        assert seen[-1].geometry().right() < legend.width()
        assert legend.mapTo(attention.window, QPoint()).y() >= view.mapTo(
            attention.window, QPoint()
        ).y() + (view.height())


def test_a_theme_is_exchanged_without_coloring_anew(attention, monkeypatch):
    def fail(*asked):
        raise AssertionError("coloured anew")

    monkeypatch.setattr(drawings, "colored", fail)
    monkeypatch.setattr(open_trace, "classes_of", fail)
    rasters = [p.raster for p in attention.timeline.scene.rasters]
    attention.theme.set_choice("light")
    assert [p.raster for p in attention.timeline.scene.rasters] == rasters


def test_hostile_names_are_texts(harness, tmp_path):
    path = tmp_path / "odd.csv"
    rows = [
        f"p,t,{name},{i * 10},10" for i, name in enumerate(["<b>bold</b>", "a" * 5000, "", "&x"])
    ]
    path.write_text("process,thread,name,start_ns,dur_ns\n" + "\n".join(rows) + "\n")
    harness.open(path)
    legend = legend_of(harness)
    assert {b.title for b in legend.classes} >= {"<b>bold</b>", "&x", "(no name)"}
    bold = next(b for b in legend.classes if b.title == "<b>bold</b>")
    assert "&lt;b&gt;bold&lt;/b&gt;" in bold.toolTip()
    assert max(b.sizeHint().width() for b in legend.classes) < 400


def large(slices=AT_ONCE + 1):
    """A trace of four names, one row."""
    builder = TraceBuilder("large.csv", "Profile CSV", "", Clock())
    at = np.arange(slices)
    names = builder.intern_all([f"name {i}" for i in range(4)])
    builder.add(
        track=builder.track("p", "t"), start=at * 10, end=at * 10 + 1 + at % 7,
        name=names[at % 4], key=builder.key(KeyKind.PLAIN, "event"),
    )  # fmt: skip
    return builder.build()


def test_large_traces_are_colored_in_a_thread_while_the_old_picture_stays(harness, monkeypatch):
    session, scene = harness.session, harness.timeline.scene
    session.add([large()])
    harness.settle()
    before, go, threads = scene.rasters, threading.Event(), []
    work = drawings.colored

    def slowly(*asked):
        threads.append(threading.current_thread())
        go.wait(10)
        return work(*asked)

    monkeypatch.setattr(drawings, "colored", slowly)
    set_scheme(session, "duration")
    assert scene.rasters is before
    go.set()
    harness.settle()
    assert scene.rasters[0].scheme.startswith("duration")
    assert threads[0] is not threading.main_thread()
    slices, palette = session.traces[0].trace.slices, scene.rasters[0].palette
    lengths = slices.end - slices.start
    assert (np.diff(palette[np.argsort(lengths, kind="stable")].astype(int)) >= 0).all()
    assert palette[lengths == 1].max() == RAMP
    assert palette[lengths == 7].min() == RAMP + RAMP_STEPS - 1
    assert sum(share.count for share in legend_of(harness).shares.listed) == len(lengths)


def test_closing_while_colors_are_worked_out_leaves_nothing(harness, monkeypatch):
    session, go, work = harness.session, threading.Event(), drawings.colored
    session.add([large()])
    harness.settle()
    monkeypatch.setattr(drawings, "colored", lambda *a: (go.wait(10), work(*a))[1])
    set_scheme(session, "duration")
    session.close_all()
    go.set()
    harness.settle()
    assert harness.timeline.scene.rasters == []


def test_a_lit_class_of_a_large_trace_is_not_counted_anew(harness, monkeypatch):
    session, legend = harness.session, legend_of(harness)
    session.add([large()])
    harness.settle()
    before = legend.shares.listed
    assert len(before) == 4

    def fail(asked):
        raise AssertionError("counted anew")

    monkeypatch.setattr(legend_module, "shares", fail)
    highlight_class(session, (before[0].title, before[0].color))
    harness.settle()
    assert legend.shares.listed is before
    scene = harness.timeline.scene
    lit = scene.drawings.stand_out(0, np.arange(8))
    names = [session.traces[0].trace.name(i) for i in range(8)]
    assert lit.tolist() == [name == before[0].title for name in names]


def test_another_clock_rate_keeps_the_colors_and_tells_other_lengths(harness):
    harness.open_sample("torq_npu")
    session, scene = harness.session, harness.timeline.scene
    set_scheme(session, "type")
    number = clock_trace(session)
    raster = scene.rasters[number].raster
    set_clock(session, number, Fraction(10))
    assert scene.rasters[number].raster is raster
    set_scheme(session, "duration")
    before = [b.title for b in legend_of(harness).classes if b.is_step]
    set_clock(session, number, Fraction(20))
    assert [b.title for b in legend_of(harness).classes if b.is_step] != before


def test_very_many_names_are_counted_and_the_first_are_listed(harness):
    slices = 30_000
    builder = TraceBuilder("names.csv", "Profile CSV", "", Clock())
    at = np.arange(slices)
    builder.add(
        track=builder.track("p", "t"), start=at * 1000, end=at * 1000 + 1 + at % 999,
        name=builder.intern_all([f"name {i}" for i in range(slices)]),
        key=builder.key(KeyKind.PLAIN, "name 7"),
    )  # fmt: skip
    harness.session.add([builder.build()])
    harness.settle()
    legend = legend_of(harness)
    seen = sum(not button.isHidden() for button in legend.classes)
    assert legend.more.text() == f"and {group_digits(slices - seen)} more"
    menu = legend.rest_menu()
    assert menu.actions()[-1].text() == f"and {group_digits(slices - MOST)} more"
    menu.close()
    highlight_class(harness.session, ("name 7", int(by_name(["name 7"])[0])))
    harness.settle()
    assert np.flatnonzero(harness.timeline.scene.drawings.stand_out(0, at)).tolist() == [7]


def test_shares_are_those_of_the_operators_panel_and_say_what_they_are_of(attention):
    session, legend = attention.session, legend_of(attention)
    table = session.traces[0].costs.table
    runs = session.traces[0].trace.runs
    for run, scope in (
        (runs[session.state.run[1]], "run 2 of 5"),
        (None, "4 inferences"),
    ):
        pick_run(session, None if run is None else session.state.run)
        cost = table(STEADY) if run is None else session.traces[0].costs.of_run(run)
        most_expensive = max(
            (row for row in cost.rows if not row.is_shared), key=lambda row: row.ticks
        )
        share = next(share for share in legend.shares.listed if share.color < 12)
        assert (share.ns, share.whole) == (most_expensive.ticks, cost.whole)
        assert legend.scope == scope
        assert f" of {scope}" in legend.classes[0].toolTip()


def test_shares_of_steps_are_called_so(harness):
    harness.open(DATA / "chrome_json" / "torch_training.json.gz")
    harness.settle()
    pick_run(harness.session, None)
    assert legend_of(harness).scope == "5 steps"


def test_shares_of_the_mean_inference_are_those_of_its_operators_too(attention):
    session, legend = attention.session, legend_of(attention)
    as_run = [share.title for share in legend.shares.listed][:2]
    session.show_inferences(Inferences.MEAN)
    attention.settle()
    listed = legend.shares.listed
    assert [share.title for share in listed][:2] == as_run
    (run,) = session.traces[0].trace.runs
    assert sum(share.ns for share in listed) == listed[0].whole == run.end - run.start


def test_files_without_what_the_scheme_tells_stand_apart_with_their_own_shares(harness):
    """A compile profile is linked to its text, the host's profile on its clock to nothing."""
    data = Path(__file__).parents[2] / "data/torq"
    plan, host = data / "compile_c3_taskid.csv", data / "host_h4_latest.csv"
    estimate = open_file(str(plan))
    on_host = replace(estimate, clock=replace(estimate.clock, domain=HOST.domain))
    others = (open_file(str(path)) for path in (data / "tiny_cnn.mlir", host))
    harness.session.add([on_host, *others])
    harness.settle()
    legend = legend_of(harness)
    listed = legend.shares.listed
    by_name = [share for share in listed if share.by_name]
    assert listed[-len(by_name) :] == tuple(by_name)
    assert "NSS_WAIT" in {share.title for share in by_name}
    assert "tosa.add@L16" in {share.title for share in listed if not share.by_name}
    for group in (by_name, [share for share in listed if not share.by_name]):
        (whole,) = {share.whole for share in group}
        assert whole == pytest.approx(sum(share.ns for share in group))
    actions = {"NSS_START", "NSS_WAIT", "HOST_COPY", "HOST_START", "HOST_WAIT", "ALLOC", "DEALLOC"}
    own = [s.color for s in by_name if s.title in actions or s.title.startswith("job ")]
    assert len(own) == len(set(own)) > 8
    assert legend.others.isVisible()
    assert legend.others.text() == "host_h4_latest.csv, by name:"
    assert "No source is linked" in legend.others.toolTip()
    seen = [b for b in legend.classes if not b.isHidden()]
    first = next(b for b in seen if b.share.by_name)
    assert legend.others.geometry().right() < first.x()
    assert all(b.geometry().right() < legend.others.x() for b in seen if not b.share.by_name)
    sections = [action.text() for action in legend.rest_menu().actions() if action.isSeparator()]
    assert sections == ["host_h4_latest.csv, by name:"]


def test_a_file_that_is_a_sliver_says_how_to_zoom_to_it(harness):
    short, long = (
        clocked_trace(name, HOST, (0, end)) for name, end in (("a.csv", 40), ("b.csv", 2_000))
    )
    harness.session.add([short, long])
    scene = harness.timeline.scene
    assert "Too short" not in process_note(scene, 1)
    assert "right-click the name to zoom to this file" in process_note(scene, 0)
    navigation.fit_file(harness.session, 0)
    assert "Too short" not in process_note(scene, 0)


def test_it_says_where_times_come_from_unless_all_are_measured(attention):
    legend = legend_of(attention)
    assert legend.times.text() == "Some times are placed, rounded and derived"
    assert legend.times.isVisible()
    assert "Placed: the start is not measured." in legend.toolTip()
    shown = [button for button in legend.classes if not button.isHidden()]
    assert all(b.geometry().right() < legend.times.geometry().left() for b in shown)
