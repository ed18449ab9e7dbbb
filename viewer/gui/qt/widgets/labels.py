"""Small widgets shared by the panels: labels by role, key figures, rows, links, cut texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from math import ceil

from PySide6.QtCore import QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import (
    QAction,
    QFontMetrics,
    QFontMetricsF,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.clipboard import copy_text
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.model.text import capped, visible_controls, visible_line

_LONGEST = 2000  # letters at each end of a text that are measured: wider than any screen


def measurable(text: str) -> str:
    """A text without the middle that no screen has room for: to measure 1 MB takes Qt 0.1 s."""
    return text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}…{text[-_LONGEST:]}"


def elided_text(
    metrics: QFontMetrics | QFontMetricsF, text: str, side: Qt.TextElideMode, room: float
) -> str:
    """The part of a text that fits into `room` px, on one line, with control characters as escapes.

    Every painted name is elided here: one that overrides the direction of text would otherwise
    reverse what follows it.
    """
    visible = visible_line(measurable(text))
    if isinstance(metrics, QFontMetricsF):
        return metrics.elidedText(visible, side, room)
    return metrics.elidedText(visible, side, int(room))


# px; the key column is as wide as its keys, between these; longer keys are wrapped or elided.
_LEAST_KEYS, _MOST_KEYS = 56, 96
_KEY_GAP = 16
_ROW_GAP = 5
# Longer words may break anywhere, since they could be wider than the panel.
MORE = "Show all"
MOST_LINES = 6  # of a value in Details
_KEY_ROOM = 1.7  # widths of a key: two lines, as they break between words
_LONG_VALUE = 160  # letters; longer values may need more lines than are shown
LONG_WORD = 26


class PageStack(QStackedWidget):
    """Shows one of several pages, each of which fills it; hidden pages do not affect its size.

    Its height does not depend on its width. Otherwise every layout of the window would break the
    text of each label into lines several times, in hidden pages too. Its least height is that of
    the current page in the present width.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._least = QSize()  # what the layout around it was given last

    @guard(QSize(0, 0))
    def sizeHint(self) -> QSize:
        page = self.currentWidget()
        return QSize() if page is None else page.sizeHint()

    @guard(QSize(0, 0))
    def minimumSizeHint(self) -> QSize:
        self._least = self._least_size()
        return self._least

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width() and self._least_size() != self._least:
            self.updateGeometry()

    def _least_size(self) -> QSize:
        page = self.currentWidget()
        if page is None:
            return QSize()
        least, layout = page.minimumSizeHint(), page.layout()
        if layout is not None and layout.hasHeightForWidth():
            # Lines of tools are more, and higher, in a narrow page.
            least.setHeight(layout.totalMinimumHeightForWidth(self.width()))
        return least

    @guard(False)
    def hasHeightForWidth(self) -> bool:
        return False


def span(text: str, color: str, *, bold: bool = False) -> str:
    """HTML for colored text, for labels that combine values with units and hints."""
    weight = "; font-weight: 600" if bold else ""
    return f'<span style="color: {color}{weight}">{escape(visible_controls(text))}</span>'


def figures_html(figures: Iterable[tuple[str, str]], theme: Theme) -> str:
    """HTML for key figures in one line: each number bold, with its caption after it."""
    tokens = theme.tokens
    return "&nbsp;&nbsp;&nbsp;".join(
        f"{span(number, tokens.text1, bold=True)} {span(caption, tokens.text2)}"
        for number, caption in figures
    )


def anchor(href: str, text: str, theme: Theme) -> str:
    """HTML for a link in the accent color without underline."""
    style = f"color: {theme.tokens.accent}; text-decoration: none"
    return f'<a href="{escape(href)}" style="{style}">{escape(visible_controls(text))}</a>'


def tip(text: str) -> str:
    """A tooltip that shows text literally; Qt would otherwise interpret it as markup."""
    escaped = escape(visible_controls(capped(text)))
    return f'<div style="white-space: pre-wrap">{escaped}</div>' if text else ""


def literal(text: str) -> str:
    """The text of a menu entry or a button that shows a name: "&" would mark a shortcut."""
    return visible_controls(capped(text)).replace("&", "&&")


