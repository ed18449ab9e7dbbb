"""Between what is selected in the session and the rows of logged values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.gui.session.numbers.logged import LoggedNumbers, NumbersRow
from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences
from viewer.view.state import SliceRef

_MOST = 2000  # operators that are looked up


def select_row(session: Session, numbers: LoggedNumbers, row: NumbersRow) -> None:
    """Select the operators of a row, or else the slice that logged it."""
    number = _number_of(session, numbers)
    if number is None:
        return
    if row.operators:
        session.select_operators(number, row.operators)
        return
    call = row.call
    index = -1 if call is None else int(numbers.question.table.trace.untimed.call[call.events[-1]])
    if index >= 0:
        session.show_inferences(Inferences.AS_RUN)
        if session.state.inferences is Inferences.AS_RUN:
            session.select_slice(SliceRef(number, index), reveal=True)


def selected_rows(session: Session, numbers: LoggedNumbers) -> tuple[int, ...]:
    """Return the rows of the selected operators, else of the selected slices; () without any."""
    state = session.state
    if state.operators is not None:
        trace, operators = state.operators
        if session.traces[trace].table.program is numbers.program:
            found = {i for one in operators[:_MOST] for i in numbers.of_operator.get(one, ())}
            exact = [i for i in found if set(numbers.rows[i].operators) == set(operators)]
            return tuple(sorted(exact or found))
    number = _number_of(session, numbers)
    slices = None if number is None else state.slices.of.get(number)
    if number is None or slices is None or not len(slices):
        return ()
    key = session.traces[number].trace.slices.key
    own = np.unique(key[slices[:_MOST]]).tolist()
    of_key = numbers.of_key
    return tuple(sorted({i for one in own for i in of_key.get(one, ())}))


def first_of(numbers: LoggedNumbers, rows: Sequence[int]) -> int:
    """Return the row to show of some: the last that is compared, else the last result."""
    compared = set(numbers.compared)
    for wanted in (
        [i for i in rows if i in compared],
        [i for i in rows if numbers.rows[i].is_result],
        list(rows),
    ):
        if wanted:
            return wanted[-1]
    return -1


def _number_of(session: Session, numbers: LoggedNumbers) -> int | None:
    path = numbers.question.table.trace.path
    return next((i for i, t in enumerate(session.traces) if t.file.path == path), None)
