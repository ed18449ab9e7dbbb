"""The toolbar: frequent commands, search, color scheme, picked inference, arms, link state."""

from __future__ import annotations

import time
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QMoveEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.links.link_table import REASONS
from viewer.analysis.search.query import LONGEST
from viewer.gui.qt.command_table import CommandTable, shown_key
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.qt.widgets.labels import elided_text, explain, literal
from viewer.gui.session.choices import (
    argument_schemes,
    link_summary,
    scheme_problem,
    set_scheme,
    shown_scheme,
)
from viewer.gui.session.comparison import ComparisonFeed
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.session import Session
from viewer.gui.window.toolbar.first_toolbar import LINK_STATE_WIDTH, NARROW, BaseToolbar, SearchBox
from viewer.gui.window.toolbar.inference_picker import InferencePicker
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits
from viewer.render.color_schemes import SCHEMES, scheme_of

if TYPE_CHECKING:
    from viewer.analysis.comparison.arms import Arm


_SIDE = 16  # px of the letter's frame
_MOST_TEXT = 200  # px of what an arm is


class ArmsBar(QWidget):
    """Shows both arms, and buttons to swap them, to show changes or costs, and to end."""

    def __init__(self, session: Session, commands: CommandTable, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._feed = ComparisonFeed.of(session)
        self._arms = (QLabel(), QLabel())
        self._swap, self._changes, self._end = (_button() for _ in range(3))
        row = laid_out(QHBoxLayout(self), gap=theme.px(8), margins=(0, 0, 0, 0))
        a, b = self._arms
        letters = ArmLetter("A", theme), ArmLetter("B", theme)
        for part in (letters[0], a, self._swap, letters[1], b, self._changes, self._end):
            row.addWidget(part)
        for button, id, text in (
            (self._swap, "compare.swap", "⇄"),
            (self._changes, "compare.in_tables", "Changes"),
            (self._end, "compare.end", "End comparison"),
        ):
            # Not its default action, whose title would replace the text whenever it changes.
            button.clicked.connect(partial(commands.run, id))
            button.setText(text)
            button.setToolTip(commands.commands[id].plain_title)
            button.setAccessibleName(commands.commands[id].plain_title)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self._changes.setCheckable(True)
        self._is_brief = False
        self._feed.changed.connect(self.follow)
        self.follow()

    def be_brief(self, brief: bool) -> None:
        """Show only the numbers of sessions, for a narrow window."""
        if brief != self._is_brief:
            self._is_brief = brief
            self.follow()

    def follow(self) -> None:
        """Show the current arms."""
        open_comparison = self._feed.answer
        self._changes.setChecked(self._feed.in_tables is not None)
        if open_comparison is None:
            return
        is_relative = not open_comparison.problem and open_comparison.calls.is_relative
        self._changes.setText("Relative changes" if is_relative else "Changes")
        for label, arm in zip(self._arms, open_comparison.arms, strict=True):
            text, most = _text(arm, brief=self._is_brief), self._theme.px(_MOST_TEXT)
            metrics = QFontMetricsF(label.font())
            label.setText(elided_text(metrics, text, Qt.TextElideMode.ElideMiddle, most))
            label.setAccessibleName(text)
            files = (display_name(session.table.trace.path) for session in arm.sessions)
            explain(label, "\n".join(filter(None, (arm.choice, *files))))
        self._end.setText("End" if self._is_brief else "End comparison")


class ArmLetter(QWidget):
    """The letter of an arm in a frame."""

    def __init__(self, letter: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.letter, self._theme = letter, theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"Arm {letter}")

    @guard(QSize())
    def sizeHint(self) -> QSize:
        side = self._theme.px(_SIDE) + 2
        return QSize(side, side)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("text2"), 1))
        painter.setBrush(theme.color("text2") if self.letter == "B" else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -2, -2), 2, 2)
        painter.setPen(theme.color("chrome" if self.letter == "B" else "text1"))
        painter.setFont(theme.font("section"))
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), self.letter)
        painter.end()


def _button() -> QToolButton:
    button = QToolButton()
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
    button.setProperty("framed", True)
    return button


def _text(arm: Arm, *, brief: bool) -> str:
    from viewer.reports.compare_text import is_of_files

    if arm.choice:
        return arm.choice
    sessions = counted(len(arm.sessions), "session")
    if brief or is_of_files(arm):
        return sessions
    return f"{sessions} · {counted(sum(len(s.runs) for s in arm.sessions), 'inference')}"


