"""The start page, shown while nothing is open: samples, tour, recent files, formats, shortcuts."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import (
    QAccessible,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
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
from viewer.gui.qt.settings import RecentFiles, Settings, is_missing
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.qt.widgets.labels import ElidedLabel, Hairline, explain, label
from viewer.model.text import display_name, distinct_names
from viewer.resources import SAMPLES, Sample

if TYPE_CHECKING:
    from viewer.gui.window.frame.thumbnails import Thumbnail


def recent_titles(rows: Sequence[RecentFiles]) -> list[tuple[str, str]]:
    """Return per row a title, and the names of its other files.

    A comparison is called by the first file of both arms: "a.etdp + 6 → b.etdp + 6". Where titles
    are equal, names that are in no other row come first; where these are equal, too, titles have
    folders.
    """
    titles = [_title(row) for row in rows]
    names = [[display_name(path) for path in row.paths[1:]] for row in rows]
    result = []
    for number, (row, title) in enumerate(zip(rows, titles, strict=True)):
        alike = [i for i, other in enumerate(titles) if other == title and i != number]
        elsewhere = {name for i in alike for name in names[i]}
        rest = sorted(names[number], key=lambda name: name in elsewhere)
        if any(sorted(names[i]) == sorted(rest) for i in alike):
            firsts = [row.paths[0], *(rows[i].paths[0] for i in alike)]
            title = f"{distinct_names(firsts)[0]}{title.removeprefix(display_name(firsts[0]))}"
        result.append((title, " · ".join(rest)))
    return result


def _title(row: RecentFiles) -> str:
    if not row.b:
        return display_name(row.paths[0])
    first, second = distinct_names([row.a[0], row.b[0]])
    return f"{first}{_more(row.a)} → {second}{_more(row.b)}"


def _more(paths: Sequence[str]) -> str:
    return f" + {len(paths) - 1}" if len(paths) > 1 else ""


CARD = QSize(268, 236)
PICTURE_INSET = 13
_PICTURE = 106


class SampleCard(QAbstractButton):
    """A clickable card with a sample's image, title, description and contents."""

    def __init__(self, sample: Sample, theme: Theme) -> None:
        super().__init__()
        self.sample = sample
        self._theme = theme
        self._picture: Thumbnail | None = None
        self.setText(sample.title)
        self.setAccessibleName(f"Open sample: {sample.title}")
        self.setAccessibleDescription(f"{sample.text} {sample.caption}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_picture(self, picture: Thumbnail | None) -> None:
        """Set the image; None while it is being drawn."""
        self._picture = picture
        self.update()

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(CARD.width()), self._theme.px(CARD.height()))

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        return QSize(self._theme.px(200), self._theme.px(CARD.height()))

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)

    @guard(False)
    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        outline = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        shape = QPainterPath()
        shape.addRoundedRect(outline, 6, 6)
        over = self.underMouse() or self.isDown()
        ground = "hover" if over else ("chrome" if theme.dark else "canvas")
        painter.fillPath(shape, theme.color(ground))
        top = QRect(0, 0, self.width(), theme.px(_PICTURE))
        painter.save()
        painter.setClipPath(shape)
        painter.fillRect(top, theme.color("canvas"))
        painter.fillRect(QRect(0, top.height(), self.width(), 1), theme.color("hairline"))
        if self._picture is not None:
            # Imported here, because the card is shown before numpy is imported.
            from viewer.gui.window.frame.thumbnails import paint_thumbnail

            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            inset = theme.px(PICTURE_INSET)
            area = top.adjusted(inset, theme.px(10), -inset, -theme.px(10))
            paint_thumbnail(painter, self._picture, area, theme)
        painter.restore()
        self._texts(painter, top.height())
        focus = self.hasFocus()
        painter.setPen(QPen(theme.color("accent" if focus else "line"), 2 if focus else 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        inner = outline.adjusted(0.5, 0.5, -0.5, -0.5) if focus else outline
        painter.drawRoundedRect(inner, 6, 6)
        painter.end()

    def _texts(self, painter: QPainter, top: int) -> None:
        theme = self._theme
        inset = theme.px(15)
        room = QRect(inset, top + theme.px(13), self.width() - 2 * inset, 0)
        title = theme.font("tab_active")
        painter.setFont(title)
        painter.setPen(theme.color("text1"))
        room.setHeight(QFontMetrics(title).height())
        painter.drawText(room, int(Qt.AlignmentFlag.AlignLeft), self.sample.title)
        caption = theme.font("caption")
        height = QFontMetrics(caption).height()
        under = QRect(inset, self.height() - theme.px(12) - height, room.width(), height)
        body = theme.font("label")
        body.setWeight(theme.font("body").weight())
        painter.setFont(body)
        painter.setPen(theme.color("text2"))
        text = QRect(inset, room.bottom() + theme.px(6), room.width(), 0)
        text.setBottom(under.top() - theme.px(4))
        painter.drawText(
            text, int(Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap), self.sample.text
        )
        painter.setFont(caption)
        painter.setPen(theme.color("text3"))
        painter.drawText(under, int(Qt.AlignmentFlag.AlignLeft), self.sample.caption)


TITLE = "Open a profile"
SENTENCE = "Drop profiles, ETRecords and sources here. Opscope pairs them automatically."
KEYS: tuple[tuple[str, str], ...] = (
    ("Open files", "Ctrl+O"),
    ("Command palette", "Ctrl+Shift+P"),
    ("Keyboard shortcuts", "?"),
)
FORMATS_TEXT = (
    "ExecuTorch · PyTorch and Chrome · Perfetto · NPUs · tables · sampled profiles · sources and "
    "programs. Files are recognized by their content."
)
FORMATS_HINT = "{}, and Opscope sessions"
HOW_TO_RECORD = "How to record each format"
NO_RECENT = "Files that you open appear here."
TOUR = "Take the tour"
TOUR_SENTENCE = "4 steps, 1 minute"
_WIDTH, _INSET = 1712, 40
_CARD_GAP = 16

_SET_HEIGHT = 52
_SET_ICON = 16


class RecentSet(QPushButton):
    """The first file of a set, and below it the others; `open_requested` with those that exist."""

    open_requested = Signal(list)

    def __init__(
        self, paths: Sequence[str], texts: tuple[str, str], gone: Collection[str], theme: Theme
    ) -> None:
        """texts: its title, and the names of the other files."""
        super().__init__()
        self._height = theme.px(_SET_HEIGHT)
        self._present = [path for path in paths if path not in gone]
        self.setProperty("flat", True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setEnabled(bool(self._present))
        explain(self, "\n".join(f"{path}{' (missing)' * (path in gone)}" for path in paths))
        first, others = texts
        self.setAccessibleName(f"Open {first}, {others}" if others else f"Open {first}")
        tone = "text1" if self._present else "text3"
        name = ElidedLabel(first, theme, "tab_active", tone)
        rest = ElidedLabel(others, theme, "caption", "text2")
        folder = os.path.basename(os.path.dirname(paths[0]))
        where = ElidedLabel(_where(folder, paths, gone), theme, "caption", "text3")
        where.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        icon = QLabel()
        size = theme.px(_SET_ICON)
        icon.setPixmap(theme.icon("file").pixmap(size, size))
        grid = QGridLayout(self)
        grid.setContentsMargins(theme.px(8), theme.px(6), theme.px(8), theme.px(6))
        grid.setHorizontalSpacing(theme.px(12))
        grid.setVerticalSpacing(0)
        rows = 2 if others else 1
        grid.addWidget(icon, 0, 0, rows, 1)
        grid.addWidget(name, 0, 1)
        grid.addWidget(where, 0, 2, rows, 1)
        if others:
            grid.addWidget(rest, 1, 1)
        grid.setColumnStretch(1, 3)
        grid.setColumnStretch(2, 1)
        for widget in (icon, name, rest, where):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        if not others:
            rest.setParent(self)
            rest.hide()
        self.clicked.connect(self._open)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        # The style sheet sets a minimum height, so a fixed one would have no effect.
        return QSize(super().sizeHint().width(), self._height)

    @Slot()
    def _open(self) -> None:
        self.open_requested.emit(self._present)


def _where(folder: str, paths: Sequence[str], gone: Collection[str]) -> str:
    """Return the folder, or how many of the files are missing."""
    missing = sum(path in gone for path in paths)
    if not missing:
        return folder
    return "missing" if missing == len(paths) else f"{missing} of {len(paths)} missing"


@has_role(QAccessible.Role.Grouping)
class StartPage(QScrollArea):
    """Shows samples, supported formats, recent files and shortcuts.

    Signals: `open_requested(paths)` for a sample, `recent_requested(paths)` for recent files;
    `open_dialog_requested`,
    `record_requested`, `tour_requested` and `last_session_requested` for the buttons;
    `help_requested` for help on how to record a file of each format.
    """

    open_requested = Signal(list)
    recent_requested = Signal(list)
    open_dialog_requested = Signal()
    record_requested = Signal()
    tour_requested = Signal()
    last_session_requested = Signal()
    help_requested = Signal()

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
        self._is_stale = False  # whether the theme has changed while the page was hidden
        self._wanted = False  # whether the pictures of the samples are
        self._recent = self._side = QWidget()
        self._replaced: QWidget | None = None
        self.cards: list[SampleCard] = []
        self.recent = settings.recent_files()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Start page")
        self._drawer = Latest(self, self._take_pictures)
        self._seeker = Latest(self, self._take_missing)
        theme.changed.connect(self._retheme)
        self._rebuild()
        self.refresh_recent()

    def want_pictures(self) -> None:
        """Draw the samples once the page is shown; a window opened with files never shows it."""
        self._wanted = True
        self._draw_samples()

    @guard
    def showEvent(self, event: QShowEvent) -> None:
        # Not on a paint event: a scroll area is covered by its contents and may never get one.
        super().showEvent(event)
        if self._is_stale:
            self._rebuild()
        self._draw_samples()

    def _draw_samples(self) -> None:
        is_due = self._wanted and self.isVisible()
        if is_due and not self._pictures and not self._drawer.pending:
            ratio = QGuiApplication.primaryScreen().devicePixelRatio()
            width = round(self._theme.px(CARD.width() - 2 * PICTURE_INSET) * ratio)
            self._drawer.submit(_draw, SAMPLES, width)

    def show_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        """Show these (action, shortcut) pairs."""
        if tuple(keys) != self._keys:
            self._keys = tuple(keys)
            self._side = self._replace(self._side, self._formats_and_keys())

    def offer_last_session(self, there_is_one: bool) -> None:
        """Show or hide the button that reopens the last session."""
        if there_is_one != self._has_last_session:
            self._has_last_session = there_is_one
            self._rebuild()

    @Slot()
    def refresh_recent(self) -> None:
        """Read the recent files again, and check in the background which still exist."""
        sets = self._settings.recent_files()
        if sets != self.recent:
            self.recent = sets
            self._rebuild_recent()
        if sets:
            self._seeker.submit(_gone_of, tuple(recent.paths for recent in sets))

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
            self._rebuild_recent()

    # -- the page ----------------------------------------------------------------------------

    @Slot()
    def _retheme(self) -> None:
        self._is_stale = True
        if self.isVisible():
            self._rebuild()

    def _rebuild(self) -> None:
        self._is_stale = False
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
        self._recent, self._side = self._recent_sets(), self._formats_and_keys()
        column.addLayout(self._lower)
        row = laid_out(QHBoxLayout(), 1, (self._content, 1000), 1)
        outer = QVBoxLayout(page)
        side = theme.px(_INSET)
        outer.setContentsMargins(side, 0, side, 0)
        outer.addStretch(2)
        outer.addLayout(row)
        outer.addStretch(3)
        if (old := self.takeWidget()) is not None:
            # It may contain the sender of the current signal.
            old.deleteLater()
        self.setWidget(page)
        self._columns = 0
        self._arrange()

    def _rebuild_recent(self) -> None:
        self._recent = self._replace(self._recent, self._recent_sets())

    def _replace(self, old: QWidget, new: QWidget) -> QWidget:
        """Replace one of the lower parts by a new one; everything else keeps its focus."""
        self._lower.replaceWidget(old, new)
        # It may contain the sender of the current signal, so the event loop deletes it. Without a
        # reference, Python would delete it immediately.
        self._replaced = old
        old.setParent(None)
        old.deleteLater()
        return new

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
        row = laid_out(QHBoxLayout(), (texts, 1), gap=theme.px(12))
        if self._has_last_session:
            name = "Reopen last session"
            last = self._button(name, name, self.last_session_requested)
            row.addWidget(last, 0, Qt.AlignmentFlag.AlignBottom)
        record = self._button("Record…", "Record", self.record_requested)
        row.addWidget(record, 0, Qt.AlignmentFlag.AlignBottom)
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

    def _recent_sets(self) -> QWidget:
        theme = self._theme
        box = _Section("Recent", theme)
        for recent, texts in zip(self.recent, recent_titles(self.recent), strict=True):
            row = RecentSet(recent.paths, texts, self._gone, theme)
            row.open_requested.connect(self.recent_requested)
            box.column.addWidget(row)
            box.column.addWidget(Hairline(theme))
        if not self.recent:
            box.column.addSpacing(theme.px(8))
            box.column.addWidget(label(NO_RECENT, theme, "body", "text3"))
        box.column.addStretch(1)
        return box

    def _formats_and_keys(self) -> QWidget:
        theme = self._theme
        both = QWidget()
        column = laid_out(QVBoxLayout(both), gap=theme.px(32), margins=(0, 0, 0, 0))
        section = _Section("Supported formats", theme)
        section.column.addSpacing(theme.px(8))
        groups = label(FORMATS_TEXT, theme, "body", "text2", wrap=True)
        explain(groups, FORMATS_HINT.format(", ".join(form.name for form in formats())))
        section.column.addWidget(groups)
        section.column.addSpacing(theme.px(8))
        how = self._button(HOW_TO_RECORD, HOW_TO_RECORD, self.help_requested)
        how.setMinimumHeight(0)
        section.column.addWidget(how, 0, Qt.AlignmentFlag.AlignLeft)
        keys = _Section("Keyboard shortcuts", theme)
        for what, key in self._keys:
            row = QHBoxLayout()
            row.addWidget(label(what, theme, "body"), 1)
            row.addWidget(label(key, theme, "label", "text2"))
            keys.add(row)
        column.addWidget(section)
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
        room = min(self.viewport().width() - 2 * theme.px(_INSET), theme.px(_WIDTH))
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
        self._lower.addWidget(self._recent, 0, 0)
        self._lower.addWidget(self._side, 0 if wide else 1, 1 if wide else 0)
        self._lower.setColumnStretch(0, 2)
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
        row.setContentsMargins(0, self._theme.px(8), 0, self._theme.px(8))
        self.column.addLayout(row)
        self.column.addWidget(Hairline(self._theme))


def _draw(samples: Sequence[Sample], width: int) -> dict[str, Thumbnail]:
    # Imported here, because the start page is shown before readers and numpy are imported.
    from viewer.gui.window.frame.thumbnails import thumbnail

    return {sample.key: thumbnail(sample.paths(), width) for sample in samples}


def _gone_of(sets: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    return frozenset(path for paths in sets for path in paths if is_missing(path))
