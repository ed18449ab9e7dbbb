"""The start page, shown while nothing is open: samples, tour, formats, recent files, shortcuts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QAccessible, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from viewer.formats import formats
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.settings import Settings, is_missing
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.when_visible import WhenVisible
from viewer.gui.qt.widgets.labels import ElidedLabel, Hairline, explain, label
from viewer.gui.window.start_page.sample_card import CARD, PICTURE_INSET, SampleCard
from viewer.resources import SAMPLES, Sample

if TYPE_CHECKING:
    from viewer.gui.window.start_page.thumbnails import Thumbnail

TITLE = "Open a profile"
SENTENCE = "Drop profiles, ETRecords and sources here. Opscope pairs them automatically."
KEYS: tuple[tuple[str, str], ...] = (
    ("Open files", "Ctrl+O"),
    ("Command palette", "Ctrl+Shift+P"),
    ("Keyboard shortcuts", "?"),
)
SESSION, SESSION_SUFFIX = "Session", ".opscope"
# One line per format; a format that is not listed is described by its kind.
ABOUT = {
    "ExecuTorch program": "Instructions, delegates and their nodes, memory, sizes",
    "ETDump": "Inferences, operators, kernels, delegate events",
    "ETRecord": "Operators, modules, source lines, handle maps",
    "Debug handle map": "The meaning of a delegate's identifiers, if there is no ETRecord",
    "Torq compile profile": "Planned DMA and slice units, in cycles",
    "Torq runtime profile": "Measured NSS jobs",
    "Torq host profile": "Measured host, HAL, actions and NSS jobs",
    "Torq annotated profile": "Jobs or actions with their operations and units",
    "Perfetto trace": "Track events of any tool; Opscope's exports with clock and ticks",
    "Chrome trace": "Slices of PyTorch, TensorFlow, ONNX Runtime, viztracer",
    "Inspector table": "One run, saved by ExecuTorch's Inspector",
    "MLIR text": "The operation and line of each Torq location",
    "Python source": "The model's lines, with their time",
    "Profile CSV": "Slices of any other tool: process, thread, name, start_ns, dur_ns",
    SESSION: "The open files, the view, bookmarks and notes",
}
_KINDS = {"trace": "A profile", "program": "A model", "executable": "A program"}
HINT = "Click a format to learn how to record it."
TOUR = "Take the tour"
TOUR_SENTENCE = "4 steps, 1 minute"
# The heading in the help on recording that explains how to get a file of a format.
HEADINGS = {
    "ExecuTorch program": "program-file",
    "ETDump": "etdump",
    "ETRecord": "etrecord",
    "Debug handle map": "debug-handle-map",
    "Torq compile profile": "torq-profiles",
    "Torq runtime profile": "torq-profiles",
    "Torq host profile": "torq-profiles",
    "Torq annotated profile": "torq-profiles",
    "MLIR text": "torq-profiles",
    "Chrome trace": "chrome-trace",
    "Profile CSV": "a-csv-from-any-tool",
    "Perfetto trace": "other-formats",
    "Inspector table": "other-formats",
    "Python source": "other-formats",
    SESSION: "other-formats",
}
_WIDTH = 1120
_CARD_GAP = 16


@has_role(QAccessible.Role.Grouping)
class StartPage(QScrollArea):
    """Shows samples, supported formats, recent files and shortcuts.

    Signals: `open_requested(paths)` for a sample or recent file; `open_dialog_requested`,
    `tour_requested` and `last_session_requested` for the buttons; `help_requested(heading)` for
    help on how to get a file of a format.
    """

    open_requested = Signal(list)
    open_dialog_requested = Signal()
    tour_requested = Signal()
    last_session_requested = Signal()
    help_requested = Signal(str)

    def __init__(
        self,
        theme: Theme,
        settings: Settings,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settings = settings
        self._keys = KEYS
        self._has_last_session = False
        self._pictures: dict[str, Thumbnail] = {}
        self._gone: frozenset[str] = frozenset()
        self._replaced: QWidget | None = None
        self.cards: list[SampleCard] = []
        self.recent: list[str] = settings.recent_files()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Start page")
        self._drawer = Latest(self)
        self._drawer.answered.connect(self._take_pictures)
        self._seeker = Latest(self)
        self._seeker.answered.connect(self._take_missing)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self._draw_samples)
        theme.changed.connect(self._rebuild)
        self._rebuild()
        self.refresh_recent()

    def want_pictures(self) -> None:
        """Draw the samples once the page is visible; a window opened with files never shows it."""
        if not self._seen.defer():
            self._draw_samples()

    @Slot()
    def _draw_samples(self) -> None:
        if not self._pictures and not self._drawer.pending:
            ratio = QGuiApplication.primaryScreen().devicePixelRatio()
            width = round(self._theme.px(CARD.width() - 2 * PICTURE_INSET) * ratio)
            self._drawer.submit(_draw, SAMPLES, width)

    def show_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        """Show these (action, shortcut) pairs."""
        if tuple(keys) != self._keys:
            self._keys = tuple(keys)
            self._rebuild_side()

    def offer_last_session(self, there_is_one: bool) -> None:
        """Show or hide the button that reopens the last session."""
        if there_is_one != self._has_last_session:
            self._has_last_session = there_is_one
            self._rebuild()

    @Slot()
    def refresh_recent(self) -> None:
        """Read the recent files again, and check in the background which still exist."""
        paths = self._settings.recent_files()
        if paths != self.recent:
            self.recent = paths
            self._rebuild_side()
        if paths:
            self._seeker.submit(_gone_of, tuple(paths))

    @Slot(object)
    def _take_pictures(self, answer: object) -> None:
        if isinstance(answer, dict):
            self._pictures = answer
            for card in self.cards:
                card.set_picture(answer.get(card.sample.key))

    @Slot(object)
    def _take_missing(self, answer: object) -> None:
        if isinstance(answer, frozenset) and answer != self._gone:
            self._gone = answer
            self._rebuild_side()

    # -- the page ----------------------------------------------------------------------------

    @Slot()
    def _rebuild(self) -> None:
        theme = self._theme
        page = QWidget()
        self._content = QWidget()
        self._content.setMaximumWidth(theme.px(_WIDTH))
        self._content.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        column = QVBoxLayout(self._content)
        inset = theme.px(24)
        column.setContentsMargins(0, inset, 0, inset)
        column.setSpacing(0)
        column.addLayout(self._head())
        column.addSpacing(theme.px(40))
        column.addLayout(self._samples_head())
        column.addSpacing(theme.px(12))
        column.addLayout(self._samples())
        column.addSpacing(theme.px(48))
        self._lower = QGridLayout()
        self._lower.setHorizontalSpacing(theme.px(64))
        self._lower.setVerticalSpacing(theme.px(32))
        self._left, self._right = self._formats(), self._side()
        column.addLayout(self._lower)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self._content, 1000)
        row.addStretch(1)
        outer = QVBoxLayout(page)
        outer.setContentsMargins(inset, 0, inset, 0)
        outer.addStretch(2)
        outer.addLayout(row)
        outer.addStretch(3)
        old = self.takeWidget()
        if old is not None:
            # It may contain the sender of the current signal.
            old.deleteLater()
        self.setWidget(page)
        self._columns = 0
        self._arrange()

    def _rebuild_side(self) -> None:
        """Rebuild recent files and shortcuts; everything else keeps its focus."""
        old, self._right = self._right, self._side()
        self._lower.replaceWidget(old, self._right)
        # It may contain the sender of the current signal, so the event loop deletes it. Without a
        # reference, Python would delete it immediately.
        self._replaced = old
        old.setParent(None)
        old.deleteLater()

    def _head(self) -> QHBoxLayout:
        theme = self._theme
        texts = QVBoxLayout()
        texts.setSpacing(theme.px(4))
        texts.addWidget(label(TITLE, theme, "title"))
        texts.addWidget(label(SENTENCE, theme, "body", "text2", wrap=True))
        button = self._button(" Open files…", "Open files", self.open_dialog_requested)
        button.setProperty("primary", True)
        button.setIcon(theme.icon("open", "on_accent"))
        button.setFont(theme.font("tab_active"))
        row = QHBoxLayout()
        row.setSpacing(theme.px(12))
        row.addLayout(texts, 1)
        if self._has_last_session:
            name = "Reopen last session"
            last = self._button(name, name, self.last_session_requested)
            row.addWidget(last, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
        return row

    def _button(self, text: str, name: str, asked: SignalInstance) -> QPushButton:
        button = QPushButton(text)
        button.setAccessibleName(name)
        button.setMinimumHeight(self._theme.px(36))
        button.clicked.connect(asked)
        return button

    def _samples_head(self) -> QHBoxLayout:
        theme = self._theme
        tour = self._button(TOUR, "Take the tour", self.tour_requested)
        tour.setMinimumHeight(0)
        row = QHBoxLayout()
        row.addWidget(label("Samples", theme, "section", "text2"))
        row.addStretch(1)
        row.addWidget(label(TOUR_SENTENCE, theme, "body", "text2"))
        row.addSpacing(theme.px(8))
        row.addWidget(tour)
        return row

    def _samples(self) -> QGridLayout:
        self.cards = []
        self._grid = QGridLayout()
        self._grid.setSpacing(self._theme.px(_CARD_GAP))
        for sample in SAMPLES:
            card = SampleCard(sample, self._theme)
            card.set_picture(self._pictures.get(sample.key))
            card.clicked.connect(self._open_sample)
            self.cards.append(card)
        return self._grid

    def _formats(self) -> QWidget:
        theme = self._theme
        box = _Section("Supported formats", theme)
        listed = [(form.name, form.suffixes, _KINDS.get(form.kind, "")) for form in formats()]
        for name, suffixes, kind in (*listed, (SESSION, (SESSION_SUFFIX,), "")):
            known = FormatRow(name, suffixes, ABOUT.get(name, kind), theme)
            known.help_requested.connect(self.help_requested)
            box.column.addWidget(known)
            box.column.addWidget(Hairline(theme))
        box.column.addSpacing(theme.px(8))
        box.column.addWidget(label(HINT, theme, "caption", "text3"))
        box.column.addStretch(1)
        return box

    def _side(self) -> QWidget:
        theme = self._theme
        both = QWidget()
        column = QVBoxLayout(both)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.px(32))
        recent = _Section("Recent", theme)
        for path in self.recent:
            file = RecentFile(path, path in self._gone, theme)
            file.open_requested.connect(self.open_requested)
            recent.column.addWidget(file)
        if not self.recent:
            recent.column.addSpacing(theme.px(8))
            text = "Recently opened files appear here."
            recent.column.addWidget(label(text, theme, "body", "text3"))
        keys = _Section("Keyboard shortcuts", theme)
        for what, key in self._keys:
            row = QHBoxLayout()
            row.addWidget(label(what, theme, "body"), 1)
            row.addWidget(label(key, theme, "label", "text2"))
            keys.add(row)
        column.addWidget(recent)
        column.addWidget(keys)
        column.addStretch(1)
        return both

    @Slot()
    def _open_sample(self) -> None:
        card = self.sender()
        if isinstance(card, SampleCard):
            self.open_requested.emit(card.sample.paths())

    def _arrange(self) -> None:
        """Arrange cards in as many columns as fit, and the lower parts side by side or stacked."""
        theme = self._theme
        room = min(self.viewport().width() - 2 * theme.px(24), theme.px(_WIDTH))
        card = theme.px(230) + theme.px(_CARD_GAP)
        columns = max(1, min((room + theme.px(_CARD_GAP)) // card, len(self.cards)))
        if columns == 3:
            columns = 2
        if columns == self._columns:
            return
        self._columns = columns
        for i in range(4):
            self._grid.setColumnStretch(i, 1 if i < columns else 0)
        for i, card_widget in enumerate(self.cards):
            self._grid.addWidget(card_widget, i // columns, i % columns)
        wide = columns == 4
        self._lower.addWidget(self._left, 0, 0)
        self._lower.addWidget(self._right, 0 if wide else 1, 1 if wide else 0)
        self._lower.setColumnStretch(0, 3)
        self._lower.setColumnStretch(1, 1 if wide else 0)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()


class _Section(QWidget):
    """A list with a heading, and lines between its rows."""

    def __init__(self, title: str, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        self.column.addWidget(label(title, theme, "section", "text2"))
        self.column.addSpacing(theme.px(12))
        self.column.addWidget(Hairline(theme))

    def add(self, row: QHBoxLayout) -> None:
        """Add a row and the line below it."""
        row.setContentsMargins(0, self._theme.px(8), 0, self._theme.px(8))
        self.column.addLayout(row)
        self.column.addWidget(Hairline(self._theme))


class FormatRow(QPushButton):
    """A clickable row for a supported format; emits `help_requested(heading)`.

    The heading is that of the help on how to get such a file.
    """

    help_requested = Signal(str)

    def __init__(self, name: str, suffixes: Sequence[str], about: str, theme: Theme) -> None:
        super().__init__()
        self._heading = HEADINGS.get(name, "")
        self.setProperty("flat", True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMinimumHeight(theme.px(33))
        self.setAccessibleName(f"{name}: how to get one")
        self.setAccessibleDescription(about)
        self.setToolTip(f"How to get one: {name}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(10))
        icon = QLabel()
        icon.setPixmap(theme.icon("file").pixmap(16, 16))
        title = label(name, theme, "body")
        title.setFixedWidth(theme.px(154))
        # The first two suffixes are the common ones; more do not fit.
        suffix_label = label("  ".join(suffixes[:2]), theme, "code", "text2")
        suffix_label.setFixedWidth(theme.px(120))
        for widget, stretch in (
            (icon, 0),
            (title, 0),
            (suffix_label, 0),
            (ElidedLabel(about, theme, "body", "text2"), 1),
        ):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            row.addWidget(widget, stretch)
        self.clicked.connect(self._ask)

    @Slot()
    def _ask(self) -> None:
        self.help_requested.emit(self._heading)


class RecentFile(QPushButton):
    """A recent file as a link, grayed out if it is gone; emits `open_requested([path])`."""

    open_requested = Signal(list)

    def __init__(self, path: str, gone: bool, theme: Theme) -> None:
        super().__init__()
        self._path = path
        self.setFlat(True)
        self.setProperty("flat", True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setEnabled(not gone)
        explain(self, f"{path} no longer exists" if gone else path)
        name, folder = os.path.basename(path), os.path.basename(os.path.dirname(path))
        self.setAccessibleName(f"Open {path}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, theme.px(4), 0, theme.px(4))
        row.setSpacing(theme.px(8))
        shown = ElidedLabel(name, theme, "body", "text3" if gone else "accent")
        row.addWidget(shown, 3)
        hint = ElidedLabel("missing" if gone else folder, theme, "caption", "text3")
        hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(hint, 1)
        for widget in (shown, hint):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.clicked.connect(self._open)

    @Slot()
    def _open(self) -> None:
        self.open_requested.emit([self._path])


def _draw(samples: Sequence[Sample], width: int) -> dict[str, Thumbnail]:
    # Imported here, because the start page is shown before readers and numpy are imported.
    from viewer.gui.window.start_page.thumbnails import thumbnail

    return {sample.key: thumbnail(sample.paths(), width) for sample in samples}


def _gone_of(paths: tuple[str, ...]) -> frozenset[str]:
    return frozenset(path for path in paths if is_missing(path))
