"""The link state in the toolbar: how much is linked, and how well the files match."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton

from viewer.analysis.links.coverage import coverage_of
from viewer.analysis.links.labels import unlinked_text
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import explain
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import NARROW_SPACE


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
        candidates = session.workspace.candidates(shown.file)
        warned = bool(session.workspace.warnings(shown.file))
        facts = coverage_of(session.workspace.links(shown.file))
        if shown.table.program is None or shown.table.trace_match is None:
            best = next((c.trace_match.match for c in candidates), None)
            foreign = best is not None and best.checkable and not best.belongs
            undecided = "not linked" if candidates else f"{unlinked_text(shown.file)} linked"
            text = brief = "ETRecord does not match" if foreign else undecided
            self._token = "warning" if warned else "text2"
        else:
            match = shown.table.trace_match.match
            time, slices = facts["covered_time"], facts["coverage"]
            parts = [f"{_percent(time)} of linkable time"] if time is not None else []
            parts += [f"{_percent(slices)} of slices"] if slices is not None else []
            number = f"match {match.value:.2f}"
            checked = number if match.checkable else "cannot be checked"
            text = " · ".join([*([f"Linked: {', '.join(parts)}"] if parts else []), checked])
            share = slices if time is None else time
            brief = " · ".join([*([] if share is None else [f"{_percent(share)} linked"]), checked])
            if any(shown.table.trace_match.undecided):
                text = brief = "methods undecided"
            self._token = "warning" if warned else "ok"
        if len(session.traces) > 1:
            text = f"{display_name(shown.trace.path)}   {text}"
        self._texts = text, brief
        self._show_text()
        reasons = "\n".join(f"{count} × {why}" for why, count in facts["by_reason"].items())
        explain(self, f"{text}\nSlices by reason:\n{reasons}")
        self._retheme()

    def be_brief(self, brief: bool) -> None:
        """Show the short text if there is little space; the tooltip always has the full text."""
        if brief != self._brief:
            self._brief = brief
            self._show_text()

    def _show_text(self) -> None:
        self.setText(self._texts[self._brief])
        self.setAccessibleName(f"Links: {self._texts[0]}")

    def _retheme(self) -> None:
        self.setIcon(self._theme.icon("dot", self._token))


def _percent(share: float) -> str:
    """A share as a whole percentage; 100 only means all, and 0 only means none."""
    whole = min(max(round(share * 100), 1 if share else 0), 100 if share == 1 else 99)
    return f"{whole}{NARROW_SPACE}%"
