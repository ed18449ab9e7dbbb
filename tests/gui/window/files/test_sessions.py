"""Session files in the window: saved, opened again, asked for, reloaded, and kept at the end."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.gui.events import answer_file_dialog, controller_of, open_files, put_away, settle
from viewer.gui.session import navigation
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.session.choices import arrange_tracks, set_scheme
from viewer.gui.session.clocks import set_ruler
from viewer.gui.session.feeds import derived
from viewer.gui.session.feeds.derived import DerivedTracks
from viewer.gui.session.feeds.numbers import NumbersFeed
from viewer.gui.session.feeds.references import Automatic, Reference
from viewer.gui.session.feeds.search import Search
from viewer.gui.window.files import sessions
from viewer.model.inference_views import Inferences
from viewer.render.arrangement import TrackOrder
from viewer.view.derived_tracks import ChartKind, DerivedTrack
from viewer.view.sessions.session_file import read
from viewer.view.state import Area, Bookmark, RulerUnit, SliceRef, TrackView

DATA = Path(__file__).parents[3] / "data"
FILES = ("etdump/cnn_xnnpack_x10.etdp", "etrecord/cnn_teal_xnnpack.etrecord")


@pytest.fixture
def folder(tmp_path):
    """A folder with a dump and its record."""
    made = tmp_path / "work"
    made.mkdir()
    for name in FILES:
        shutil.copy(DATA / name, made)
    return made


def files_in(folder):
    return [folder / Path(name).name for name in FILES]


def save(qtbot, controller, monkeypatch, path):
    answer_file_dialog(monkeypatch, path)
    with qtbot.waitSignal(controller.saver.saved):
        controller.commands.actions["file.save_session_as"].trigger()


def take_up(qtbot, controller, path):
    with qtbot.waitSignal(controller.session.files_added, timeout=20_000):
        controller.opener.open([str(path)])
    settle(qtbot, controller)


def errors(controller):
    return controller.window.message.text


def test_queries_that_are_drawn_run_again(controller, qtbot, folder, tmp_path, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    session = controller.session
    sql = "SELECT name, start_ns, dur_ns FROM slices WHERE depth = 0"
    derived.add(session, DerivedTrack("outer", sql, session.group.key))
    tracks = DerivedTracks.of(session)
    qtbot.waitUntil(lambda: bool(tracks.on(session.group.key)), timeout=60_000)
    count = len(tracks.on(session.group.key)[0].trace.slices)
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    moved = folder.rename(tmp_path / "copy")
    session.close_all()
    assert session.state.derived == ()
    take_up(qtbot, controller, moved / "mine.opscope")
    assert [(track.name, track.sql) for track in session.state.derived] == [("outer", sql)]
    qtbot.waitUntil(lambda: bool(tracks.on(session.group.key)), timeout=60_000)
    (drawn,) = tracks.on(session.group.key)
    assert len(drawn.trace.slices) == count > 0
    # A file of an earlier version has none.
    saved = json.loads((moved / "mine.opscope").read_text())
    del saved["view"]["derived"]
    (moved / "mine.opscope").write_text(json.dumps(saved))
    session.close_all()
    take_up(qtbot, controller, moved / "mine.opscope")
    assert session.state.derived == ()


@pytest.mark.slow
def test_charts_come_back_with_their_query_and_are_drawn(
    controller, qtbot, folder, tmp_path, monkeypatch
):
    open_files(qtbot, controller, *files_in(folder))
    session = controller.session
    sql = "SELECT name, count(*) AS n FROM slices GROUP BY 1"
    derived.keep_chart(session, "counts", sql, ChartKind.LINE)
    derived.keep_chart(session, " ", f"{sql} ORDER BY 2", ChartKind.BARS)
    charts = session.state.charts
    assert [chart.name for chart in charts] == ["counts", "Chart 1"]
    session.undo()
    assert session.state.charts == charts[:1]
    session.redo()
    assert controller.session_files.work.is_any
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    moved = folder.rename(tmp_path / "copy")
    session.close_all()
    assert session.state.charts == ()
    controller.docks.show_panel("query")
    take_up(qtbot, controller, moved / "mine.opscope")
    assert session.state.charts == charts
    panel = controller.docks.by_name["query"]
    qtbot.waitUntil(lambda: panel.chart is not None, timeout=60_000)
    assert panel.editor.toPlainText() == charts[-1].sql  # who opens it sees what ran
    assert panel.chart.accessibleName() == "Bars of n by name"
    # A chart of a later version is left out.
    saved = json.loads((moved / "mine.opscope").read_text())
    saved["view"]["charts"][0]["kind"] = "pie"
    (moved / "mine.opscope").write_text(json.dumps(saved))
    session.close_all()
    take_up(qtbot, controller, moved / "mine.opscope")
    assert session.state.charts == charts[1:]


def pick(box, key):
    """Choose an entry of a box, as a user does."""
    box.setCurrentIndex(box.findData(key))
    box.activated.emit(box.currentIndex())


@pytest.mark.slow
def test_keys_and_columns_of_tables_come_back(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    controller.docks.show_panel("statistics")
    pages = controller.docks.by_name
    settle(qtbot, controller)
    statistics, operators = pages["statistics"], pages["operators"]
    standard = {page: page.model.hidden for page in (statistics, operators)}
    pick(statistics.by, "thread")
    pick(statistics.then, "type")
    for table, title in ((statistics.table, "First start"), (operators.table, "Calls")):
        menu = table.menu_of_columns()
        titles = [action.text() for action in menu.actions()]
        menu.actions()[titles.index(title) if title in titles else 0].toggle()
    chosen = {page: (page.model.hidden, page.table._picked) for page in (statistics, operators)}
    assert all(chosen[page][0] != hidden for page, hidden in standard.items())
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.session.close_all()
    open_files(qtbot, controller, *files_in(folder))
    assert (statistics.key, statistics.then.chosen_key) != ("thread", "type")
    for page, hidden in standard.items():
        page.model.choose_columns(hidden)
    controller.session.close_all()
    take_up(qtbot, controller, folder / "mine.opscope")
    settle(qtbot, controller)
    assert (statistics.key, statistics.then.chosen_key) == ("thread", "type")
    assert {page: (page.model.hidden, page.table._picked) for page in chosen} == chosen
    # Names that are no keys or columns do nothing.
    saved = json.loads((folder / "mine.opscope").read_text())
    saved["view"]["tables"] = [{"table": "statistics", "by": "x", "then": "arg:", "hidden": ["?"]}]
    (folder / "mine.opscope").write_text(json.dumps(saved))
    take_up(qtbot, controller, folder / "mine.opscope")
    settle(qtbot, controller)
    assert statistics.key != "thread"
    assert statistics.then.chosen_key == ""
    assert errors(controller) == ""


def test_all_that_was_seen_comes_back(controller, qtbot, qapp, folder, tmp_path, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    session = controller.session
    session.select_slice(SliceRef(0, 40))
    session.set_range(1_000, 9_000)
    clock = session.state.clock
    marks = (
        Bookmark(2_000, 3_000, "slow", "why?", clock),
        Bookmark(5_000, 5_000, "now", clock=clock),
    )
    set_bookmarks(session, marks, 1, None)
    Search.of(session).set_query("conv")
    Search.of(session).show_only_hits(True)
    set_scheme(session, "name")
    set_ruler(session, RulerUnit.ABSOLUTE)
    part = (0, session.traces[0].file.tracks[0].process)
    tracks = replace(
        session.state.tracks.with_row_height(part, 44), pinned=((0, 0),), order=TrackOrder.NAME
    )
    arrange_tracks(session, tracks)
    navigation.step_run(session, 1)
    was = session.state
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    assert controller.window.windowTitle() == "mine.opscope – Opscope"
    # On another machine the folder has another name.
    moved = folder.rename(tmp_path / "copy")
    session.close_all()
    assert controller.window.windowTitle() == "Opscope"
    take_up(qtbot, controller, moved / "mine.opscope")
    # Its clock is named after the file.
    clock = str(files_in(moved)[0])
    marks = tuple(replace(mark, clock=clock) for mark in was.bookmarks)
    assert session.state == replace(was, clock=clock, bookmarks=marks)
    assert session.workspace.paths == [str(path) for path in files_in(moved)]
    assert errors(controller) == ""


def test_the_tabs_in_front_come_back(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    assert controller.docks.front_tabs == ("summary", "operators", "source")
    for name in ("model", "links"):
        controller.docks.show_panel(name)
    settle(qtbot, controller)
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.commands.actions["file.close_all"].trigger()
    settle(qtbot, controller)
    with qtbot.waitSignal(controller.session.files_added, timeout=20_000):
        controller.commands.actions["go.undo"].trigger()
    settle(qtbot, controller)
    assert controller.docks.front_tabs == ("summary", "model", "links")
    controller.docks.show_panel("source")
    controller.docks.show_panel("events")
    take_up(qtbot, controller, folder / "mine.opscope")
    assert controller.docks.front_tabs == ("summary", "model", "links")


def test_how_the_panels_are_arranged_comes_back(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    home = controller.docks.choices
    controller.docks.close_panel("graph")
    controller.docks.show_panel("memory", by_hand=True)
    controller.docks.float_panel("model")
    controller.commands.run("panel.source")
    arranged = controller.docks.choices
    save(qtbot, controller, monkeypatch, folder / "kept.opscope")
    controller.session.close_all()
    settle(qtbot, controller)
    open_files(qtbot, controller, *files_in(folder))
    assert controller.docks.choices == home, "other files start at home"
    take_up(qtbot, controller, folder / "kept.opscope")
    found = controller.docks.choices
    assert (found.opened, found.closed) == (arranged.opened, arranged.closed)
    assert found.floating == ("model",)
    assert found.sizes == pytest.approx(arranged.sizes, abs=4)


def test_the_page_of_a_panel_comes_back(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    controller.docks.show_panel("statistics")
    settle(qtbot, controller)
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.docks.show_panel("operators")
    assert controller.docks.front_tabs == ("summary", "operators", "source")
    take_up(qtbot, controller, folder / "mine.opscope")
    assert controller.docks.front_tabs == ("summary", "statistics", "source")
    assert controller.panels["statistics"].isVisible()


def test_the_reference_of_logged_values_comes_back(controller, qtbot, tmp_path, monkeypatch):
    dump, reference = tmp_path / "own.etdp", tmp_path / "reference.npz"
    shutil.copy(DATA / "numbers/xnnpack.etdp", dump)
    np.savez(reference, a=np.zeros(3))
    open_files(qtbot, controller, dump)
    feed = NumbersFeed.of(controller.session)
    feed.choose(Reference(str(reference)))
    settle(qtbot, controller)
    save(qtbot, controller, monkeypatch, tmp_path / "mine.opscope")
    feed.choose(Automatic.NOTHING)
    take_up(qtbot, controller, tmp_path / "mine.opscope")
    assert feed.chosen == Reference(str(reference))
    reference.unlink()
    feed.choose(Automatic.NOTHING)
    take_up(qtbot, controller, tmp_path / "mine.opscope")
    assert feed.chosen is Automatic.COMPARED
    assert errors(controller) == "mine.opscope: reference.npz was not found"


def test_a_session_with_a_tab_that_is_not_there_opens(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    path = folder / "mine.opscope"
    save(qtbot, controller, monkeypatch, path)
    told = json.loads(path.read_text())
    told["view"]["front"] = ["no such panel", "marks"]
    path.write_text(json.dumps(told))
    take_up(qtbot, controller, path)
    assert controller.docks.front_tabs == ("summary", "operators", "source")
    assert not controller.docks.is_open("marks"), "there are no bookmarks"


def test_a_session_takes_the_place_of_what_is_open(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.session.close_all()
    open_files(qtbot, controller, DATA / "table_csv/two_threads.csv")
    take_up(qtbot, controller, folder / "mine.opscope")
    assert [Path(path).name for path in controller.session.workspace.paths] == [
        "cnn_xnnpack_x10.etdp", "cnn_teal_xnnpack.etrecord"
    ]  # fmt: skip


def test_an_input_that_is_nowhere_is_asked_for(controller, qtbot, folder, tmp_path, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.session.close_all()
    away = tmp_path / "far" / "dump.bin"
    away.parent.mkdir()
    files_in(folder)[0].rename(away)
    questions = answer_file_dialog(monkeypatch, away)
    take_up(qtbot, controller, folder / "mine.opscope")
    assert [question.title for question in questions] == ["Where is cnn_xnnpack_x10.etdp?"]
    assert controller.session.workspace.paths[0] == str(away)


def test_without_one_input_the_others_open_and_it_is_said(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    set_bookmarks(controller.session, (Bookmark(2_000, 3_000, "slow"),), None, None)
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.session.close_all()
    files_in(folder)[1].unlink()
    answer_file_dialog(monkeypatch, "")
    take_up(qtbot, controller, folder / "mine.opscope")
    assert "mine.opscope: cnn_teal_xnnpack.etrecord was not found" in errors(controller)
    assert [mark.name for mark in controller.session.state.bookmarks] == ["slow"]


def test_an_input_of_other_content_is_told(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    slices = controller.session.traces[0].file.slices
    last = np.where(slices.derived, 0, slices.source_row).argmax()
    controller.session.select_slice(SliceRef(0, int(last)))
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.session.close_all()
    shutil.copy(DATA / "etdump/cnn_portable_x1.etdp", files_in(folder)[0])
    take_up(qtbot, controller, folder / "mine.opscope")
    qtbot.waitUntil(lambda: "has changed since the session was saved" in errors(controller))
    assert "1 selected slice of the session is not in these files" in errors(controller)
    assert controller.session.state.slice is None


def test_a_session_of_which_nothing_can_be_read_is_forgotten(
    controller, qtbot, folder, monkeypatch
):
    open_files(qtbot, controller, *files_in(folder))
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.session.close_all()
    for path in files_in(folder):
        path.write_bytes(b"no profile")
    with qtbot.waitSignal(controller.opener.nothing_opened, timeout=20_000):
        controller.opener.open([str(folder / "mine.opscope")])
    assert (controller.session_files.is_restoring, controller.session_files.path) == (False, "")
    controller.autosave.save()
    assert not list(Path(controller.autosave.file.folder).glob("autosave-*.opscope"))


def test_a_damaged_session_file_leaves_what_is_open(controller, qtbot, folder):
    open_files(qtbot, controller, *files_in(folder))
    broken = folder / "broken.opscope"
    broken.write_text('{"opscope_session": 1, "inputs": 5}')
    controller.opener.open([str(broken)])
    assert "this is not a session file" in errors(controller)
    assert len(controller.session.traces) == 1


def test_aligned_inferences_come_back_aligned(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    controller.session.show_inferences(Inferences.ALIGNED)
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.session.close_all()
    take_up(qtbot, controller, folder / "mine.opscope")
    assert controller.session.state.inferences is Inferences.ALIGNED


def test_a_session_takes_the_place_of_what_is_being_read_too(
    controller, qtbot, folder, monkeypatch
):
    open_files(qtbot, controller, *files_in(folder))
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.session.close_all()
    controller.opener.open(
        [str(DATA / "etdump/deep_portable_x3.etdp"), str(DATA / "etdump/gru_portable_x1.etdp")]
    )
    take_up(qtbot, controller, folder / "mine.opscope")
    qtbot.waitUntil(lambda: not controller.opener.is_busy)
    settle(qtbot, controller)
    assert controller.session.workspace.paths == [str(path) for path in files_in(folder)]


def test_tracks_of_aligned_inferences_are_of_no_file(controller, qtbot, folder, monkeypatch):
    """They are more than the file has: nothing of them can be saved, nor stop what closes it."""
    open_files(qtbot, controller, *files_in(folder))
    controller.session.show_inferences(Inferences.ALIGNED)
    set_bookmarks(controller.session, (Bookmark(2_000, 3_000, "slow"),), None, None)
    last = len(controller.session.traces[0].trace.tracks) - 1
    assert last >= len(controller.session.traces[0].file.tracks)
    arrange_tracks(
        controller.session, TrackView(pinned=((0, last),), collapsed=frozenset({(0, last)}))
    )
    controller.session.select_area(Area(0, 9_000, frozenset({(0, last)})))
    save(qtbot, controller, monkeypatch, folder / "mine.opscope")
    controller.commands.actions["file.close_all"].trigger()
    assert controller.session.is_empty
    take_up(qtbot, controller, folder / "mine.opscope")
    assert controller.session.state.inferences is Inferences.ALIGNED
    assert controller.session.state.tracks == TrackView()
    assert [mark.name for mark in controller.session.state.bookmarks] == ["slow"]


def test_a_file_that_changes_is_offered_and_the_view_kept(controller, qtbot, folder):
    open_files(qtbot, controller, *files_in(folder))
    session = controller.session
    session.set_range(1_000, 9_000)
    set_bookmarks(session, (Bookmark(2_000, 3_000, "slow"),), None, None)
    dump = files_in(folder)[0]
    longer = DATA / "etdump/cnn_xnnpack3_x5.etdp"
    other = folder / "other"
    shutil.copy(longer, other)
    os.replace(other, dump)
    qtbot.waitUntil(lambda: "cnn_xnnpack_x10.etdp changed on disk" in errors(controller))
    with qtbot.waitSignal(session.files_added, timeout=20_000):
        controller.session_files.reload()
    settle(qtbot, controller)
    assert (session.state.t0, session.state.t1) == (1_000, 9_000)
    assert [mark.name for mark in session.state.bookmarks] == ["slow"]
    assert session.workspace.stamp(str(dump)).size == longer.stat().st_size
    assert "changed on disk" not in errors(controller)


def test_what_was_open_last_opens_again_in_another_window(
    qtbot, qapp, folder, tmp_path, monkeypatch
):
    first = controller_of(qtbot, tmp_path, monkeypatch)
    open_files(qtbot, first, *files_in(folder))
    set_bookmarks(first.session, (Bookmark(2_000, 3_000, "slow"),), None, None)
    put_away(first.window)
    second = controller_of(qtbot, tmp_path, monkeypatch)
    with qtbot.waitSignal(second.session.files_added, timeout=20_000):
        second.commands.actions["file.last_session"].trigger()
    settle(qtbot, second)
    assert [mark.name for mark in second.session.state.bookmarks] == ["slow"]
    # It is nobody's file: a save asks for one.
    assert second.session_files.path == ""
    put_away(second.window)


def test_a_session_that_names_itself_is_read_once(controller, qtbot, folder, monkeypatch):
    open_files(qtbot, controller, *files_in(folder))
    session = folder / "mine.opscope"
    save(qtbot, controller, monkeypatch, session)
    told = json.loads(session.read_text())
    told["inputs"].append({"path": session.name})
    session.write_text(json.dumps(told))
    controller.session.close_all()
    opened = []
    monkeypatch.setattr(sessions, "read", lambda path: (opened.append(path), read(path))[1])
    take_up(qtbot, controller, session)
    assert opened == [str(session)]
    assert controller.session.workspace.paths == [str(path) for path in files_in(folder)]
    assert "JSON without trace events" in errors(controller)


def test_a_file_that_is_gone_is_not_lost_by_reading_again(controller, qtbot, folder):
    open_files(qtbot, controller, *files_in(folder))
    set_bookmarks(controller.session, (Bookmark(2_000, 3_000, "slow"),), None, None)
    (trace,), (record,) = controller.session.workspace.traces, controller.session.workspace.programs
    files_in(folder)[0].unlink()
    reload(qtbot, controller)
    assert "cnn_xnnpack_x10.etdp" in errors(controller)
    assert "The version that was open stays open" in errors(controller)
    assert controller.session.workspace.traces == [trace]
    assert controller.session.workspace.programs != [record], "the others are replaced"
    assert [mark.name for mark in controller.session.state.bookmarks] == ["slow"]


def test_a_damaged_file_replaces_nothing(controller, qtbot, folder):
    dump = files_in(folder)[0]
    open_files(qtbot, controller, dump)
    session = controller.session
    session.set_range(1_000, 9_000)
    session.select_slice(SliceRef(0, 3))
    before, space = session.state, session.workspace
    dump.write_bytes(dump.read_bytes()[:20])
    reload(qtbot, controller)
    assert errors(controller).count("cnn_xnnpack_x10.etdp") == 1
    assert session.workspace is space
    assert session.state is before
    assert controller.commands.actions["go.undo"].isEnabled(), "the history is that of before"


def test_a_canceled_reload_replaces_nothing(controller, qtbot, folder):
    open_files(qtbot, controller, *files_in(folder))
    session = controller.session
    before, space = session.state, session.workspace
    with qtbot.waitSignal(controller.loader.all_done, timeout=20_000):
        controller.session_files.reload()
        controller.work.cancel()
    assert session.workspace is space
    assert session.state is before
    assert controller.window.status.said.text() == "Reload canceled: nothing has changed"


def test_undo_brings_back_the_version_before_a_reload(controller, qtbot, folder):
    dump, record = files_in(folder)
    open_files(qtbot, controller, dump, record)
    (old,) = controller.session.workspace.traces
    shutil.copy(DATA / "etdump/cnn_xnnpack3_x5.etdp", dump)
    reload(qtbot, controller)
    assert controller.session.workspace.traces != [old]
    assert "Reloaded 2 files · Ctrl+Z" in controller.window.status.said.text()
    controller.commands.actions["go.undo"].trigger()
    settle(qtbot, controller)
    assert controller.session.workspace.traces == [old]
    controller.commands.actions["go.redo"].trigger()
    settle(qtbot, controller)
    assert controller.session.workspace.traces != [old]


def reload(qtbot, controller):
    with qtbot.waitSignal(controller.loader.all_done, timeout=20_000):
        controller.session_files.reload()
    settle(qtbot, controller)


def test_a_program_file_comes_back_and_is_read_again(controller, qtbot, folder, monkeypatch):
    program = folder / "model.pte"
    shutil.copy(DATA / "pte" / "part_x.pte", program)
    open_files(qtbot, controller, *files_in(folder), program)
    saved = folder / "one.opscope"
    save(qtbot, controller, monkeypatch, saved)
    controller.session.close_all()
    take_up(qtbot, controller, saved)
    assert [e.path for e in controller.session.workspace.executables] == [str(program)]
    shutil.copy(DATA / "pte" / "cond.pte", program)
    controller.session_files.look()
    assert "model.pte changed on disk" in errors(controller)
    with qtbot.waitSignal(controller.session.files_added, timeout=20_000):
        controller.session_files.reload()
    settle(qtbot, controller)
    (executable,) = controller.session.workspace.executables
    assert len(executable.methods[0].instructions) == 21