def explain(widget: QWidget, text: str) -> None:
    """Give a widget a tooltip that shows text literally.

    The text is also the accessible description: without it, a screen reader would read the markup
    of `tip` aloud.
    """
    widget.setToolTip(tip(text))
    widget.setAccessibleDescription(visible_controls(capped(text)))


def label(
    text: str,
    theme: Theme,
    role: FontRole = "cell",
    tone: str = "text1",
    *,
    wrap: bool = False,
    html: bool = False,
) -> QLabel:
    """A label with selectable, literal text; `html` must never be set for text from files."""
    widget = _Label()
    widget.setTextFormat(Qt.TextFormat.RichText if html else Qt.TextFormat.PlainText)
    widget.setText(text)
    widget.setFont(theme.font(role))
    widget.setProperty("tone", tone)
    widget.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse
        | Qt.TextInteractionFlag.LinksAccessibleByMouse
        | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
    )
    widget.setFocusPolicy(
        Qt.FocusPolicy.StrongFocus if html and "<a " in text else Qt.FocusPolicy.ClickFocus
    )
    if wrap:
        widget.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        widget.setSizePolicy(policy)
    return widget


class _Label(QLabel):
    """A label that shows control characters as escapes and, if plain, only its first letters."""

    def setText(self, text: str) -> None:
        is_html = self.textFormat() == Qt.TextFormat.RichText
        super().setText(visible_controls(text if is_html else capped(text)))


class ElidedLabel(QLabel):
    """One line of plain text, elided with "…" if it does not fit; the tooltip has the full text.

    `cut` is where to elide; the middle for paths, so that the file name stays visible. `hint`
    replaces the tooltip, elided or not. If the width is less than `least` px, text that does not
    fit is not shown at all. Of `shorter`, the first text that fits is shown instead of one that
    does not, or else the last one, elided.
    """

    def __init__(
        self,
        text: str,
        theme: Theme,
        role: FontRole = "cell",
        tone: str = "text1",
        cut: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(text)
        self._cut = cut
        self.hint = ""
        self.least = 0
        self.shorter: tuple[str, ...] = ()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(theme.font(role))
        self.setProperty("tone", tone)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text, and what is shown instead if there is no room for it."""
        return self.text(), *self.shorter

    @property
    def shown_text(self) -> str:
        """The visible part of the text."""
        width, metrics = self.contentsRect().width(), self.fontMetrics()
        if width < self.least and metrics.horizontalAdvance(measurable(self.text())) > width:
            return ""
        texts = self.texts
        fitting = (t for t in texts if metrics.horizontalAdvance(measurable(t)) <= width)
        return elided_text(metrics, next(fitting, texts[-1]), self._cut, width)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        elided = self.shown_text
        painter.drawText(self.contentsRect(), int(self.alignment()), elided)
        painter.end()
        hint = self.hint or (self.text() if elided != visible_controls(self.text()) else "")
        if self.toolTip() != tip(hint):
            explain(self, hint)


class WrappedText(QTextEdit):
    """Selectable text for identifiers or JSON; wraps anywhere and is as tall as its content.

    With `most_lines`, no taller than these. `was_cut(bool)`: whether lines are hidden now.
    """

    was_cut = Signal(bool)

    def __init__(
        self,
        text: str,
        theme: Theme,
        role: FontRole = "code",
        tone: str = "text1",
        most_lines: int = 0,
    ) -> None:
        super().__init__()
        self._most_lines = most_lines
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFont(theme.font(role))
        self.document().setDefaultFont(theme.font(role))
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        self.setTextColor(theme.color(tone))
        self.setPlainText(visible_controls(text))
        self.setTabChangesFocus(True)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @guard
    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the panel: hidden lines are shown by the link below."""
        event.ignore()

    def show_lines(self, most: int) -> None:
        """Show so many lines, 0 for all."""
        self._most_lines = most
        self._fit()

    def _fit(self) -> None:
        height = int(self.document().size().height())
        line = QFontMetricsF(self.document().defaultFont()).lineSpacing()
        room = ceil(self._most_lines * line) or height
        self.setFixedHeight(min(height, room) + 1)
        self.was_cut.emit(height > room)


class ClampedText(QWidget):
    """A text from a file of which only the first lines are shown, until a link shows the rest."""

    def __init__(self, text: str, theme: Theme, role: FontRole = "cell") -> None:
        super().__init__()
        self.text = WrappedText(text, theme, role, most_lines=MOST_LINES)
        tone = theme.tokens.accent
        link = f'<a href="all" style="color: {tone}; text-decoration: none">{MORE}</a>'
        self.more = label(link, theme, "caption", html=True)
        self.more.hide()
        self.more.linkActivated.connect(lambda _: self.text.show_lines(0))
        self.text.was_cut.connect(self.more.setVisible)
        laid_out(QVBoxLayout(self), self.text, self.more, gap=0, margins=(0, 0, 0, 0))


class Hairline(QWidget):
    """A line between two sections, 1 px high."""

    def __init__(self, theme: Theme, token: str = "hairline") -> None:
        super().__init__()
        self._theme = theme
        self._token = token
        self.setFixedHeight(1)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), self._theme.color(self._token))