SYNTAX = (
    ("conv", "in a name, label, operator, module, source file or identifier"),
    ("a b   a or b   -b   (…)", "both, one of them, not b, grouping"),
    ('"two words"', "as one phrase"),
    ("op: type: module: name:", "operator, operator type, module, name in the file"),
    ("file:model.py:12", "source file, or one of its lines"),
    ("id: delegate:", "delegate identifier or debug handle, backend"),
    ("inference:2 thread: process:", "inference, thread, process"),
    ("arg:batch>5 category:", "argument, also = : < <= >=; category in the file"),
    ("dur > 1ms", "duration; also self and start, < = <= >=, ns us ms s cycles"),
    ("linked unlinked shared zero derived", "linked, not linked, fused, zero-length, derived"),
)
KEYS = (
    "Enter: next · Shift+Enter: previous · Down: list · Escape: clear · {} in the timeline: show "
    "only matches"
)


class SearchField(SearchBox):
    """The toolbar's search field, which follows the query of the view."""

    left = Signal()  # the focus should return to the timeline
    list_requested = Signal()

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(theme)
        self._session = session
        self._searching = Search.of(session)
        self.setMaxLength(LONGEST)
        self._keys = ""  # shortcuts shown in the help
        self.only_hits = QAction("Show only matches", self)
        self.only_hits.setCheckable(True)
        self.only_hits.triggered.connect(self._searching.show_only_hits)
        self.addAction(self.only_hits, QLineEdit.ActionPosition.TrailingPosition)
        self.count = QLabel(self)
        self.count.setFont(theme.font("caption"))
        self.count.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.help: _Help | None = None
        self.textEdited.connect(self._search)
        self._searching.changed.connect(self._follow)
        session.query_changed.connect(self._follow)
        session.selection_changed.connect(self._follow)
        session.workspace_changed.connect(self._follow)
        theme.changed.connect(self._follow)
        self._follow()

    def set_shortcut_hints(self, find: str, only_hits: str) -> None:
        """Update the shortcuts in tooltip and help: to focus the field, and to show only hits."""
        self.setToolTip(f"Search  {find}")
        self._keys = KEYS.format(only_hits)
        self.only_hits.setToolTip(f"Show only matches  {only_hits}")
        self._show_help()

    @Slot(str)
    def _search(self, text: str) -> None:
        Search.of(self._session).set_query(text, now=time.monotonic())

    @Slot()
    def _follow(self) -> None:
        """Update to the view's query and its hits."""
        query = self._session.state.query
        complaint = self._searching.complaint or self._searching.advice
        if self.text() != query:
            self.setText(query)
        self.setEnabled(bool(self._session.traces))
        self._icon.setIcon(self._theme.icon("search", "error" if complaint else "text2"))
        only = self._session.state.only_hits
        self.only_hits.setVisible(self._searching.is_on)
        self.only_hits.setChecked(only)
        self.only_hits.setIcon(self._theme.icon("filter", "accent" if only else "text2"))
        self.count.setText(self._count_text())
        token = "error" if complaint else "text2"
        self.count.setStyleSheet(f"color: {self._theme.color(token).name()}; border: 0;")
        self.setAccessibleDescription(complaint or self.count.text())
        self._place()
        self._show_help()

    def _count_text(self) -> str:
        searching = self._searching
        if not searching.is_on:
            return "?" if searching.complaint else ""
        if searching.pending:
            return "…"
        count, index = len(searching.hits), searching.position
        if index is None:
            return group_digits(count) if count else "none"
        return f"{group_digits(index + 1)} of {group_digits(count)}"

    def _place(self) -> None:
        self.count.adjustSize()
        x = self.width() - self.count.width() - self._theme.px(10)
        if self.only_hits.isVisible():
            buttons = self.findChildren(QToolButton)
            x -= next(b.width() for b in buttons if b.defaultAction() is self.only_hits)
        self.count.move(x, (self.height() - self.count.height()) // 2)
        right = self.count.width() + self._theme.px(8) if self.count.text() else 0
        self.setTextMargins(0, 0, right, 0)

    def _show_help(self) -> None:
        """Show help below the focused field: the error or advice if there is one, else the syntax.

        The syntax is shown only while the field is empty.
        """
        complaint = self._searching.complaint or self._searching.advice
        visible = self.hasFocus() and bool(complaint or not self.text())
        if self.help is None and visible:
            self.help = _Help(self.window(), self._theme)
        if self.help is not None:
            self.help.setVisible(visible)
            if visible:
                below = self.mapTo(self.window(), QPoint(0, self.height() + self._theme.px(4)))
                self.help.show_below(below, complaint, self._keys)

    # -- events ----------------------------------------------------------------------------------

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()
        self._show_help()

    @guard
    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._show_help()

    @guard
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._show_help()

    @guard
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show_help()

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, back = event.key(), event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if key == Qt.Key.Key_Escape:
            Search.of(self._session).set_query("")
            self.left.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._searching.step(-1 if back else 1)
        elif key == Qt.Key.Key_Down:
            self.list_requested.emit()
        else:
            super().keyPressEvent(event)


class _Help(QFrame):
    """A help sheet over the window, below the field."""

    def __init__(self, window: QWidget, theme: Theme) -> None:
        super().__init__(window)
        self._theme = theme
        self.setObjectName("search_help")
        self.setAutoFillBackground(True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(14), theme.px(10), theme.px(14), theme.px(10))
        column.addWidget(self._text)

    def show_below(self, point: QPoint, complaint: str, keys: str) -> None:
        """Show `complaint` if given, else syntax and shortcuts, at a point of the window."""
        colors = self._theme.tokens
        self.setStyleSheet(
            f"#search_help {{ background: {colors.raised}; border: 1px solid {colors.line};"
            " border-radius: 6px; }"
        )
        if complaint:
            self._text.setText(f'<span style="color: {colors.error}">{escape(complaint)}</span>')
        else:
            cell = '<td style="padding: 2px 18px 2px 0;'
            rows = "".join(
                f'<tr>{cell} color: {colors.text1}; white-space: pre">{escape(example)}</td>'
                f'{cell} color: {colors.text2}">{escape(meaning)}</td></tr>'
                for example, meaning in SYNTAX
            )
            shortcuts = f'<p style="color: {colors.text2}">{escape(keys)}</p>'
            self._text.setText(f"<table>{rows}</table>{shortcuts}")
        layout = self.layout()
        assert layout is not None
        layout.activate()
        self.resize(self.sizeHint())
        window = self.parentWidget()
        room = window.width() - self.width() if window is not None else 0
        self.move(max(min(point.x(), room), 0), point.y())
        self.raise_()


class LinkStateButton(QPushButton):
    """Shows the linked share by time and by slices, and the match; a click opens Links."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._token = "text2"
        self._texts = ("", "")  # full, and short for a narrow window
        self._brief = False
        self.setProperty("pill", True)
        theme.changed.connect(self._retheme)

    def show_links(self, session: Session) -> None:
        """Show how the current trace is linked."""
        if not session.traces:
            return
        open_trace = session.traces[session.current_trace or 0]
        state = link_summary(session, open_trace)
        # The match and the share of slices are in the tooltip.
        text, chip = state.text, state.brief if state.is_linked else state.text
        self._token = state.token
        if len(session.traces) > 1:
            file = display_name(open_trace.trace.path)
            text, chip = f"{file}   {text}", f"{file}   {chip}"
        self._texts = chip, state.brief
        self._show_text()
        reasons = "\n".join(
            f"{count} × {REASONS[why].listed_text}" for why, count in state.by_reason.items()
        )
        explain(self, f"{text}\nSlices by reason:\n{reasons}")
        self._retheme()

    def be_brief(self, brief: bool) -> None:
        """Show the short text if there is little space; the tooltip always has the full text."""
        if brief != self._brief:
            self._brief = brief
            self._show_text()

    def _show_text(self) -> None:
        self.setText(literal(self._texts[self._brief]))
        self.setAccessibleName(f"Links: {self._texts[0]}")

    def _retheme(self) -> None:
        self.setIcon(self._theme.icon("dot", self._token))


class Toolbar(BaseToolbar):
    """Follows the session, so that its controls always show the state of the view."""

    panel_requested = Signal(str)
    run: InferencePicker
    search: SearchField

    def __init__(
        self, session: Session, theme: Theme, commands: CommandTable, search: SearchField
    ) -> None:
        super().__init__(theme)
        self._session, self._commands = session, commands
        self._buttons: list[tuple[QToolButton, str]] = []
        self._add("file.open", "open", text="Open")
        self.addSeparator()
        for id, icon in (("go.back", "back"), ("go.forward", "forward"), ("view.fit_all", "fit")):
            self._add(id, icon)
        self.addSeparator()
        self.search = search
        self.addWidget(self.search)
        self.scheme = self.add_scheme()
        for scheme in SCHEMES:
            self.scheme.addItem(scheme.title, scheme.id)
        self._inferences = [self._add("go.previous_run", "previous")]
        self.run = InferencePicker(session, theme)
        self._inferences.append(self.addWidget(self.run))
        self._inferences.append(self._add("go.next_run", "next"))
        self.arms = ArmsBar(session, commands, theme)
        self._arms_action = self.addWidget(self.arms)
        self.add_space()
        self.link_state = LinkStateButton(theme)
        self._link_action: QAction = self.addWidget(self.link_state)
        self.link_state.clicked.connect(self._show_links)
        self.scheme.activated.connect(self._pick_scheme)
        for signal in (
            session.workspace_changed,
            session.selection_changed,
            session.run_picked,
            session.compared,
            ComparisonFeed.of(session).changed,  # after the bar has the texts of both arms
        ):
            signal.connect(self._follow)
        for signal in (session.workspace_changed, session.coloring_changed):
            signal.connect(self._fit_scheme)
        theme.changed.connect(self._retheme)
        commands.keys_changed.connect(self._set_shortcut_hints)
        self._retheme()
        self._fit_scheme()
        self._set_shortcut_hints()
        self._follow()

    def _add(self, id: str, icon: str, text: str = "") -> QAction:
        button = self.add_button(text)
        action = self._commands.actions[id]
        if text:
            action.setIconText(button.text())  # which the button takes
        button.setDefaultAction(action)
        self._buttons.append((button, icon))
        return self.addWidget(button)

    @Slot()
    def _show_links(self) -> None:
        self.panel_requested.emit("links")

    def _retheme(self) -> None:
        for button, icon in self._buttons:
            token = "text1" if button.property("framed") else "text2"
            button.defaultAction().setIcon(self._theme.icon(icon, token))

    def _set_shortcut_hints(self) -> None:
        for button, _ in self._buttons:
            id = button.defaultAction().objectName()
            keys = self._commands.keys(id)
            title = self._commands.commands[id].plain_title
            button.setToolTip(f"{title}  {shown_key(keys[0])}" if keys else title)

    def _follow(self) -> None:
        self.link_state.show_links(self._session)
        is_compared = self._session.state.compared is not None
        self._link_action.setVisible(bool(self._session.traces) and not is_compared)
        self._arms_action.setVisible(is_compared)
        for action in self._inferences:
            action.setVisible(not is_compared)
        self.run.follow()
        self._fit()

    def _fit(self) -> None:
        """Fit everything into the width.

        Shortens the link state first, then the search field, and then hides a caption and
        separators. The link state has a fixed place in this, so that the controls before it do not
        move when its text changes.
        """
        self.run.be_narrow(self.width() < self._theme.px(NARROW))
        self.link_state.be_brief(False)
        self.arms.be_brief(False)
        self.show_dispensable(True)
        self.search.take_usual_width()
        self.arms.be_brief(self._wanted() > self.width())
        self.link_state.be_brief(self._wanted() > self.width())
        is_compared = self._session.state.compared is not None
        reserved = 0 if is_compared else self._theme.px(LINK_STATE_WIDTH)
        self.fit_search(reserved)

    def _wanted(self) -> int:
        """The width of all, with the link state as it is."""
        width = self.link_state.sizeHint().width() if self._link_action.isVisible() else 0
        return self.wanted_width(width)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit_scheme(self) -> None:
        """Select the current scheme, and disable unsupported ones, with the reason as tooltip."""
        session, items = self._session, self.scheme.model()
        assert isinstance(items, QStandardItemModel)
        wanted = argument_schemes(session)
        offered = [self.scheme.itemData(i) for i in range(len(SCHEMES), self.scheme.count())]
        if wanted != offered:
            while self.scheme.count() > len(SCHEMES):
                self.scheme.removeItem(len(SCHEMES))
            for id in wanted:
                argument = scheme_of(id)
                assert argument is not None
                self.scheme.addItem(argument.title, id)
                self.scheme.setItemData(
                    self.scheme.count() - 1,
                    f"<p>{escape(argument.tells)}</p>",
                    Qt.ItemDataRole.ToolTipRole,
                )
        for i, scheme in enumerate(SCHEMES):
            why = scheme_problem(session, scheme.id) if session.traces else ""
            items.item(i).setEnabled(not why)
            items.item(i).setToolTip(f"<p>{escape(why or scheme.tells)}</p>")
        self.scheme.setCurrentIndex(self.scheme.findData(shown_scheme(session)))
        self.scheme.setToolTip(self.scheme.currentText())  # a long one is cut

    def _pick_scheme(self, index: int) -> None:
        set_scheme(self._session, self.scheme.itemData(index))
