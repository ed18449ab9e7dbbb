"""Names in files and of files are plain text in every widget, and no "&" is lost.

Characters that reverse the direction of text are escapes.
"""

import csv
import re

import pytest
from PySide6 import QtGui
from PySide6.QtCore import QAbstractListModel, QBuffer, QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLabel, QMessageBox, QWidget

from tests import paths
from tests.gui.events import settle
from tests.gui.window.shown import ATTENTION
from viewer.gui.panels.summary.sections import SummaryLink
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.gui.session.feeds.search import Search
from viewer.view.state import Bookmark, SliceRef

NAME = "\u202e<b>x</b><img src=logo>&y"
FILE = f"{NAME.replace('/', '')}.csv"  # a file name has no slash
MARKUP = ("<b>x", "<img src=logo>")
ESCAPED = r"\u202e"


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    """A profile whose name, tracks and slices are markup."""
    path = tmp_path_factory.mktemp("names") / FILE
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["process", "thread", "name", "start_ns", "dur_ns", NAME])
        for i in range(5):
            writer.writerow([NAME, NAME, NAME, 100 * i, 90, NAME])
    return path


@pytest.fixture
def named(shared_window, qtbot, profile):
    """A window with that profile and another one open, a bookmark, and all panels shown."""
    controller = shared_window.showing(profile, ATTENTION)
    session = controller.session
    set_bookmarks(session, (Bookmark(0, 90, NAME, NAME, session.state.clock),), None, None)
    session.select_slice(SliceRef(0, 1))
    for dock in controller.docks.by_name.values():
        dock.show()
    settle(qtbot, controller)
    return controller


def is_markup_of_names(text):
    """Whether a text that Qt reads as markup has that of a name, which was to be escaped."""
    return QtGui.Qt.mightBeRichText(text) and any(part in text for part in MARKUP)


def rows_below(model, parent=QModelIndex(), depth=0):  # noqa: B008
    """The first cells of a model, also below other rows."""
    for row in range(min(model.rowCount(parent), 20)):
        # A list has one column, and its columnCount is private.
        columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(parent)
        for column in range(columns):
            yield model.index(row, column, parent)
        if depth < 3:
            yield from rows_below(model, model.index(row, 0, parent), depth + 1)


def painted_texts(widget):
    """The texts that a widget and those in it paint; an SVG picture of it has them as text."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    picture = QSvgGenerator()
    picture.setOutputDevice(buffer)
    picture.setSize(widget.size())
    widget.render(picture)
    return svg_texts(buffer.data().data())


def svg_texts(svg):
    # Qt writes control characters as they are, which XML forbids.
    texts = re.findall(rb"<text[^>]*>([^<]*)</text>", svg)
    return [text.decode() for text in texts if text.strip()]


@pytest.mark.parametrize(
    "panel", ["summary", "operators", "events", "selection", "statistics", "marks", "search"]
)
def test_a_panel_paints_an_override_of_direction_as_an_escape(named, qtbot, panel):
    if panel == "search":
        Search.of(named.session).set_query("x")
    dock = named.docks.by_name[panel]
    dock.setParent(None)
    dock.resize(1600, 500)  # names are elided in narrow columns
    dock.show()
    settle(qtbot, named)
    painted = painted_texts(dock)
    assert any(ESCAPED in text for text in painted), painted
    assert [text for text in painted if "\u202e" in text] == []


def test_the_window_paints_an_override_of_direction_as_an_escape(named):
    painted = painted_texts(named.window)
    assert sum(ESCAPED in text for text in painted) >= 3  # the header, the track and slices
    assert [text for text in painted if "\u202e" in text] == []


def test_cells_of_all_panels_show_escapes(named):
    cells = [
        index.data() or ""
        for page in (named.window, *named.docks.by_name.values())
        for view in page.findChildren(QAbstractItemView)
        if view.model() is not None
        for index in rows_below(view.model())
    ]
    assert any(ESCAPED in str(text) for text in cells)
    assert [text for text in cells if "\u202e" in str(text)] == []


def test_every_painted_text_is_elided_in_one_place():
    callers = [
        str(path.relative_to(paths.ROOT))
        for path in (paths.ROOT / "viewer").rglob("*.py")
        if ".elidedText(" in path.read_text("utf-8")
    ]
    assert callers == ["viewer/gui/qt/widgets/labels.py"]


def test_a_bookmark_keeps_its_name_while_it_is_edited(named):
    view = named.docks.by_name["marks"].findChild(QAbstractItemView)
    cell = view.model().index(0, 0)
    assert cell.data(Qt.ItemDataRole.EditRole) == NAME
    assert cell.data() == NAME.replace("\u202e", ESCAPED)


def test_no_link_of_summary_registers_a_shortcut_from_a_name(named):
    links = named.window.findChildren(SummaryLink)
    assert any("&y" in link.text() for link in links)
    assert [link.text() for link in links if not link.shortcut().isEmpty()] == []


def test_no_label_reads_a_name_as_markup(named):
    wrong = [
        label.text()
        for label in named.window.findChildren(QLabel)
        if label.textFormat() is not Qt.TextFormat.PlainText and is_markup_of_names(label.text())
    ]
    assert wrong == []


def test_no_tooltip_reads_a_name_as_markup(named):
    tips = [widget.toolTip() for widget in named.window.findChildren(QWidget)]
    for view in named.window.findChildren(QAbstractItemView):
        if view.model() is not None:
            role = Qt.ItemDataRole.ToolTipRole
            tips += [index.data(role) or "" for index in rows_below(view.model())]
    assert any("&lt;b&gt;x" in text for text in tips)
    assert [text for text in tips if is_markup_of_names(text)] == []


def test_no_button_takes_the_sign_of_a_name_for_a_shortcut(named):
    # The links of Summary paint their text themselves, with every "&".
    buttons = [
        (b.text(), b)
        for b in named.window.findChildren(QAbstractButton)
        if not isinstance(b, SummaryLink)
    ]
    actions = [(a.text(), a) for a in named.window.findChildren(QAction)]
    named_ones = [one for one in (*buttons, *actions) if MARKUP[0] in one[0]]
    assert [one for one in named_ones if "&y" in one[0].replace("&&", "")] == []


def test_the_title_and_messages_show_the_name_as_it_is(named):
    assert named.window.windowTitle().startswith(FILE.replace("\u202e", r"\u202e"))
    named.window.message.show_error(f"{NAME} failed")
    assert "\u202e" not in named.window.message.text
    assert NAME[1:] in named.window.message.text


def test_a_question_shows_the_name_as_it_is(named):
    named.close_guard._ask(f"Save the changes to {NAME}?", "", lambda: None)
    box = named.window.findChild(QMessageBox)
    assert box.textFormat() is Qt.TextFormat.PlainText
    box.close()
