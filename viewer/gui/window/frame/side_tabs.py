"""Which of Summary and Details is in front: Details while something is selected, else Summary.

A tab that the user put in front stays there, until the selection changes to what it is for.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from viewer.gui.session.session import Session
from viewer.gui.window.frame.docks import Docks

SUMMARY, DETAILS = "summary", "details"


class SideTabs(QObject):
    """Brings one of the two tabs to the front as the selection changes."""

    def __init__(self, session: Session, docks: Docks) -> None:
        super().__init__(docks)
        self._session, self._docks = session, docks
        self._expected = ""  # which of both was in front when it was last decided
        self._by_hand = ""  # which of both the user put in front instead, or neither
        session.selection_changed.connect(self.follow)
        docks.rearranged.connect(self._show_wanted)

    @property
    def wanted(self) -> str:
        """The tab that belongs to the selection."""
        state = self._session.state
        is_any = state.slice is not None or state.operators is not None or state.area is not None
        return DETAILS if is_any else SUMMARY

    @Slot()
    def follow(self) -> None:
        """Bring the tab of the selection to the front, if the other one is there."""
        front = self._front
        if not front:
            return  # neither can be seen: another panel, or the start page, is in front
        if self._expected not in ("", front):
            self._by_hand = front
        if self._by_hand == self.wanted:
            self._by_hand = ""
        if not self._by_hand:
            self._docks.bring_to_front([self.wanted])
            front = self.wanted
        self._expected = front

    @Slot()
    def _show_wanted(self) -> None:
        """Decide again after panels were moved."""
        self._docks.bring_to_front([self._by_hand or self.wanted])
        self._expected = self._by_hand or self.wanted

    @property
    def _front(self) -> str:
        """Which of both is in front of its tabs; "" for neither."""
        docks = self._docks.by_name
        seen = (n for n in (SUMMARY, DETAILS) if not docks[n].visibleRegion().isEmpty())
        return next(seen, "")
