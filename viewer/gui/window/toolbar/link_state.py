"""The link state in the toolbar: how much is linked, and how well the files match."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton

from viewer.analysis.links.link_table import REASONS
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import explain, literal
from viewer.gui.session.linking import link_summary
from viewer.gui.session.session import Session
from viewer.model.text import display_name


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
        shown = session.traces[session.current_trace or 0]
        state = link_summary(session, shown)
        text, brief = state.text, state.brief
        self._token = state.token
        if len(session.traces) > 1:
            text = f"{display_name(shown.trace.path)}   {text}"
        self._texts = text, brief
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
