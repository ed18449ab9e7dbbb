"""What the status bar and the message bar say about a session, as pure functions of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QInputDialog, QMenu, QToolButton, QWidget

from viewer.analysis.links.labels import track_name
from viewer.gui.qt.widgets.labels import elided_text, explain, literal, tip
from viewer.gui.session.choices import pair_files
from viewer.gui.session.clocks import (
    CYCLE_RATES,
    DelegateClock,
    clock_trace,
    delegate_clocks,
    set_clock,
    set_delegate_clock,
)
from viewer.gui.session.feeds.selection import SelectionFeed
from viewer.gui.session.selection import calls_of
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.texts import slice_lines
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import Shell
from viewer.model.text import display_name
from viewer.model.times import (
    ClockRate,
    RateOrigin,
    counted,
    format_rate,
    format_span,
    format_time,
    parse_rate,
    with_computed,
)
from viewer.model.trace import Trace
from viewer.view.clock_groups import group_title
from viewer.view.open_trace import OpenTrace


def clock_text(session: Session) -> str:
    """The clock rates, and how many slices the files state and Opscope derives; "" without traces.

    A single clock is shown in full, several by their number; clocks of delegates if the user stated
    their rate.
    """
    if not session.traces:
        return ""
    clocks = {t.rate for t in session.traces}
    text = clocks.pop().text if len(clocks) == 1 else f"{len(clocks)} clock rates"
    for origin in (RateOrigin.ASSUMED, RateOrigin.CHOSEN):
        count = sum(clock.origin is origin for clock in clocks)
        text += f", {count} {origin}" if count else ""
    estimates = session.workspace.clocks.cycle_rate
    text += f" · estimates at {estimates.text}" if estimates else ""
    stated = [clock for clock in delegate_clocks(session) if clock.ns_per_tick is not None]
    if len(stated) > 1:
        text += f" · {len(stated)} delegate clocks chosen"
    elif stated and stated[0].ns_per_tick is not None:
        text += f" · {stated[0].name} at {format_rate(stated[0].ns_per_tick)} chosen"
    return f"{text} · {_slices_text([t.file for t in session.traces])}"


def _slices_text(files: Sequence[Trace]) -> str:
    computed = sum(file.slices.derived_count for file in files)
    stated = sum(len(file.slices) for file in files) - computed
    text = with_computed(counted(stated, "slice"), computed)
    parts = [display_name(file.path) for file in files if file.is_part]
    if not parts:
        return text
    return f"{text}, only a part of {parts[0] if len(parts) == 1 else counted(len(parts), 'file')}"


def added_text(session: Session, paths: Sequence[str], fit_file: str) -> str:
    """A message on added files, such as "Added mine.csv · 6 slices, below the others"; "" for none.

    `fit_file` is how to run the command that zooms to the next file.
    """
    if not paths:
        return ""
    names = ", ".join(map(display_name, paths[:3]))
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    added = [t.file for t in session.traces if t.trace.path in paths]
    parts = [f"Added {names}{more}"]
    if added:
        several = len(session.traces) > len(added)
        parts.append(_slices_text(added) + (", below the others" if several else ""))
        if several:
            parts.append(f"{fit_file} zooms to the next file")
    return " · ".join(parts)


def replaced_text(paths: Sequence[str], step: str, undo: str) -> str:
    """A message on files with other contents, after a "reload", an "undo" or a "redo" of it.

    `undo` is how to run that command.
    """
    what = display_name(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
    if step == "reload":
        return f"Reloaded {what} · {undo} brings the earlier version back"
    if step == "undo":
        return f"{what}: the version before the reload is open again"
    return f"{what}: the reloaded version is open again"


def selection_text(session: Session) -> str:
    """The status bar's text for the selection."""
    state = session.state
    if state.slice is not None and state.others:
        total = SelectionFeed.of(session).total_ns(state.slices)
        text = f"{counted(len(state.others) + 1, 'slice')} selected"
        return text if total is None else f"{text} · {format_time(total)} in total"
    if state.slice is not None:
        open_trace = session.traces[state.slice.trace]
        text = f"1 slice selected · {open_trace.length_text(state.slice.index)}"
        more = _operator_text(session, less=1)
        return f"{text} · {more}" if more else text
    if state.area is not None:
        length = format_time(state.area.t1 - state.area.t0)
        text = f"{length} selected on {counted(len(state.area.tracks), 'track')}"
        more = _operator_text(session)
        answer = SelectionFeed.of(session).answer
        if not more and answer is not None and answer.subject == state.area:
            more = counted(answer.slices, "slice")
        return f"{text} · {more}" if more else text
    return _operator_text(session)


