"""The window keeps the columns of large profiles, opens them from there, and checks them."""

import os
import shutil
import threading
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from tests.builders.equal_traces import differences
from tests.gui.events import open_files, settle
from tests.gui.window.shown import message
from viewer.formats import column_cache
from viewer.formats.column_cache import CACHE
from viewer.gui.window.dialogs.preferences import PreferencesDialog
from viewer.render.raster import RowRaster


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(column_cache, "LARGE", 0)
    monkeypatch.setattr(column_cache, "_SETTLED_NS", 0)
    monkeypatch.setattr(column_cache, "_CHECKED_AT_ONCE", 0)
    monkeypatch.setattr("viewer.codecs.column_file.SMALL", 0)
    monkeypatch.setattr(CACHE, "folder", str(tmp_path / "columns"))
    return CACHE


@pytest.fixture
def path(tmp_path, data):
    place = tmp_path / "a.json"
    shutil.copyfile(data / "chrome_json" / "kineto_cpu.json", place)
    return place


@pytest.fixture
def by_hand(controller):
    """The window, which does nothing by itself, however slow the machine is."""
    due = controller.column_files._due
    before = due.interval()
    due.setInterval(10**8)
    yield controller
    due.stop()
    due.setInterval(before)


def keep(controller, qtbot, path) -> Path:
    """Open a profile, wait until its columns are kept, and close it; returns their file."""
    open_files(qtbot, controller, path)
    check(controller, qtbot)
    controller.session.close_all()
    (place,) = Path(CACHE.folder).iterdir()
    return place


def check(controller, qtbot) -> None:
    """What the window does a second after it has shown a file."""
    controller.column_files.check()
    qtbot.waitUntil(lambda: not controller.column_files._work.pending)
    settle(qtbot, controller)


def test_a_profile_is_read_once_and_drawn_from_its_columns(
    controller, qtbot, cache, path, reads, monkeypatch
):
    open_files(qtbot, controller, path)
    read = controller.session.traces[0].file
    pixels = controller.timeline.grab().toImage()
    qtbot.waitUntil(lambda: cache.size > 0)  # without being asked
    controller.session.close_all()

    def never(*_):
        raise AssertionError("the raster is kept")

    monkeypatch.setattr(RowRaster, "of", never)
    open_files(qtbot, controller, path)
    monkeypatch.undo()
    assert list(map(os.path.basename, reads)) == ["a.json"]
    assert list(differences(read, controller.session.traces[0].file)) == []
    assert controller.timeline.grab().toImage() == pixels


def test_nothing_is_kept_without_a_folder(by_hand, qtbot, cache, path, monkeypatch):
    folder = cache.folder
    monkeypatch.setattr(cache, "folder", "")
    open_files(qtbot, by_hand, path)
    check(by_hand, qtbot)
    assert not os.path.exists(folder)


def test_damaged_columns_are_dropped_and_the_file_read_again(by_hand, qtbot, cache, path, reads):
    place = keep(by_hand, qtbot, path)
    data = bytearray(place.read_bytes())
    open_files(qtbot, by_hand, path)

    def source_row() -> bytes:
        return by_hand.session.traces[0].file.slices.source_row.tobytes()

    truth = source_row()
    where = data.index(truth)
    by_hand.session.close_all()
    data[where] ^= 1
    place.write_bytes(data)
    open_files(qtbot, by_hand, path)
    assert list(map(os.path.basename, reads)) == ["a.json"]
    assert source_row() != truth
    check(by_hand, qtbot)
    qtbot.waitUntil(lambda: source_row() == truth)
    settle(qtbot, by_hand)
    check(by_hand, qtbot)
    assert message(by_hand) == "a.json: its kept columns were damaged, so the file was read again"
    assert len(list(Path(cache.folder).iterdir())) == 1  # kept again
    assert len(reads) == 2


def test_a_damaged_head_is_told_once(by_hand, qtbot, cache, path, reads):
    place = keep(by_hand, qtbot, path)
    place.write_bytes(place.read_bytes()[:-64])
    open_files(qtbot, by_hand, path)
    check(by_hand, qtbot)
    assert len(reads) == 2
    assert message(by_hand).startswith("a.json: its kept columns were damaged")
    by_hand.window.message.dismiss()
    check(by_hand, qtbot)
    assert not by_hand.window.message.isVisible()


def test_a_window_that_closes_leaves_no_half_file(by_hand, qtbot, cache, path, monkeypatch):
    monkeypatch.setattr(by_hand.column_files, "_stop", threading.Event())
    by_hand.column_files._end()
    open_files(qtbot, by_hand, path)
    check(by_hand, qtbot)
    assert not os.path.isdir(cache.folder) or os.listdir(cache.folder) == []


def test_preferences_show_their_size_and_empty_them(by_hand, qtbot, cache, path):
    keep(by_hand, qtbot, path)
    by_hand.commands.run("edit.preferences")
    dialog = by_hand.window.findChild(PreferencesDialog)
    button = dialog.stocks["Kept columns"]
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    assert f"{cache.size / 1000:.0f}"[:2] in " ".join(texts)
    assert button.isEnabled()
    button.click()
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    assert "None" in texts
    assert not button.isEnabled()
    assert cache.size == 0
    dialog.close()
    cache.folder = ""
    by_hand.commands.run("edit.preferences")
    dialogs = by_hand.window.findChildren(PreferencesDialog)
    texts = [label.text() for each in dialogs for label in each.findChildren(QLabel)]
    assert "Not used (--no-cache)" in texts
    for each in dialogs:
        each.close()