class KeyFigure(QWidget):
    """A number with its unit above a caption: `1.643 µs` over "duration".

    In the role of a caption it is one line: "start 449.821 µs". nanoseconds: those of a time, as
    text. They are what Ctrl+C and the context menu copy.
    """

    def __init__(
        self,
        figure: str,
        unit: str,
        caption: str,
        theme: Theme,
        role: FontRole = "figure",
        nanoseconds: str = "",
    ) -> None:
        super().__init__()
        inline = role == "caption"
        number = label(figure, theme, role, "text2" if inline else "text1")
        if nanoseconds:
            # The digits are grouped and rounded, so they are not selectable as text.
            number.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
            number.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
            self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
            copy = QAction(f"Copy {nanoseconds} ns", self)
            copy.setShortcut(QKeySequence.StandardKey.Copy)
            copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            copy.triggered.connect(lambda: copy_text(self, nanoseconds, f"{nanoseconds} ns"))
            self.addAction(copy)
        column = laid_out(QVBoxLayout(self), gap=0, margins=(0, 0, 0, 0))
        row = QHBoxLayout()
        row.setSpacing(theme.px(3))
        line = Qt.AlignmentFlag.AlignBaseline
        words = label(caption, theme, "caption", "text2")
        if inline:
            row.addWidget(words, 0, line)
        row.addWidget(number, 0, line)
        row.addWidget(label(unit, theme, role if inline else "cell", "text2"), 1, line)
        column.addLayout(row)
        if not inline:
            column.addWidget(words)
        self.setAccessibleName(f"{caption}: {figure} {unit}".strip())


