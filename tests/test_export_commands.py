"""Saving a picture of the timeline by its command: the name decides the form, all of it or none."""

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog

from tests.gui_events import open_sample
from viewer.timeline.view_picture import SHARP, ViewPicture


@pytest.fixture
def asked(monkeypatch):
    """What the file dialog answers."""
    answer = ["", ""]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: tuple(answer))
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
def test_the_view_is_saved(desk, qtbot, asked, tmp_path, name, filter, written, magic):
    open_sample(qtbot, desk, "attention_xnnpack")
    asked[:] = str(tmp_path / name), filter
    size = ViewPicture(desk.timeline).size
    desk.commands.actions["file.save_picture"].trigger()
    qtbot.waitUntil(lambda: not desk.saver.is_busy)
    path = tmp_path / written
    assert path.read_bytes().startswith(magic)
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".ini"] == [written]
    if magic == b"\x89PNG":
        assert QImage(str(path)).size() == size * SHARP
    assert desk.window.status.said.text().startswith("Wrote ")


def test_cancelling_the_dialog_writes_nothing(desk, qtbot, asked, tmp_path):
    open_sample(qtbot, desk, "attention_xnnpack")
    desk.commands.actions["file.save_picture"].trigger()
    assert not desk.saver.is_busy


def test_a_folder_that_is_not_there_is_one_sentence(desk, qtbot, asked, tmp_path):
    open_sample(qtbot, desk, "attention_xnnpack")
    asked[0] = str(tmp_path / "no" / "a.pdf")
    desk.commands.actions["file.save_picture"].trigger()
    qtbot.waitUntil(lambda: "was not written" in desk.window.message.text)
