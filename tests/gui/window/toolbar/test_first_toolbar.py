"""The toolbar comes with the first frame, and nothing in it moves when the real one replaces it."""

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication, QToolButton

from tests.gui.dark_theme import dark_theme
from tests.gui.events import answer_file_dialog, has_controller, put_away
from tests.gui.window.shown import DEMO
from viewer.gui.qt.settings import Settings
from viewer.gui.window.frame import start_page
from viewer.gui.window.main_window import MainWindow
from viewer.gui.window.toolbar.first_toolbar import SCHEME_TITLES, FirstToolbar
from viewer.render.color_schemes import SCHEMES


@pytest.fixture
def first(qtbot, tmp_path, monkeypatch):
    """Shows a window of a width that has no controller, and makes none by itself."""
    monkeypatch.setattr(start_page, "_draw", lambda samples, width: {})
    monkeypatch.setattr(MainWindow, "_import", lambda self: None)
    windows = []

    def show(width, choice="dark"):
        theme = dark_theme()
        theme.set_choice(choice)
        path = str(tmp_path / f"{len(windows)}.ini")
        window = MainWindow(theme, Settings(QSettings(path, QSettings.Format.IniFormat)))
        windows.append(window)
        window.resize(width, 600)
        window.show()
        for _ in range(10):
            QApplication.processEvents()
        assert not has_controller(window)
        return window

    yield show
    for window in windows:
        put_away(window)


@pytest.mark.parametrize("choice", ["dark", "light"])
@pytest.mark.parametrize("width", [700, 1024, 1280, 1920])
def test_the_real_toolbar_looks_like_the_first(first, qtbot, width, choice):
    window = first(width, choice)
    assert isinstance(window.toolbar, FirstToolbar)
    place, before = window.toolbar.geometry(), window.toolbar.grab().toImage()
    assert before.width() == width
    controller = window.controller
    qtbot.waitUntil(controller.toolbar.isVisible)
    QApplication.processEvents()
    assert not isinstance(window.toolbar, FirstToolbar)
    assert window.toolbar.geometry() == place
    window.start_page.setFocus()
    assert window.toolbar.grab().toImage() == before


def test_open_works_in_the_first_toolbar(first, qtbot, monkeypatch):
    questions = answer_file_dialog(monkeypatch, DEMO)
    window = first(1280)
    button = next(b for b in window.toolbar.findChildren(QToolButton) if b.text() == " Open")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert [question.title for question in questions] == ["Open files"]
    qtbot.waitUntil(lambda: bool(window.controller.session.traces), timeout=20_000)


def test_open_has_a_gap_between_icon_and_text_whatever_changes(controller):
    controller.commands.run("view.theme_light")
    controller.commands.refresh()
    texts = [button.text() for button in controller.toolbar.findChildren(QToolButton)]
    assert " Open" in texts


@pytest.mark.parametrize("choice", ["dark", "light"])
def test_the_mark_for_what_has_no_room_is_seen_and_open_is_not_cut(attention, qtbot, choice):
    controller, theme = attention, attention.theme
    controller.commands.run(f"view.theme_{choice}")
    toolbar = controller.toolbar
    button = next(b for b in toolbar.findChildren(QToolButton) if b.text() == " Open")
    whole = button.grab().toImage()
    controller.window.resize(640, 600)
    mark = toolbar.findChild(QToolButton, "qt_toolbar_ext_button")
    qtbot.waitUntil(mark.isVisible)
    image = mark.grab().toImage()
    ground = theme.color("chrome")
    contrast = max(
        contrast_of(image.pixelColor(x, y), ground)
        for x in range(image.width())
        for y in range(image.height())
    )
    assert contrast > 7
    assert mark.accessibleName() == "More"
    narrow = button.grab().toImage()
    assert narrow.copy(0, 0, narrow.width() - 8, narrow.height()) == whole.copy(
        0, 0, narrow.width() - 8, narrow.height()
    )
    assert button.width() >= button.sizeHint().width() - 4


def contrast_of(color, ground):
    """The contrast of two colors, as WCAG defines it."""
    light, dark = sorted((luminance(color), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color):
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
        for c in (color.redF(), color.greenF(), color.blueF())
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_its_box_has_the_titles_of_the_schemes():
    assert tuple(scheme.title for scheme in SCHEMES) == SCHEME_TITLES
