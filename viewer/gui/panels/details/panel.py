"""The Details panel: everything known about the selected slice, operators or area.

Each selection gets a new card, because cards differ in their sections. Links in the card select, or
request a source line from the window.
"""

from __future__ import annotations

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QAccessible, QShowEvent
from PySide6.QtWidgets import QWidget

from viewer.gui.panels.base.page_panel import ScrollPanel
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.base.slice_facts import AreaFacts, area_facts
from viewer.gui.panels.details.card import Card, subject_of
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.background import Latest
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import EmptyPlace
from viewer.gui.session.feeds.costs import CostFeed
from viewer.gui.session.feeds.flows import FlowFeed
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import Area

NOTHING = "Select a slice or operator for details."
NO_RUN = "Also open a profile, then select a slice or operator for details."


@has_role(QAccessible.Role.Grouping)
class DetailsPanel(ScrollPanel):
    """The details of the selection."""

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host, "Details")
        self._costs = CostFeed.of(session)
        self._stale = True
        # Opening files emits several signals at once; the card is created once, after the last.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self.refresh)
        for signal in (
            session.workspace_changed,
            session.selection_changed,
            session.run_picked,
            session.coloring_changed,
            self._costs.changed,
            FlowFeed.of(session).changed,
            theme.changed,
        ):
            signal.connect(self._invalidate)
        session.workspace_changed.connect(self._forget)
        # The last area, its traces, and its contents.
        self._facts: tuple[Area, list[OpenTrace], AreaFacts] | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._counted)
        self.refresh()

    def _facts_of(self, area: Area) -> AreaFacts | None:
        """Return an area's contents; None while a worker thread counts many slices."""
        traces = self._session.traces
        if self._facts is not None and self._facts[0] == area and self._facts[1] is traces:
            return self._facts[2]
        if sum(len(open_trace.trace.slices) for open_trace in traces) <= AT_ONCE:
            return area_facts(traces, area)
        self._latest.submit(_count, traces, area)
        return None

    @Slot(object)
    def _counted(self, facts: tuple[Area, list[OpenTrace], AreaFacts]) -> None:
        self._facts = facts
        self._invalidate()

    @Slot()
    def _forget(self) -> None:
        """Release closed traces, because the panel may stay hidden for long."""
        self._facts = None
        if self._session.is_empty:
            self.refresh()

    @Slot()
    def _invalidate(self) -> None:
        self._stale = True
        if self.isVisible():
            self._soon.start(0)

    @guard
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Create the card of the current selection."""
        self._stale = False
        state = self._session.state
        area = state.area if state.slice is None and state.operators is None else None
        facts = None if area is None else self._facts_of(area)
        if area is not None and facts is None:
            return  # a worker thread counts it; the old card stays until then
        before = self.verticalScrollBar().value()
        widget = self.widget()
        is_same_subject = isinstance(widget, Card) and widget.subject == subject_of(self._session)
        card: QWidget
        if state.slice is not None or state.operators is not None or state.area is not None:
            card = Card(self.host, self._costs, facts)
        else:
            has_no_profile = self._session.workspace.programs and not self._session.traces
            card = EmptyPlace(NO_RUN if has_no_profile else NOTHING, self._theme)
        self.replace_widget(card)
        if is_same_subject:
            self.verticalScrollBar().setValue(before)


def _count(traces: list[OpenTrace], area: Area) -> tuple[Area, list[OpenTrace], AreaFacts]:
    return area, traces, area_facts(traces, area)
