"""The clock rates in the status bar, with a menu to choose a rate."""

from __future__ import annotations

from fractions import Fraction

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMenu, QToolButton

from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.labels import explain, literal
from viewer.gui.session.clocks import clock_trace, set_clock
from viewer.gui.session.session import Session
from viewer.gui.window.frame.delegate_clock_menus import DelegateClockMenus, ask_rate, refusal
from viewer.gui.window.frame.status_text import clock_text
from viewer.model.text import display_name
from viewer.model.times import ClockRate

MOST_WIDTH = 480  # px of the text, which a narrow window must have room for


class ClockButton(QToolButton):
    """Shows the clocks of the open files; its menu sets the rates of adjustable and delegates'."""

    refused = Signal(str)  # why a rate was rejected

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.rates = QMenu("Clock &rate", self)  # starts with a title that names the file
        self._title = self.rates.addAction("")
        self._title.setEnabled(False)
        self._delegates = DelegateClockMenus(session, self.rates)
        self._delegates.refused.connect(self.refused)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        # The current trace depends on the selection.
        for signal in (session.workspace_changed, session.selection_changed):
            signal.connect(self.follow)

    def follow(self) -> None:
        """Update to the current clocks."""
        text, adjustable = clock_text(self._session), self._adjustable()
        has_menu = self._delegates.follow() or adjustable is not None
        elided = elided_text(self.fontMetrics(), text, Qt.TextElideMode.ElideRight, MOST_WIDTH)
        self.setText(elided.replace("&", "&&"))
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self.setMenu(self.rates if has_menu else None)  # type: ignore[arg-type]
        self._title.setVisible(adjustable is not None)
        ticks = ""
        if adjustable is not None:
            of, rate = adjustable
            self._title.setText(literal(of))
            ticks = f"{rate.tick_text}, {rate.origin}. Click to choose another rate"
        explain(self, "\n".join(filter(None, (text if elided != text else "", ticks))))
        self.rates.setEnabled(has_menu)

    def _adjustable(self) -> tuple[str, ClockRate] | None:
        """The adjustable clock and its rate, of a trace or of debug info; None if there is none.

        The clock is named by its file.
        """
        number = clock_trace(self._session)
        if number is not None:
            open_trace = self._session.traces[number]
            return display_name(open_trace.file.path), open_trace.rate
        rate = self._session.workspace.clocks.cycle_rate
        return None if rate is None else ("estimates in debug info", rate)

    def choose(self, ns_per_tick: Fraction | None) -> None:
        """Set the clock rate of the current trace or debug info; None restores the default."""
        number = clock_trace(self._session)
        try:
            if number is not None:
                set_clock(self._session, number, ns_per_tick)
            elif self._session.workspace.clocks.cycle_rate is not None:
                set_clock(self._session, None, ns_per_tick)
        except ValueError as error:
            self.refused.emit(refusal(error))

    def ask(self) -> None:
        """Ask the user for the clock rate of the current trace or of debug info."""
        adjustable = self._adjustable()
        if adjustable is None:
            return
        of, rate = adjustable
        ask_rate(self.window(), of, rate.ns_per_tick, self.choose, self.refused.emit)
