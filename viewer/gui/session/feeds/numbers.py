"""The logged values of a profile and their gap to a reference, measured once for all panels.

The profile is the current one if it logged values, and A of a comparison. The reference is what the
user chose, else B. Where values are is known at once; their figures follow, some rows at a time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot

from viewer.gui.qt.background import Latest
from viewer.gui.session.feeds.feed import Feed
from viewer.gui.session.feeds.references import (
    Automatic,
    NumbersChoice,
    Reference,
    has_values,
    offered_references,
)
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.view.open_trace import OpenTrace

if TYPE_CHECKING:
    from viewer.analysis.numbers.compared import OperatorErrors
    from viewer.gui.session.feeds.logged_numbers import (
        LoggedNumbers,
        MeasuredNumbers,
        NumbersQuestion,
    )


class NumbersFeed(Feed["NumbersQuestion", "LoggedNumbers"]):
    """The rows of the shown profile and its reference; `measured`: more of them have figures."""

    measured = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.chosen: Reference | Automatic = Automatic.COMPARED
        self.figures: MeasuredNumbers | None = None
        self._buffers: tuple[str, ...] = ()
        self._block: int | None = None
        self._path = ""  # of the shown profile
        self._measuring = Latest(self, self._take_figures)
        session.workspace_changed.connect(self._follow)
        session.selection_changed.connect(self._follow)
        session.run_picked.connect(self._follow_run)
        session.compared.connect(self._follow)
        session.workspace_changed.connect(self._color)  # for new views of the same traces
        self._follow()

    # -- choices -----------------------------------------------------------------------------------

    def choose(self, reference: Reference | Automatic) -> None:
        """Compare with another reference; a profile counts as soon as it is open."""
        self.chosen = reference
        self._follow()

    @property
    def choice(self) -> NumbersChoice:
        """What the user chose: the reference, and debug buffers."""
        return NumbersChoice(self.chosen, self._buffers)

    def restore(self, choice: NumbersChoice) -> None:
        """Show what the user chose before."""
        if choice != self.choice:
            self.chosen, self._buffers = choice.reference, choice.buffers
            self._current_question = None
            self._follow()

    def choose_inference(self, block: int) -> None:
        """Show the values of another inference, by its event block."""
        self._block = block
        self._follow()

    def add_buffer(self, path: str) -> None:
        """Read values from a debug buffer, of the profile that it belongs to."""
        self._buffers = (*self._buffers, os.path.abspath(path))
        self._current_question = None
        self._follow()

    @property
    def open_trace(self) -> OpenTrace | None:
        """The profile whose values are shown, as it ran; None if none logged any."""
        number = self._number()
        return None if number is None else self._session.as_run(number)

    @property
    def offered(self) -> list[Reference]:
        """The open files that can be references, without B of the comparison."""
        space, open_trace = self._session.workspace, self.open_trace
        if open_trace is None:
            return []
        paths = [executable.path for executable in space.executables]
        return offered_references(space.traces, paths, open_trace.file.path)

    @property
    def automatic(self) -> Reference | None:
        """B of the comparison, if it logged values."""
        other = self._of_b()
        return None if other is None else Reference(other.file.path)

    @property
    def reference(self) -> Reference | None:
        """What the values are compared with, None for nothing."""
        if isinstance(self.chosen, Reference):
            return self.chosen
        return None if self.chosen is Automatic.NOTHING else self.automatic

    # -- question ----------------------------------------------------------------------------------

    def _with_values(self) -> list[int]:
        return [
            i for i, open_trace in enumerate(self._session.traces) if has_values(open_trace.file)
        ]

    def _number(self) -> int | None:
        """The profile to show: A, or the current one, or the one before; never the reference."""
        session, profiles = self._session, self._with_values()
        if (chosen := session.state.compared) is not None:
            of_a = [i for i in profiles if session.traces[i].file.path in chosen.a.paths]
            profiles = of_a or profiles
        if isinstance(self.chosen, Reference) and len(profiles) > 1:
            profiles = [i for i in profiles if session.traces[i].file.path != self.chosen.path]
        if session.current_trace in profiles:
            return session.current_trace
        before = (i for i in profiles if session.traces[i].file.path == self._path)
        return next(before, profiles[0] if profiles else None)

    def _of_b(self) -> OpenTrace | None:
        """The first profile of B that logged values, None without a comparison."""
        session, chosen = self._session, self._session.state.compared
        if chosen is None:
            return None
        of_b = (i for i in self._with_values() if session.traces[i].file.path in chosen.b.paths)
        number = next(of_b, None)
        if number is None or number == self._number():
            return None
        return session.as_run(number)

    def _question(self) -> NumbersQuestion | None:
        number = self._number()
        if number is None:
            self._path = ""
            return None
        from viewer.gui.session.feeds.logged_numbers import (
            NumbersQuestion,  # most files have no values
        )

        session, reference = self._session, self.reference
        open_trace = session.as_run(number)
        if open_trace.file.path != self._path:
            self._path, self._block = open_trace.file.path, None
        paths = {t.file.path: i for i, t in enumerate(session.traces)}
        trace = None if reference is None else paths.get(reference.path)
        other = None if trace is None else session.as_run(trace).table
        block = self._block if self._block is not None else self._picked_block(number)
        return NumbersQuestion(open_trace.table, block, reference, other, self._buffers)

    def _picked_block(self, number: int) -> int | None:
        """The event block of the picked inference, None if none of this profile is picked."""
        session, picked = self._session, self._session.state.run
        if picked is None or picked[0] != number:
            return None
        if session.state.inferences is not Inferences.AS_RUN:
            return None
        events = session.as_run(number).trace.untimed
        blocks = events.block[events.run == picked[1]]
        return int(blocks[0]) if len(blocks) else None

    @Slot()
    def _follow_run(self) -> None:
        self._block = None
        self._follow()

    def _ask(self, question: NumbersQuestion) -> None:
        from viewer.gui.session.feeds.logged_numbers import logged_numbers

        self._latest.submit(logged_numbers, question)

    # -- answers -----------------------------------------------------------------------------------

    def _set(self, answer: LoggedNumbers | None) -> None:
        if answer is not self.answer:
            self._measuring.cancel()
            self.figures = None
            if answer is not None:
                from viewer.gui.session.feeds.logged_numbers import MeasuredNumbers

                self.figures = MeasuredNumbers(answer)
        self._color()
        super()._set(answer)
        if self.figures is not None and answer is not None and answer.rows:
            self._measure()

    def _measure(self) -> None:
        from viewer.gui.session.feeds.logged_numbers import measure

        if self.figures is not None and not self.figures.is_complete:
            self._measuring.submit(measure, self.figures)

    @Slot(object)
    def _take_figures(self, measured_numbers: MeasuredNumbers) -> None:
        self.figures = measured_numbers
        self._color()
        self.measured.emit()
        self._measure()

    @property
    def errors(self) -> OperatorErrors | None:
        """The error of every operator of the shown program, None until all are known."""
        measured_numbers = self.figures
        is_known = (
            measured_numbers is not None
            and measured_numbers.is_complete
            and measured_numbers.numbers.reference
        )
        return measured_numbers.errors if measured_numbers is not None and is_known else None

    @Slot()
    def _color(self) -> None:
        """Give the errors to the open traces of the program, which are colored by them."""
        errors = self.errors
        program = None if self.answer is None else self.answer.program
        has_changed = False
        for open_trace in self._session.views.values():
            is_own = program is not None and open_trace.table.program is program
            operator_errors = errors if is_own else None
            if open_trace.errors is not operator_errors:
                open_trace.errors, has_changed = operator_errors, True
        if has_changed:
            self._session.coloring_changed.emit()

    @property
    def is_measuring(self) -> bool:
        """Whether figures are missing."""
        return self.pending or self._measuring.pending
