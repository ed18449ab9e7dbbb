"""The text of a help page: it shows the pictures of the help, and nothing from elsewhere."""

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage, QTextDocument

from viewer.gui.window.help.page_text import PICTURE_WIDTH, PageText
from viewer.gui.window.help.pages import PAGES, pictures_in, text_of
from viewer.resources import resource

WITH_PICTURES = [page for page in PAGES if pictures_in(page)]
IMAGE = QTextDocument.ResourceType.ImageResource.value


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
