"""The other arm of a comparison: from the dialog, a drop, or a folder."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QUrl

from tests.builders.compared_windows import arms_of, write_arms
from tests.gui.events import answer_file_dialog, open_files, settle
from tests.gui.window.shown import message
from viewer.gui.session.comparison import ComparisonFeed
from viewer.view.state import SliceRef

EDIT = "06_portable_vs_xnnpack"


@pytest.fixture(scope="module")
def arms(tmp_path_factory):
    return write_arms(tmp_path_factory.mktemp("arms"))


@pytest.fixture
def with_a(shared_window, arms):
    """The window with the profiles of A open."""
    return shared_window.showing(*arms[0])


def compared(controller, qtbot):
    qtbot.waitUntil(lambda: ComparisonFeed.of(controller.session).answer is not None)
    settle(qtbot, controller)
    return controller.session.state.compared


def test_compare_adds_files_to_both_lists_and_says_what_is_missing(
    with_a, qtbot, arms, monkeypatch
):
    answer_file_dialog(monkeypatch, arms[1])
    with_a.commands.run("compare.with")
    dialog = with_a.comparing.dialog
    assert dialog.files_of(0) == arms[0]
    assert dialog.line.text() == f"{len(arms[0])} + 0: add files to B, needs 3 + 3 for a verdict"
    assert not dialog.button.isEnabled()
    dialog.files_wanted.emit(1)
    qtbot.waitUntil(lambda: dialog.files_of(1) == arms[1])
    assert dialog.line.text() == "4 + 4 sessions: enough for a verdict"
    dialog.tables[0].selectRow(0)
    dialog.moves[0].click()
    dialog.tables[0].selectRow(0)
    dialog.moves[0].click()
    assert dialog.line.text() == "2 + 6: no verdict, needs 3 + 3"
    dialog.expect(0, arms[0])
    dialog.button.click()
    assert compared(with_a, qtbot) == arms_of(*arms)
    assert with_a.docks.is_shown("compare")
    assert with_a.panels["operators"].model.rows[0].op == "add.out"
    assert with_a.panels["operators"].subtitle.text() == "medians of 4 + 4 sessions"
    assert with_a.comparing.dialog is None


def test_files_are_dropped_on_the_list_that_they_are_for(with_a, qtbot, arms):
    with_a.comparing.choose()
    dialog = with_a.comparing.dialog
    dialog.dropped.emit(1, arms[1][:1])
    qtbot.waitUntil(lambda: dialog.files_of(1) == arms[1][:1])
    assert dialog.files_of(0) == arms[0]
    assert dialog.line.text() == "4 + 1: no verdict, needs 3 + 3"
    dialog.reject()
    assert with_a.session.state.compared is None


def test_files_that_are_open_already_change_their_arm(with_a, qtbot, arms):
    with_a.comparing.start(arms[0][2:])
    chosen = compared(with_a, qtbot)
    assert chosen == arms_of(arms[0][:2], arms[0][2:])


def test_a_drop_on_the_target_compares_and_elsewhere_adds(with_a, qtbot, arms):
    urls = [QUrl.fromLocalFile(path) for path in arms[1]]
    with_a.drops.enter(urls)
    target = with_a.drops.overlay.compare_target
    assert not target.isEmpty()
    with_a.drops.move(target.center())
    with_a.drops.drop(urls)
    assert compared(with_a, qtbot).b.paths == tuple(arms[1])
    with_a.drops.enter(urls)
    with_a.drops.move(QPoint(2, 2))
    assert not with_a.drops.overlay.is_on_compare


def test_a_folder_stands_for_the_profiles_in_it(with_a, qtbot, arms, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    for path in arms[1]:
        shutil.copy(path, folder)
    with_a.comparing.start([str(folder)])
    assert [Path(path).name for path in compared(with_a, qtbot).b.paths] == [
        Path(path).name for path in arms[1]
    ]


def test_a_folder_or_a_file_without_a_profile_says_so(with_a, qtbot, tmp_path):
    (tmp_path / "empty").mkdir()
    with_a.comparing.start([str(tmp_path / "empty")])
    qtbot.waitUntil(lambda: "no profile in this folder" in message(with_a))
    assert with_a.session.state.compared is None


def test_without_a_profile_there_is_no_target(controller, arms):
    controller.drops.enter([QUrl.fromLocalFile(arms[1][0])])
    assert controller.drops.overlay.compare_target.isEmpty()
    controller.drops.leave()


def test_each_arm_keeps_its_own_record(controller, qtbot, data):
    """Two exports of one model: the record that is chosen with B does not take A's profile."""
    edit = data / "compare" / EDIT
    files = {path.name: path for path in edit.iterdir()}
    open_files(qtbot, controller, files["a.etdp"], files["a.etrecord"])
    controller.comparing.start([str(files["b.etdp"]), str(files["b.etrecord"])])
    compared(controller, qtbot)
    space = controller.session.workspace
    linked = {Path(t.path).name: Path(space.links(t).program_path or "").name for t in space.traces}
    assert linked == {"a.etdp": "a.etrecord", "b.etdp": "b.etrecord"}


def test_a_selected_slice_without_a_strip_gets_one_and_track_commands_work(with_a, qtbot, arms):
    controller = with_a
    controller.comparing.start(arms[1])
    compared(controller, qtbot)
    shown = {strip.scene.clock for strip in controller.timeline.strips}
    session = controller.session
    hidden = next(i for i, t in enumerate(session.traces) if t.file.path not in shown)
    session.select_slice(SliceRef(hidden, 3))
    settle(qtbot, controller)
    assert len(controller.timeline.strips) == 3
    assert controller.timeline.scene_of(hidden).clock == session.traces[hidden].file.path
    assert controller.commands.actions["tracks.pin"].isEnabled()


@pytest.mark.slow
def test_reloading_and_closing_during_a_comparison_raise_nothing(with_a, qtbot, arms):
    """Commands are checked while files change, before the timeline has their tracks."""
    with_a.comparing.start(arms[1])
    compared(with_a, qtbot)
    session = with_a.session
    shown = {strip.scene.clock for strip in with_a.timeline.strips}
    hidden = next(i for i, t in enumerate(session.traces) if t.file.path not in shown)
    session.select_slice(SliceRef(hidden, 3))
    with qtbot.waitSignal(with_a.loader.all_done, timeout=20_000):
        with_a.session_files.reload()
    settle(qtbot, with_a)
    assert session.state.compared is not None
    session.close_all()
    settle(qtbot, with_a)
    assert session.is_empty


def test_the_canvas_keeps_the_focus_when_strips_go(with_a, qtbot, arms):
    with_a.timeline.view.setFocus()
    with_a.comparing.start(arms[1])
    compared(with_a, qtbot)
    assert len(with_a.timeline.strips) == 2
    assert with_a.timeline.view.hasFocus()
