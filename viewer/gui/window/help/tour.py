"""The tour: four steps through the window, which the user does by hand or with Next.

The tour uses what is open if that has operators, otherwise it opens the first sample. It ends after
the last step, on Escape, or when files are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QTimer, Signal, Slot
from PySide6.QtWidgets import QTabBar, QWidget

from viewer.analysis.links.labels import set_label
from viewer.dataclasses import dataclass
from viewer.gui.qt.command_table import CommandTable, shown_key
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.callout import Callout
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.file_jobs import Loader
from viewer.gui.session.selection import slices_of
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.frame.view_settings import ViewSettings
from viewer.gui.window.toolbar.toolbar import SearchField
from viewer.model.figures import WHOLE
from viewer.model.times import counted
from viewer.resources import SAMPLES
from viewer.view.selection import per_inference
from viewer.view.state import SliceRef

if TYPE_CHECKING:
    from viewer.view.open_trace import OpenTrace

STEPS = 4
_FOLLOWS_MS = 30  # layouts move several widgets in sequence; the note moves once, after the last


@dataclass(frozen=True, slots=True)
class TourStep:
    """One step of the tour.

    text: what to do. target: where to do it, in window coordinates. do: does it for the user.
    result: describes the result; result_area: where it is, None if there is none, and Next
    continues immediately. related_areas: those that the note should not cover. panel: the panel to
    bring to the front when the step starts, "" for none.
    """

    title: str
    text: str
    target: Callable[[], QRect]
    is_done: Callable[[], bool]
    do: Callable[[], object]
    result: Callable[[], str] = lambda: ""
    result_area: Callable[[], QRect] | None = None
    related_areas: Callable[[], list[QRect]] = list
    panel: str = ""


class Tour(QObject):
    """The tour of one window; emits `ended` when it is over for any reason.

    `loader` reads the sample that `open_files` requests. `search` is the field that the tour points
    at.
    """

    ended = Signal()

    def __init__(
        self,
        session: Session,
        loader: Loader,
        open_files: Callable[[Sequence[str]], None],
        timeline: Timeline,
        search: SearchField,
        docks: Docks,
        table: CommandTable,
        view_settings: ViewSettings,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self._open_files = session, open_files
        self._timeline, self._field, self._docks = timeline, search, docks
        self._details, self._source, self._operators = (
            docks.by_name[name] for name in ("details", "source", "operators")
        )
        self._table, self._view_settings, self._shell = table, view_settings, shell
        self.callout: Callout | None = None
        self.number = 0  # number of the step from 1, 0 for none
        self.shows_result = False  # shows the result of the step instead of the instructions
        self._waits = False  # waiting for the sample
        self._steps: list[TourStep] = []
        self._shown_example: tuple[OpenTrace, SliceRef] | None = None
        self._before: object = None  # the selection when the step started
        self._soon = QTimer(self, interval=_FOLLOWS_MS, singleShot=True)
        self._soon.timeout.connect(self._point)
        session.files_added.connect(self._added)
        session.workspace_changed.connect(self._opened)
        for signal in (session.selection_changed, Search.of(session).changed):
            signal.connect(self._follow)
        for signal in (session.range_changed, session.tracks_changed):
            signal.connect(self._move)
        for signal in (loader.failed, loader.cancelled):
            signal.connect(self._not_loaded)
        shell.closing.connect(self.leave)

    @property
    def is_on(self) -> bool:
        """Whether the tour is running or waiting for its sample."""
        return self.number > 0 or self._waits

    @Slot()
    def start(self) -> None:
        """Start the tour, and open the sample first if nothing open has operators."""
        self.leave()
        if self._trace() is not None:
            self._begin()
        else:
            self._waits = True
            self._open_files(SAMPLES[0].paths())

    @Slot()
    def leave(self) -> None:
        """End the tour; keeps what was opened, selected or searched."""
        was_on = self.is_on
        self.number, self._waits = 0, False
        self._shown_example = None
        self._soon.stop()
        if self.callout is not None:
            had_keys = self.callout.isAncestorOf(self._shell.focusWidget() or self._shell)
            self.callout.dismiss()
            if had_keys and not self._session.is_empty:
                self._timeline.view.setFocus()
        for watched in (self._shell, *self._docks.by_name.existing.values()):
            watched.removeEventFilter(self)
        if was_on:
            self.ended.emit()

    # -- following the user ----------------------------------------------------------------------

    @Slot(object)
    def _added(self, complaints: object) -> None:
        if self._waits and self._trace() is not None:
            QTimer.singleShot(0, self._begin)  # after the docks are laid out

    @Slot()
    def _opened(self) -> None:
        if self._session.is_empty and self.number:
            self.leave()

    @Slot()
    def _not_loaded(self) -> None:
        if self._waits:
            self.leave()

    @Slot()
    def _begin(self) -> None:
        if self._session.is_empty:
            return
        self._waits = False
        if self.callout is None:
            self.callout = Callout(self._shell.theme, self._shell)
            self.callout.next_requested.connect(self.next)
            self.callout.leave_requested.connect(self.leave)
        for watched in (self._shell, *self._docks.by_name.existing.values()):
            watched.installEventFilter(self)
        self._steps = [self._slice(), self._operator(), self._search(), self._export()]
        self._go_to(1)
        self.callout.next.setFocus()

    def _go_to(self, number: int) -> None:
        self.number, self.shows_result = number, False
        state = self._session.state
        self._before = state.selection, state.query
        if panel := self._steps[number - 1].panel:
            self._docks.show_panel(panel)
        self._show_step()

    @Slot()
    def next(self) -> None:
        """Do the current step for the user, or go to the next one if it is done."""
        step = self._steps[self.number - 1]
        if not self.shows_result and step.result_area is not None:
            step.do()
            self._follow()
            if not self.shows_result and step.is_done():  # already done before the step started
                self.shows_result = True
                self._show_step()
        elif self.number < STEPS:
            self._go_to(self.number + 1)
        else:
            self.leave()

    @Slot()
    def _follow(self) -> None:
        """Show the result once the user has done the step, and update it if they do more."""
        if not self.number or not self._steps[self.number - 1].is_done():
            return
        state, was_done = self._session.state, self.shows_result
        self.shows_result = was_done or (state.selection, state.query) != self._before
        if self.shows_result:
            assert self.callout is not None
            text = self._steps[self.number - 1].result()
            if not was_done or text != self.callout.text.text():
                self._show_step()

    def _show_step(self) -> None:
        assert self.callout is not None
        step = self._steps[self.number - 1]
        text = step.result() if self.shows_result else step.text
        last = self.number == STEPS
        self.callout.show_step(
            f"Tour, step {self.number} of {STEPS}", step.title, text, "&Done" if last else "&Next"
        )
        self.callout.leave.setVisible(not last)
        keys = self._table.keys("view.clear")
        self.callout.leave.setToolTip(f"{shown_key(keys[0])} does it too" if keys else "")
        self._point()
        self._soon.start()  # panels brought to the front are laid out later

    @Slot()
    def _move(self) -> None:
        if self.number:
            self._soon.start()

    @Slot()
    def _point(self) -> None:
        if not self.number or self.callout is None:
            return
        step = self._steps[self.number - 1]
        find_target = step.result_area if self.shows_result else None
        self.callout.animates = self._view_settings.moves_smoothly
        tabs = [self._rect(bar) for bar in self._shell.findChildren(QTabBar)]
        self.callout.point_at((find_target or step.target)(), [*tabs, *step.related_areas()])

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move the note along with its target when the window or a dock changes."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show):
            self._move()
        return False

    # -- the steps -------------------------------------------------------------------------------

    def _trace(self) -> int | None:
        """The first open trace with slices that are linked to operators."""
        for number, open_trace in enumerate(self._session.traces):
            if open_trace.table.program is not None and self._linked(number).any():
                return number
        return None

    def _linked(self, number: int) -> np.ndarray:
        open_trace = self._session.traces[number]
        return np.asarray(open_trace.table.set_of_key[open_trace.trace.slices.key] >= 0)

    def _example(self) -> SliceRef:
        """The longest visible slice of a single operator; if there is none, of any operators."""
        number = self._trace()
        assert number is not None
        open_trace, state = self._session.traces[number], self._session.state
        slices, table = open_trace.trace.slices, open_trace.table
        sets = table.set_of_key[slices.key]
        alone = np.array([len(operators) == 1 for operators in table.sets] or [False], bool)
        length = (slices.end - slices.start).astype(np.int64)
        seen = state.times_of(self._session.groups.of(number).key)
        first, last = (open_trace.axis.to_ticks_floor(ns) for ns in seen)
        in_view = (slices.start >= first) & (slices.end <= last + 1)
        linked = sets >= 0
        for candidates in (
            linked & in_view & alone[sets],
            linked & in_view,
            linked & alone[sets],
            linked,
        ):
            if candidates.any():
                return SliceRef(number, int(np.where(candidates, length, -1).argmax()))
        raise AssertionError("a trace with linked slices has one")

    def _example_now(self) -> SliceRef | None:
        """The example slice of the step; None if no slice is linked to an operator any more.

        It is chosen again if links or the inference view have changed.
        """
        number = self._trace()
        if number is None:
            return None
        open_trace = self._session.traces[number]
        if self._shown_example is None or self._shown_example[0] is not open_trace:
            self._shown_example = open_trace, self._example()
        return self._shown_example[1]

    def _slice(self) -> TourStep:
        session, source = self._session, self._source

        def result() -> str:
            ref = session.state.slice
            assert ref is not None
            open_trace = session.traces[ref.trace]
            operators = open_trace.link(ref.index).operators
            if not operators:
                return "This slice has no operator; Details shows why. Try another one."
            name = set_label(open_trace.table, operators)
            return (
                f"This slice belongs to {name}. Details describes it, and Source shows the line of "
                f"the model that it comes from, with the time of that line."
            )

        def do() -> None:
            if (example := self._example_now()) is not None:
                session.select_slice(example, reveal=True)

        def result_area() -> QRect:
            # In a narrow window, Details is a tab, which can be behind another.
            details = self._rect(self._details)
            return self._rect(source) if details.isEmpty() else details

        def related_areas() -> list[QRect]:
            marked: list[QRect] = []
            if source.isVisible():
                corner = source.mapTo(self._shell, QPoint())
                marked = [area.translated(corner) for area in source.marked_areas()]
            return [self._rect(self._timeline), self._rect(self._shell.toolbar), *marked]

        return TourStep(
            "Click a slice",
            "Each bar is one operation; its width is its duration. Click one to see its operator "
            "and its source line.",
            lambda: self._slice_rect(self._example_now()),
            lambda: session.state.slice is not None,
            do,
            result,
            result_area,
            related_areas,
            "source",
        )

    def _operator(self) -> TourStep:
        session = self._session
        number = self._trace() or 0
        most_expensive = self._most_expensive(number)

        def target() -> QRect:
            return self._rect(self._operators)

        def result() -> str:
            assert session.state.operators is not None
            trace, operators = session.state.operators
            open_trace = session.traces[trace]
            count = len(slices_of(session, trace, operators))
            return (
                f"{counted(count, 'slice')} of {set_label(open_trace.table, operators)} are "
                f"highlighted, in every inference. {self._key('view.fit')} zooms to them."
            )

        def do() -> None:
            session.select_operators(number, most_expensive)

        return TourStep(
            "Find the most expensive operator",
            "Operators lists the time of each operator, the most expensive first. Click a row.",
            target,
            lambda: session.state.slice is None and session.state.operators is not None,
            do,
            result,
            lambda: self._rect(self._timeline.view),
            lambda: [target(), self._rect(self._timeline)],
            "operators",
        )

    def _most_expensive(self, number: int) -> tuple[int, ...]:
        """The set of operators with the highest cost in the cost table."""
        scope = per_inference(WHOLE, self._session.state)
        rows = self._session.traces[number].costs.table(scope).rows
        return tuple(max(rows, key=lambda row: row.ticks).operators)

    def _search(self) -> TourStep:
        session = self._session
        number = self._trace() or 0
        program = session.traces[number].table.program
        assert program is not None
        word = program.operators[self._most_expensive(number)[0]].op

        def result() -> str:
            hits = len(Search.of(session).hits)
            zoom = " and ".join(map(self._key, ("view.zoom_in", "view.zoom_out")))
            move = " and ".join(map(self._key, ("view.pan_left", "view.pan_right")))
            return (
                f"{counted(hits, 'slice')} found and marked; Enter selects the next one. Press "
                f"Escape to clear the search and return to the timeline. There, {zoom} zoom around "
                f"the mouse, {move} pan, and {self._key('view.fit_all')} shows everything."
            )

        return TourStep(
            "Search and zoom",
            f"{self._key('search.find')} focuses the search field. Type {word}, or any part of a "
            f"name, operator, module or source file.",
            lambda: self._rect(self._field),
            lambda: bool(len(Search.of(session).hits)),
            lambda: Search.of(session).set_query(word),
            result,
            lambda: self._rect(self._timeline.view),
        )

    def _export(self) -> TourStep:
        window = self._shell

        def menu() -> QRect:
            bar = window.menuBar()
            place = bar.actionGeometry(window.menus["File"].menuAction())
            return QRect(bar.mapTo(window, place.topLeft()), place.size())

        return TourStep(
            "Export",
            f"In the menu File: {self._key('file.export')} writes a trace that Perfetto shows with "
            f"the same durations, Export table of slices or of operators one row for each. "
            f"{self._key('file.save_session')} keeps all that you see. "
            f"{self._key('help.here')} is help on any panel.",
            menu,
            lambda: False,
            lambda: None,
        )

    # -- positions -------------------------------------------------------------------------------

    def _key(self, id: str) -> str:
        """The first shortcut of a command, else its title."""
        keys = self._table.keys(id)
        return shown_key(keys[0]) if keys else self._table.commands[id].plain_title

    def _rect(self, widget: QWidget) -> QRect:
        window = self._shell
        if not widget.isVisibleTo(window):
            return QRect()
        # A dock behind another one is outside the window.
        return QRect(widget.mapTo(window, QPoint()), widget.size()).intersected(window.rect())

    def _slice_rect(self, ref: SliceRef | None) -> QRect:
        view = self._timeline.view
        if ref is None:
            return QRect()
        place = view.place_of(ref)
        if place.isEmpty():
            return self._rect(view)
        corner: QPoint = view.viewport().mapTo(self._shell, place.topLeft())
        return QRect(corner, place.size())