def spoken_text(session: Session) -> str:
    """The text of the selection for screen readers.

    For a single slice, it is the text of the hover tip plus the track name.
    """
    state = session.state
    if len(state.slices) != 1 or state.slice is None:
        return selection_text(session)
    open_trace = session.traces[state.slice.trace]
    track = track_name(open_trace.table, open_trace.trace.slices.track(state.slice.index))
    lines = (*slice_lines(open_trace, state.slice.index), track, _operator_text(session, less=1))
    return ". ".join(line for line in lines if line)


def _operator_text(session: Session, less: int = 0) -> str:
    """ "11 more of its operator in this inference, 3 shared calls"; omits `less` slices."""
    chosen = session.state.operators
    if chosen is None:
        return ""
    alone, shared = calls_of(session, *chosen)
    scope = session.scope(chosen[0])
    where = (
        f" in this {scope.run.unit.noun}" if scope.run else " in the area" if scope.ticks else ""
    )
    parts = []
    if less and alone > less:
        parts.append(f"{counted(alone - less, 'more slice')} of the operator{where}")
    elif not less:
        parts.append(f"{counted(alone, 'slice')} of the operator{where}")
    if shared:
        parts.append(counted(shared, "shared call"))
    return ", ".join(parts)


def range_text(session: Session) -> str:
    """The status bar's text for the visible range; of several clocks that of the active one."""
    if not session.traces:
        return "" if not session.is_empty else "No trace open"
    state = session.state
    t0, t1 = state.times
    text = f"{format_span(t0, t1)} · {format_time(t1 - t0)} visible"
    if len(session.groups) < 2:
        return text
    return f"{group_title(session.group, session.traces)} · {text}"


class LinkWarnings:
    """Shows warnings about the links of one session, with a way to override them."""

    def __init__(self, session: Session, docks: Docks, shell: Shell) -> None:
        self._session, self._docks, self._message = session, docks, shell.message

    @property
    def texts(self) -> set[str]:
        """The texts of all current warnings."""
        return {text for _, text in self._doubts()}

    def show(self) -> None:
        """Show a warning for each file pair that needs attention, with a button to resolve it."""
        space, doubts = self._session.workspace, self._doubts()
        for open_trace, text in doubts:
            candidates = space.candidates(open_trace.file)
            # Offer the direct button only for a single warning; otherwise it would be ambiguous.
            alone = len(doubts) == 1 and len(candidates) == 1
            # If a column of identifiers is proposed, nothing can be linked until it is chosen.
            if (
                alone
                and open_trace.table.program is None
                and not space.identifiers.proposal(open_trace.file)
            ):
                pair = (open_trace.trace.path, candidates[0].program.path)
                self._message.show_warning(text, "Link anyway", partial(self._pair, *pair))
            else:
                show_links = partial(self._docks.show_panel, "links")
                self._message.show_warning(text, "Choose ETRecord…", show_links)

    def _doubts(self) -> list[tuple[OpenTrace, str]]:
        session = self._session
        return [
            (open_trace, text)
            for open_trace in session.traces
            for text in session.workspace.warnings(open_trace.file)
        ]

    def _pair(self, trace: str, program: str) -> None:
        pair_files(self._session, trace, program, self.show)


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
        if (number := clock_trace(self._session)) is not None:
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
