"""The application: pictures without a display, and what is said where no window can open."""

import os
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtGui import QImage

from tests.gui.events import put_away
from viewer.gui.app import application as app
from viewer.gui.window.frame import start_page
from viewer.gui.window.main_window import MainWindow
from viewer.resources import SAMPLES
from viewer.workspace.link_choices import Choices

DEMO, DEMO_RECORD = next(s.paths() for s in SAMPLES if s.key == "delegate_handle_map")
SIZE = (1000, 700)
THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.fixture(autouse=True)
def _no_thumbnails(qapp, monkeypatch):
    monkeypatch.setattr(start_page, "_draw", lambda samples, width: {})
    before = set(qapp.topLevelWidgets())  # of other tests, whose theme is shared
    yield
    for left in set(qapp.topLevelWidgets()) - before:
        if isinstance(left, MainWindow):
            theme = left.theme
            put_away(left)
            shiboken6.delete(theme)  # each screenshot makes one


def take(path, *files, size=SIZE, visible=None, theme="dark", pairs=(), **more):
    choices = Choices(tuple(pairs))
    return app.screenshot(
        files, choices, str(path), size=size, visible=visible, theme=theme, **more
    )


def picture(path):
    image = QImage(str(path))
    assert not image.isNull()
    return image


# One theme of each sample by day, both by night.
THEMES = [
    pytest.param(
        sample,
        theme,
        marks=pytest.mark.slow if (number + (theme == "dark")) % 2 else pytest.mark.nightly,
        id=f"{sample.key}-{theme}",
    )
    for number, sample in enumerate(SAMPLES)
    for theme in ("dark", "light")
]


@pytest.mark.parametrize(("sample", "theme"), THEMES)
def test_a_sample_in_both_themes(tmp_path, sample, theme):
    path = tmp_path / f"{theme}.png"
    assert take(path, *sample.paths(), theme=theme) == []
    image = picture(path)
    assert (image.width(), image.height()) == SIZE
    corner = image.pixelColor(SIZE[0] - 2, SIZE[1] - 2).lightness()
    assert corner < 80 if theme == "dark" else corner > 200


@pytest.mark.slow
def test_a_range_shows_another_part(tmp_path):
    first, second, third = (tmp_path / f"{n}.png" for n in range(3))
    assert take(first, DEMO, DEMO_RECORD) == []
    assert take(second, DEMO, DEMO_RECORD, visible=(0, 50_000)) == []
    assert take(third, DEMO, DEMO_RECORD, visible=(0, 50_000)) == []
    assert picture(first) != picture(second)
    assert picture(second) == picture(third)


@pytest.mark.slow
def test_a_timeline_to_print_is_of_the_range_that_was_asked_for(tmp_path):
    path = tmp_path / "view.svg"
    assert take(path, DEMO, DEMO_RECORD, visible=(0, 50_000), theme="light") == []
    text = path.read_text(encoding="utf-8")
    assert "50.000\u202fµs · Opscope" in text
    assert take(tmp_path / "view.pdf", DEMO) == []
    assert (tmp_path / "view.pdf").read_bytes().startswith(b"%PDF")


def test_no_files_give_the_start_page(tmp_path):
    assert take(tmp_path / "start.png") == []
    assert picture(tmp_path / "start.png").width() == SIZE[0]


def test_an_input_that_fails_is_a_sentence_and_the_rest_is_drawn(tmp_path):
    empty = tmp_path / "empty.etdp"
    empty.touch()
    missing = tmp_path / "missing.csv"
    failures = take(tmp_path / "out.png", str(empty), DEMO, str(missing))
    assert sorted(failures) == [
        f"{empty}: the file is empty. Record it again",
        f"{missing}: there is no such file. Check the path",
    ]
    image = picture(tmp_path / "out.png")
    assert (image.width(), image.height()) == SIZE


@pytest.mark.slow
def test_what_took_most_is_selected_and_told_where_that_is_asked_for(tmp_path):
    """Of tan are cos/1 (160.220), div (200.249) and sin:0;a=b (120.290 µs); a dump alone tells no
    operator."""
    told = []
    selected, plain, alone = (tmp_path / f"{n}.png" for n in range(3))
    assert take(selected, DEMO, DEMO_RECORD, report_most_expensive=told.append) == []
    assert [text.replace(THIN, " ") for text in told] == ["tan, 120.190 µs, mean of 3"]
    take(plain, DEMO, DEMO_RECORD)
    assert picture(selected) != picture(plain)
    assert take(alone, DEMO, report_most_expensive=told.append) == []
    assert len(told) == 1


def test_a_folder_that_does_not_exist_is_a_sentence(tmp_path):
    path = tmp_path / "none" / "out.png"
    assert take(path, DEMO) == [f"{path}: it cannot be written (No such file or directory)"]


def test_a_small_picture_has_the_size_that_was_asked_for(tmp_path):
    assert take(tmp_path / "small.png", DEMO, size=(320, 240)) == []
    image = picture(tmp_path / "small.png")
    assert (image.width(), image.height()) == (320, 240)


def test_an_uneven_size_is_kept(tmp_path):
    assert take(tmp_path / "odd.png", DEMO, size=(1601, 903)) == []
    image = picture(tmp_path / "odd.png")
    assert (image.width(), image.height()) == (1601, 903)


def test_a_picture_leaves_no_folder_behind(tmp_path, monkeypatch):
    import tempfile

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    assert take(tmp_path / "out.png", DEMO) == []
    assert list(scratch.iterdir()) == []


# -- where no window can open ----------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch):
    """A Linux without a display."""
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(app.sys, "platform", "linux")


def test_without_a_display_it_says_what_works_all_the_same(bare, capsys):
    assert app.run([], None) == 1
    told = capsys.readouterr().err
    assert told.startswith("opscope: no display found.")
    assert "opscope screenshot" in told
    assert "opscope export" in told


def test_a_missing_library_is_named_with_its_packages(bare, monkeypatch, capsys):
    monkeypatch.setenv("DISPLAY", ":0")

    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(app, "CDLL", missing)
    assert app.run([], None) == 1
    assert "apt-get install" in capsys.readouterr().err
    assert "libxcb-cursor0" in app.XCB_PACKAGES


def test_elsewhere_nothing_is_missing(bare, monkeypatch):
    monkeypatch.setattr(app.sys, "platform", "darwin")
    assert app._missing_for_a_window() == ""
    monkeypatch.setattr(app.sys, "platform", "linux")
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert app._missing_for_a_window() == ""


def test_there_is_one_application(qapp):
    assert app._application() is qapp


def test_the_icon_of_the_application_is_there():
    from viewer.resources import resource

    assert Path(resource("icons", "app.svg")).is_file()
    assert os.environ["QT_QPA_PLATFORM"] == "offscreen"
