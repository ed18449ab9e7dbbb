"""The commands that write files: which tables there are, and a picture, all of it or none."""

import csv
import shutil
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from tests.gui.events import SAMPLE, answer_file_dialog, open_files, open_sample
from viewer.gui.timeline.picture import SHARP, ViewPicture
from viewer.gui.window.dialogs.file_dialog import FileAnswer, FileQuestion


@pytest.fixture
def asked(monkeypatch):
    """What the file dialog answers."""
    answer = ["", ""]

    def ask(question, parent, theme):
        path, chosen_filter = answer
        return FileAnswer((path,) if path else (), chosen_filter)

    monkeypatch.setattr(FileQuestion, "ask", ask)
    return answer


@pytest.mark.parametrize(
    ("name", "filter", "written", "magic"),
    [
        ("a.png", "", "a.png", b"\x89PNG"),
        ("a.SVG", "", "a.SVG", b"<?xml"),
        ("a", "Document, PDF (*.pdf)", "a.pdf", b"%PDF"),
        ("a.b", "", "a.b.png", b"\x89PNG"),
    ],
)
def test_the_view_is_saved(shared_window, qtbot, asked, tmp_path, name, filter, written, magic):
    controller = shared_window.showing_sample("attention_xnnpack")
    asked[:] = str(tmp_path / name), filter
    size = ViewPicture(controller.timeline).size
    controller.commands.actions["file.save_picture"].trigger()
    qtbot.waitUntil(lambda: not controller.saver.is_busy)
    path = tmp_path / written
    assert path.read_bytes().startswith(magic)
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".ini"] == [written]
    if magic == b"\x89PNG":
        assert QImage(str(path)).size() == size * SHARP
    assert controller.window.status.said.text().startswith("Wrote ")


def test_cancelling_the_dialog_writes_nothing(shared_window, qtbot, asked, tmp_path):
    controller = shared_window.showing_sample("attention_xnnpack")
    controller.commands.actions["file.save_picture"].trigger()
    assert not controller.saver.is_busy


def test_a_folder_that_is_not_there_is_one_sentence(shared_window, qtbot, asked, tmp_path):
    controller = shared_window.showing_sample("attention_xnnpack")
    asked[0] = str(tmp_path / "no" / "a.pdf")
    controller.commands.actions["file.save_picture"].trigger()
    qtbot.waitUntil(lambda: "was not written" in controller.window.message.text)


# -- tables ------------------------------------------------------------------------------------


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def written_by(qtbot, controller, asked, command, path):
    asked[0] = str(path)
    controller.commands.actions[command].trigger()
    qtbot.waitUntil(lambda: not controller.saver.is_busy)
    return rows_of(path)


def test_slices_and_operators_are_tables_of_their_own(shared_window, qtbot, asked, tmp_path):
    controller = shared_window.showing_sample("attention_xnnpack")
    (shown,) = controller.session.traces
    slices = written_by(qtbot, controller, asked, "file.export_table", tmp_path / "s.csv")
    assert len(slices) == len(shown.file.slices)
    operators = written_by(qtbot, controller, asked, "file.export_operators", tmp_path / "o.csv")
    assert len(operators) == len(shown.table.program.operators) == 38
    assert set(operators[0]) != set(slices[0])


def test_a_profile_alone_has_no_table_of_operators(controller, qtbot, data):
    open_files(qtbot, controller, data / "etdump/attn_xnnpack_x5.etdp")
    assert controller.commands.actions["file.export_table"].isEnabled()
    assert not controller.commands.actions["file.export_operators"].isEnabled()
    assert "ETRecord" in controller.commands.commands["file.export_operators"].need


def test_a_record_alone_has_a_table_of_operators_only(controller, qtbot, asked, tmp_path):
    open_files(qtbot, controller, SAMPLE["attention_xnnpack"].paths()[1])
    assert not controller.commands.actions["file.export_table"].isEnabled()
    assert (
        len(written_by(qtbot, controller, asked, "file.export_operators", tmp_path / "o.csv")) == 38
    )


# -- where files are proposed --------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["file.export_table", "file.export_operators", "file.save_picture"]
)
def test_of_a_sample_files_are_proposed_at_home_and_else_beside_the_profile(
    controller, qtbot, tmp_path, monkeypatch, command
):
    questions = answer_file_dialog(monkeypatch, "")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    open_sample(qtbot, controller, "attention_xnnpack")
    controller.commands.actions[command].trigger()
    controller.session.close_all()
    own = [shutil.copy(path, tmp_path) for path in SAMPLE["attention_xnnpack"].paths()]
    open_files(qtbot, controller, *own)
    controller.commands.actions[command].trigger()
    proposed = [Path(question.start) for question in questions]
    assert [path.parent for path in proposed] == [tmp_path / "home", tmp_path]
    assert all(path.name.startswith("attn_xnnpack_x5.") for path in proposed)
