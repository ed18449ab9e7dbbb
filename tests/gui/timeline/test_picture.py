"""Pictures of the view to print: the rows as in the window, names and scale as text, exact size."""

import base64
import re

import numpy as np
import pytest
from PySide6.QtGui import QImage

from tests.gui.events import open_sample
from viewer.gui.timeline.picture import DPI, SHARP, ViewPicture


@pytest.fixture
def picture(controller, qtbot):
    controller.window.resize(1200, 800)
    open_sample(qtbot, controller, "attention_xnnpack")
    controller.window.settle()
    return ViewPicture(controller.timeline)


def pixels(image):
    made = image.convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(made.constBits(), np.uint32).reshape(made.height(), -1)
    return rows[:, : made.width()] & 0xFFFFFF


def test_the_rows_are_those_of_the_window(picture):
    """At one device pixel a pixel, pixel by pixel."""
    board = picture._timeline
    drawn = pixels(picture.image(1))
    seen = pixels(board.view.viewport().grab().toImage())
    top, left = 26 + board.ruler.height(), board.headers.width()
    height, width = picture._rows.height(), picture._rows.width()
    assert (drawn[top : top + height, left : left + width] == seen[:height]).all()
    names = pixels(board.headers.grab().toImage())
    assert (drawn[top : top + height, :left] == names[:height]).all()
    legend = pixels(board.legend.grab().toImage())
    assert (drawn[top + height :, : legend.shape[1]] == legend).all()


def test_it_has_no_more_rows_than_there_are(picture):
    board = picture._timeline
    assert picture._rows.height() == board.scene.layout.total_height < 400
    assert picture.size.width() == board.headers.width() + board.view.viewport().width()


def test_a_png_is_as_fine_as_a_printer_and_knows_its_size(picture):
    image = QImage.fromData(picture.bytes_of(".png"))
    assert image.size() == picture.size * SHARP
    assert image.dotsPerMeterX() == round(SHARP * DPI / 0.0254)


def test_texts_of_an_svg_are_texts_and_its_raster_is_fine(picture):
    text = picture.bytes_of(".svg").decode()
    size = picture.size
    assert f'viewBox="0 0 {size.width()} {size.height()}"' in text
    for word in ("attn_xnnpack_x5.etdp, attn_teal_xnnpack.etrecord", "µs from trace start",
                 "kernel · delegate event", "Shared by several operators", "5 ops"):  # fmt: skip
        assert word in text
    (data,) = re.findall(r'href="data:image/png;base64,([^"]+)"', text)
    raster = QImage.fromData(base64.b64decode(data))
    assert (raster.width(), raster.height()) == (
        picture._rows.width() * SHARP, picture._rows.height() * SHARP,
    )  # fmt: skip


def test_a_pdf_is_one_page_of_that_size(picture):
    data = picture.bytes_of(".pdf")
    assert data.startswith(b"%PDF")
    (box,) = set(re.findall(rb"/MediaBox \[([^\]]+)\]", data))
    wide, high = (float(x) for x in box.split()[2:])
    assert wide == pytest.approx(picture.size.width() * 72 / DPI, abs=1)
    assert high == pytest.approx(picture.size.height() * 72 / DPI, abs=1)


def test_without_a_legend_it_ends_with_the_rows(picture):
    board = picture._timeline
    with_legend = picture.size.height()
    board.legend.hide()
    assert ViewPicture(board).size.height() == with_legend - board.legend.height()
