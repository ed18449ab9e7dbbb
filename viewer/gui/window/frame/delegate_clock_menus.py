"""The menus that state the rate of each delegate's clock, one per clock of the open files."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from viewer.gui.qt.widgets.labels import literal, tip
from viewer.gui.session.clocks import (
    CYCLE_RATES,
    DelegateClock,
    delegate_clocks,
    set_delegate_clock,
)
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import format_rate, parse_rate

UNKNOWN = "unknown"
TITLE = "Delegate clocks"


class DelegateClockMenus(QObject):
    """Adds a submenu per delegate's clock to the end of a menu, below a title.

    Each shows the clock's rate, and sets or clears it. A rate that is no rate is emitted as
    `refused`, as a sentence.
    """

    refused = Signal(str)

    def __init__(self, session: Session, menu: QMenu) -> None:
        super().__init__(menu)
        self._session, self._menu = session, menu
        self._clocks: tuple[tuple[str, DelegateClock], ...] = ()
        self._entries: list[QAction] = []

    def follow(self) -> bool:
        """Update to the open files and their rates; return whether there is any such clock."""
        clocks = delegate_clocks(self._session)
        several = len(self._session.traces) > 1
        named = tuple((self._name(clock, several), clock) for clock in clocks)
        if named != self._clocks:
            self._clocks = named
            self._fill()
        return bool(clocks)

    def _name(self, clock: DelegateClock, several: bool) -> str:
        """The name of a clock, with that of its file if several are open."""
        path = self._session.traces[clock.trace].file.path
        return f"{clock.name} in {display_name(path)}" if several else clock.name

    def _fill(self) -> None:
        for action in self._entries:
            self._menu.removeAction(action)
            # Later, because it may be of the menu whose action was triggered.
            (action.menu() or action).deleteLater()
        self._entries = []
        if self._clocks:
            title = self._menu.addAction(TITLE)
            title.setEnabled(False)
            self._entries = [self._menu.insertSeparator(title), title]
        self._entries += [self._submenu(name, clock) for name, clock in self._clocks]

    def _submenu(self, name: str, clock: DelegateClock) -> QAction:
        now = clock.ns_per_tick
        menu = QMenu(literal(f"{name}: {rate_text(now)}"), self._menu)
        self._menu.addMenu(menu)
        rates = {text: parse_rate(text) for text in CYCLE_RATES}
        if now is not None and now not in rates.values():
            rates[format_rate(now)] = now
        offered: list[tuple[str, Fraction | None]] = [(UNKNOWN.capitalize(), None), *rates.items()]
        group = QActionGroup(menu)
        for text, rate in offered:
            action = menu.addAction(f"&{text}")
            action.setCheckable(True)
            action.setChecked(rate == now)
            group.addAction(action)
            action.triggered.connect(partial(self._choose, clock, rate))
        menu.addSeparator()
        menu.addAction("&Other clock rate…").triggered.connect(partial(self._ask, name, clock))
        return menu.menuAction()

    def _choose(self, clock: DelegateClock, rate: Fraction | None, *_: object) -> None:
        try:
            set_delegate_clock(self._session, clock.trace, clock.name, rate)
        except ValueError as error:
            self.refused.emit(refusal(error))

    def _ask(self, name: str, clock: DelegateClock, *_: object) -> None:
        ask_rate(
            self._menu.window(),
            name,
            clock.ns_per_tick,
            partial(self._choose, clock),
            self.refused.emit,
        )


def rate_text(ns_per_tick: Fraction | None) -> str:
    """How fast a delegate's clock runs, as a word or a rate."""
    return UNKNOWN if ns_per_tick is None else f"{format_rate(ns_per_tick)} chosen"


def ask_rate(
    parent: QWidget,
    of: str,
    now: Fraction | None,
    choose: Callable[[Fraction], object],
    refuse: Callable[[str], object],
) -> None:
    """Ask for the rate of a clock, now so many ns per tick, or unknown; refuse what is no rate."""
    text, answered = QInputDialog.getText(
        parent,
        "Clock rate",
        tip(f"Clock rate of {of}:"),
        text="" if now is None else format_rate(now),
    )
    if not answered:
        return
    try:
        rate = parse_rate(text)
    except ValueError as error:
        refuse(refusal(error))
        return
    choose(rate)


def refusal(error: ValueError) -> str:
    """What to tell the user about a rate that was rejected."""
    return f"Clock rate not changed: {error}"
