"""Sources that lie elsewhere than where they were recorded: located once, remembered, forgotten."""

import shutil
from pathlib import Path

import shiboken6

from tests.gui.events import SAMPLE, answer_file_dialog, open_files, settle
from viewer.gui.window.main_window import MainWindow
from viewer.view.state import SliceRef

ATTENTION, ATTENTION_RECORD = SAMPLE["attention_xnnpack"].paths()


def names(controller):
    return [Path(path).name for path in controller.session.workspace.paths]


def test_a_source_is_located_once_for_all_paths_and_remembered(
    controller, qtbot, qapp, data, tmp_path, monkeypatch
):
    runs = tmp_path / "a/b/c/runs"  # too far down for its source to be found by itself
    runs.mkdir(parents=True)
    for path in (ATTENTION, ATTENTION_RECORD):
        shutil.copy(path, runs)
    here = tmp_path / "models" / "models.py"
    here.parent.mkdir()
    shutil.copy(Path(ATTENTION).parent / "models.py", here)
    open_files(qtbot, controller, *runs.iterdir())
    controller.session.select_operators(0, (9,))
    assert "models.py was not found" in controller.panels["source"].missing.text.text()
    assert not controller.panels["source"].missing.isHidden()
    chosen = [str(tmp_path / "gone.py"), "", str(here)]
    answer_file_dialog(monkeypatch, *chosen)
    controller.source_paths.locate(controller.panels["source"].place[0])
    assert "gone.py is not a text file of at most 8 MB" in controller.window.message.text
    controller.source_paths.locate(controller.panels["source"].place[0])
    assert controller.settings.source_paths() == []
    controller.source_paths.locate(controller.panels["source"].place[0])
    assert controller.panels["source"].missing.isHidden()
    assert controller.panels["source"].note.text().startswith(f"shown from {here}")
    assert controller.settings.source_paths() == [("/home/user", str(tmp_path))]
    again = MainWindow(controller.theme, controller.settings)
    assert [s.recorded_path for s in again.controller.session.workspace.choices.source_paths] == [
        "/home/user"
    ]
    again.close()
    shiboken6.delete(again)  # before the theme, which is the other window's
    (substitution,) = controller.session.workspace.choices.source_paths
    controller.source_paths.forget(substitution)
    assert controller.settings.source_paths() == []
    assert "models.py was not found" in controller.panels["source"].missing.text.text()
    assert not controller.panels["source"].missing.isHidden()


def test_a_file_of_another_kind_is_located_alone_and_its_folder_stays_private(
    controller, qtbot, tmp_path, monkeypatch
):
    """One click on a file must not open its folder to whatever a profile names."""
    for name in ("kernel.cu", "id_rsa"):
        (tmp_path / name).write_text("x")
    open_files(qtbot, controller, ATTENTION, ATTENTION_RECORD)
    chosen = str(tmp_path / "kernel.cu")
    answer_file_dialog(monkeypatch, chosen)
    controller.source_paths.locate("/build/kernel.cu")
    space = controller.session.workspace
    assert space.source("/build/kernel.cu").shown == chosen
    assert space.source("/build/id_rsa") is None


def test_a_text_of_a_profile_is_located_opened_and_found_again(
    controller, qtbot, data, tmp_path, monkeypatch
):
    text = (data / "torq" / "compile_c3_taskid_mtu.csv").read_text()
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(text.replace('"tiny_cnn.mlir"', '"/build/tiny_cnn.mlir"'))
    (tmp_path / "models").mkdir()
    moved = shutil.copy(data / "torq" / "tiny_cnn.mlir", tmp_path / "models")
    open_files(qtbot, controller, tmp_path / "a.csv")
    trace = controller.session.traces[0].trace
    placed = next(
        i
        for i in range(44)
        if controller.session.traces[0].link(i).detail
        and "tiny" in str(trace.keys.location[trace.slices.key[i]])
    )
    controller.session.select_slice(SliceRef(0, placed))
    assert controller.panels["source"].sentence.startswith("tiny_cnn.mlir was not found")
    answer_file_dialog(monkeypatch, moved)
    with qtbot.waitSignal(controller.loader.all_done):
        controller.source_paths.locate(controller.panels["source"].place[0])
    settle(qtbot, controller)
    assert names(controller) == ["a.csv", "tiny_cnn.mlir"]
    assert controller.session.traces[0].table.program.path == moved
    controller.commands.actions["file.close_all"].trigger()
    open_files(qtbot, controller, tmp_path / "b.csv")
    assert names(controller) == ["b.csv", "tiny_cnn.mlir"]
