"""The toolbar: frequent commands, search, color scheme, picked inference, link state."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction, QResizeEvent, QStandardItemModel
from PySide6.QtWidgets import QPushButton, QToolButton

from viewer.analysis.links.link_table import REASONS
from viewer.gui.qt.commands.command_table import CommandTable
from viewer.gui.qt.commands.key_map import shown_key
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import explain, literal
from viewer.gui.session.coloring import (
    argument_schemes,
    scheme_problem,
    set_scheme,
    shown_scheme,
)
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.gui.session.linking import link_summary
from viewer.gui.session.session import Session
from viewer.gui.window.toolbar.arms_bar import ArmsBar
from viewer.gui.window.toolbar.first_toolbar import LINK_STATE_WIDTH, NARROW, BaseToolbar
from viewer.gui.window.toolbar.inference_picker import InferencePicker
from viewer.gui.window.toolbar.search_field import SearchField
from viewer.model.text import display_name
from viewer.render.color_schemes import SCHEMES, scheme_of


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
