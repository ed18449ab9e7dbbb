"""The window of the help: pages with the keys of now, links, and the way back."""

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage, QTextDocument
from PySide6.QtWidgets import QMainWindow

from tests.gui.window.help.mentioned import commands_in, pictures_in
from viewer.gui.qt.command_table import Command, CommandTable
from viewer.gui.window.help.pages import PAGES, text_of
from viewer.gui.window.help.window import PICTURE_WIDTH, HelpWindow, PageText
from viewer.resources import resource

WITH_PICTURES = [page for page in PAGES if pictures_in(page)]
IMAGE = QTextDocument.ResourceType.ImageResource.value


@pytest.fixture
def owner(qtbot):
    made = QMainWindow()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def commands(owner):
    ids = sorted({id for page in PAGES for id in commands_in(page)})
    made = [Command(id, f"Do {id}", lambda: None, menu="View") for id in ids if id != "view.fit"]
    return CommandTable(
        owner, [*made, Command("view.fit", "&Fit", lambda: None, ("F",), menu="View")]
    )


@pytest.fixture
def window(commands, theme, qtbot):
    made = HelpWindow(commands, theme)
    qtbot.addWidget(made)
    made.open_page("operators")
    made.show()
    return made


def follow(window, link):
    window.text.anchorClicked.emit(QUrl(link))


def test_a_page_tells_the_keys_that_commands_have_now(window, commands):
    assert "Fit (F): show all slices" in window.text.toPlainText()
    commands.give_key("view.fit", "Ctrl+9")
    assert "Fit (F, Ctrl+9)" in window.text.toPlainText()
    commands.take_key("view.fit", "F")
    assert "Fit (Ctrl+9)" in window.text.toPlainText()


def test_links_lead_to_pages_and_back(window):
    follow(window, "source.md")
    assert window.page == "source"
    follow(window, "timeline.md")
    window.back.click()
    window.back.click()
    assert (window.page, window.back.isEnabled()) == ("operators", False)
    window.forward.click()
    assert (window.page, window.text.accessibleName()) == ("source", "Help: Source")


def test_a_link_out_of_the_help_is_not_followed(window, monkeypatch):
    opened = []
    monkeypatch.setattr("PySide6.QtGui.QDesktopServices.openUrl", opened.append)
    for link in ("https://example.org", "file:///etc/hosts", "nowhere.md"):
        follow(window, link)
    assert (window.page, opened) == ("operators", [])


def test_a_heading_is_scrolled_to(window):
    window.open_page("recording", "torq-profiles")
    assert window.text.textCursor().block().text() == "Torq profiles"
    assert window.text.verticalScrollBar().value() > 500
    follow(window, "#etdump")
    assert window.text.textCursor().block().text() == "ETDump"


def test_every_page_is_in_the_list_and_can_be_chosen_there(window):
    assert window.list.count() == len(PAGES)
    for row, page in enumerate(PAGES):
        window.list.setCurrentRow(row)
        assert window.page == page
        assert window.text.toPlainText().startswith(window.list.item(row).text())


def test_the_page_follows_the_theme(window, theme):
    theme.set_choice("light")
    assert window.text.toPlainText().startswith("Operators")


@pytest.fixture
def text(theme, qtbot):
    made = PageText(theme)
    qtbot.addWidget(made)
    return made


def pictures_of(document):
    """The images that a document shows."""
    found, block = [], document.begin()
    while block.isValid():
        it = block.begin()
        while not it.atEnd():
            shape = it.fragment().charFormat()
            if shape.isImageFormat():
                url = QUrl(shape.toImageFormat().name())
                found.append(document.resource(IMAGE, url))
            it += 1
        block = block.next()
    return found


@pytest.mark.parametrize("page", WITH_PICTURES)
def test_a_page_shows_its_pictures(page, text):
    text.setMarkdown(text_of(page))
    shown = pictures_of(text.document())
    assert [image.isNull() for image in shown] == [False] * len(pictures_in(page))


def test_a_wide_picture_is_scaled_to_the_width_of_the_text(text, theme):
    wide = QImage(str(resource("help", "pictures", "timeline.png")))
    text.setMarkdown(text_of("timeline"))
    (shown,) = pictures_of(text.document())
    assert shown.deviceIndependentSize().width() == theme.px(PICTURE_WIDTH) < wide.width()
    assert shown.height() / shown.width() == pytest.approx(wide.height() / wide.width(), abs=0.01)


@pytest.mark.parametrize(
    "url", ["pictures/none.png", "../icons/app.svg", "/etc/hostname", "https://example.org/a.png"]
)
def test_nothing_else_is_loaded(url, text):
    assert text.loadResource(IMAGE, QUrl(url)) is None


def test_a_style_sheet_is_not_loaded(text):
    kind = QTextDocument.ResourceType.StyleSheetResource.value
    assert text.loadResource(kind, QUrl("pictures/timeline.png")) is None