class KeyValueGrid(QWidget):
    """Rows of a gray key and a value, which is text, HTML, long text or a widget."""

    linked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(0)
        self._grid.setVerticalSpacing(theme.px(_ROW_GAP))
        self._grid.setColumnStretch(1, 1)
        self.rows: dict[str, str] = {}
        self.key_width = 0
        self.set_key_width(theme.px(_LEAST_KEYS))

    def set_key_width(self, width: int) -> None:
        """Set the width of the key column in px, to align it with that of another grid."""
        self.key_width = width
        self._grid.setColumnMinimumWidth(0, width)

    def add(
        self, key: str, value: str, *, html: bool = False, code: bool = False, hint: str = ""
    ) -> None:
        """Add a row, wrapped if its words are too long; `hint` explains the value in a tooltip."""
        is_long = len(value) > _LONG_VALUE or "\n" in value
        longest_word = max(map(len, value.split()), default=0)
        if not html and (code or is_long or longest_word > LONG_WORD):
            self.add_widget(key, ClampedText(value, self._theme, "code" if code else "cell"), value)
            return
        value_label = label(value, self._theme, wrap=True, html=html)
        # Values in a script from right to left start below the others too.
        value_label.setAlignment(Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignLeft)
        value_label.linkActivated.connect(self.linked)
        explain(value_label, hint)
        self.add_widget(key, value_label, value)

    def add_widget(self, key: str, value: QWidget, text: str = "") -> None:
        """Add a row with a widget as its value; `text` is the text it shows."""
        number = len(self.rows)
        name: QLabel = ElidedLabel(key, self._theme, "cell", "text2")
        gap, most = self._theme.px(_KEY_GAP), self._theme.px(_MOST_KEYS)
        width = name.fontMetrics().horizontalAdvance(key) + 1
        if set(" _") & set(key) and width > most:
            # Keys of arguments come from the file and may have several words.
            # Keys have two lines at most; the tooltip has the rest.
            middle = Qt.TextElideMode.ElideMiddle
            cut = elided_text(name.fontMetrics(), key, middle, _KEY_ROOM * most)
            words = cut.replace("_", "_\u200b")  # allow a line break after each underscore
            name = label(span(words, self._theme.tokens.text2), self._theme, wrap=True, html=True)
            name.setFixedWidth(most + gap)
            name.setToolTip(tip(key) if cut != key else "")
        name.setContentsMargins(0, 0, gap, 0)
        self.set_key_width(max(self.key_width, min(width, most) + gap))
        self._grid.addWidget(name, number, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(value, number, 1, Qt.AlignmentFlag.AlignTop)
        self.rows[key if key and key not in self.rows else f"{key}({number})"] = text


class PageOrSentence(PageStack):
    """A panel's page, or an empty state in its place."""

    def __init__(self, page: QWidget, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.empty: EmptyPlace | None = None
        self.addWidget(page)

    @property
    def is_empty(self) -> bool:
        """Whether the empty state is shown."""
        return self.currentIndex() != 0

    @property
    def sentence(self) -> str:
        """The sentence of the empty state, "" while the page is shown."""
        return self.empty.sentence.text() if self.is_empty and self.empty is not None else ""

    def show_page(self) -> None:
        """Show the page."""
        self.setCurrentIndex(0)

    def show_sentence(
        self,
        sentence: str,
        button: str = "",
        asked: SignalInstance | Callable[[], object] | None = None,
        below: QWidget | None = None,
    ) -> None:
        """Show a sentence and, optionally, a button that calls `asked`, and a widget below it."""
        if self.empty is None:
            self.empty = EmptyPlace(sentence, self._theme)
            self.addWidget(self.empty)
        self.empty.say(sentence, button, asked, below)
        self.setCurrentWidget(self.empty)


class EmptyPlace(QWidget):
    """The empty state of a panel: one sentence and at most one button.

    It is changed and not made again: PySide keeps some of the wrappers of deleted ones, 5,000 in an
    hour of use.
    """

    pressed = Signal()

    def __init__(self, sentence: str, theme: Theme, button: str = "") -> None:
        super().__init__()
        self.sentence = label(sentence, theme, "body", "text2", wrap=True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self)
        inset = theme.px(24)
        column.setContentsMargins(inset, inset, inset, inset)
        column.setSpacing(theme.px(12))
        column.addStretch(1)
        column.addWidget(self.sentence)
        self._button = QPushButton(button)
        self._button.clicked.connect(self.pressed)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        self._button.setHidden(not button)
        self._column = column
        column.addStretch(1)
        self._asked: SignalInstance | Callable[[], object] | None = None
        self.pressed.connect(self._answer)
        self._below: QWidget | None = None

    def say(
        self,
        sentence: str,
        button: str = "",
        asked: SignalInstance | Callable[[], object] | None = None,
        below: QWidget | None = None,
    ) -> None:
        """Show another sentence, button and widget below it."""
        self.sentence.setText(sentence)
        self._button.setText(button)
        self._button.setHidden(not button)
        self._asked = asked
        if self._below is not None:
            self._column.removeWidget(self._below)
            self._below.deleteLater()
        self._below = below
        if below is not None:
            self._column.insertWidget(
                self._column.count() - 1, below, 0, Qt.AlignmentFlag.AlignHCenter
            )

    @Slot()
    def _answer(self) -> None:
        if isinstance(self._asked, SignalInstance):
            self._asked.emit()
        elif self._asked is not None:
            self._asked()


class EmptyNote(QWidget):
    """An empty state with a button that opens a profile; emits `open_requested` on a click."""

    open_requested = Signal()

    def __init__(self, title: str, text: str, theme: Theme) -> None:
        super().__init__()
        heading, body = QLabel(title), QLabel(text)
        heading.setFont(theme.font("operator"))
        body.setWordWrap(True)
        body.setFixedWidth(560)
        body.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._button = QPushButton("Open a profile…")
        self._button.setProperty("primary", True)
        self._button.clicked.connect(self.open_requested)
        self.setFocusProxy(self._button)
        # In a centered layout, a wrapped label needs the height of its text at this width.
        body.setMinimumHeight(body.heightForWidth(body.width()))
        column = laid_out(QVBoxLayout(self), 1, gap=12)
        for widget in (heading, body, self._button):
            column.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
