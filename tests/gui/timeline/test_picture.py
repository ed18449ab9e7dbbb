"""Pictures of the view to print: the rows as in the window, names and scale as text, exact size."""

import base64
import re

import numpy as np
import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QImage

from tests.builders.compared_windows import arms_of, write_arms
from viewer.gui.session.comparison import compare
from viewer.gui.timeline.picture import DPI, SHARP, ViewPicture

TITLE = 26  # px, above the ruler


@pytest.fixture
def timeline(attention):
    return attention.timeline


@pytest.fixture
def picture(timeline):
    return ViewPicture(timeline)


def rows_of(timeline):
    """The size of the rows, without what stands around them."""
    port, scene = timeline.view.viewport(), timeline.scene
    return QSize(port.width(), min(port.height(), scene.layout.total_height))


def pixels(image):
    made = image.convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(made.constBits(), np.uint32).reshape(made.height(), -1)
    return rows[:, : made.width()] & 0xFFFFFF


def test_the_rows_are_those_of_the_window(picture, timeline):
    """At one device pixel a pixel, pixel by pixel."""
    drawn = pixels(picture.image(1))
    seen = pixels(timeline.view.viewport().grab().toImage())
    top, left = TITLE + timeline.ruler.height(), timeline.headers.width()
    height, width = rows_of(timeline).height(), rows_of(timeline).width()
    assert (drawn[top : top + height, left : left + width] == seen[:height]).all()
    names = pixels(timeline.headers.grab().toImage())
    assert (drawn[top : top + height, :left] == names[:height]).all()
    legend = pixels(timeline.legend.grab().toImage())
    assert (drawn[top + height :, : legend.shape[1]] == legend).all()


def test_it_has_no_more_rows_than_there_are(picture, timeline):
    around = TITLE + timeline.ruler.height() + timeline.legend.height()
    assert picture.size.height() - around == timeline.scene.layout.total_height < 400
    assert picture.size.width() == timeline.headers.width() + timeline.view.viewport().width()


def test_a_png_is_as_fine_as_a_printer_and_knows_its_size(picture):
    image = QImage.fromData(picture.bytes_of(".png"))
    assert image.size() == picture.size * SHARP
    assert image.dotsPerMeterX() == round(SHARP * DPI / 0.0254)


def test_texts_of_an_svg_are_texts_and_its_raster_is_fine(picture, timeline):
    text = picture.bytes_of(".svg").decode()
    size = picture.size
    assert f'viewBox="0 0 {size.width()} {size.height()}"' in text
    for word in ("attn_xnnpack_x5.etdp, attn_teal_xnnpack.etrecord", "µs from trace start",
                 "kernel · delegate event", "Shared by several operators", "5 ops"):  # fmt: skip
        assert word in text
    (data,) = re.findall(r'href="data:image/png;base64,([^"]+)"', text)
    raster = QImage.fromData(base64.b64decode(data))
    assert raster.size() == rows_of(timeline) * SHARP


def test_a_pdf_is_one_page_of_that_size(picture):
    data = picture.bytes_of(".pdf")
    assert data.startswith(b"%PDF")
    (box,) = set(re.findall(rb"/MediaBox \[([^\]]+)\]", data))
    wide, high = (float(x) for x in box.split()[2:])
    assert wide == pytest.approx(picture.size.width() * 72 / DPI, abs=1)
    assert high == pytest.approx(picture.size.height() * 72 / DPI, abs=1)


def test_without_a_legend_it_ends_with_the_rows(picture, timeline):
    with_legend = picture.size.height()
    timeline.legend.hide()
    assert ViewPicture(timeline).size.height() == with_legend - timeline.legend.height()


def test_two_compared_arms_have_ribbons_and_one_ruler(harness, tmp_path):
    a, b = write_arms(tmp_path)
    harness.open(*a, *b)
    compare(harness.session, arms_of(a, b))
    harness.settle()
    above, below = harness.timeline.strips
    assert below.is_joined
    rows = sum(strip.scene.layout.total_height for strip in (above, below))
    image = ViewPicture(harness.timeline).image(1)
    parts = (above.header, above.ruler, below.band, harness.timeline.legend)
    assert image.height() == TITLE + rows + sum(part.height() for part in parts)
    slower = harness.theme.color("slower").rgb()
    top = TITLE + above.header.height() + above.ruler.height() + above.scene.layout.total_height
    line = [image.pixel(x, top + 2) for x in range(below.headers.width(), image.width())]
    assert slower in line  # a side of the ribbon, in the band
