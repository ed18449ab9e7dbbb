"""Names with control characters leave a picture well-formed."""

from xml.dom import minidom

from PySide6.QtCore import QBuffer
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator

from viewer.gui.qt.clipboard import well_formed


def drawn(text):
    """The SVG of Qt with a text in it."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    painter = QPainter(generator)
    painter.drawText(10, 10, text)
    painter.end()
    return bytes(buffer.data().data())


def texts_of(svg):
    elements = minidom.parseString(svg).getElementsByTagName("text")
    return [element.firstChild.data.strip() for element in elements]


def test_control_characters_are_replaced(qapp):
    svg = well_formed(drawn("a\x08b\x1b[31mc\uffff é"))
    assert texts_of(svg) == ["a\ufffdb\ufffd[31mc\ufffd é"]


def test_other_texts_stay_as_they_are(qapp):
    svg = drawn("<b>conv</b> & µs 😀\u202e")
    assert well_formed(svg) == svg
