"""Between what is selected in the session and the storages of a memory plan."""

from __future__ import annotations

import numpy as np

from viewer.analysis.memory.run_times import slices_of_instruction
from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import longest_slice
from viewer.gui.panels.memory.answer import MemoryAnswer
from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences
from viewer.view.state import SliceRef, SliceSet

_MOST = 2000  # storages or operators that are looked up
NO_INSTRUCTION = -1


def select_writers(session: Session, answer: MemoryAnswer, storages: Ints) -> None:
    """Select the operators that write some storages first, or else the slices of these."""
    shown = answer.question.shown
    writers = [answer.writers[i] for i in storages[:_MOST].tolist()]
    operators = tuple(sorted({i for writer in writers for i in writer.operators}))
    program = answer.program
    linked = [i for i, s in enumerate(session.traces) if s.table.program is program]
    own = [i for i in linked if session.as_run(i) is shown]
    if operators and program is not None and linked:
        session.select_operators((own or linked)[0], operators)
        return
    if shown is None:
        return
    method = answer.plan.method
    scopes = [i for i, ran in enumerate(shown.table.ran) if ran is method]
    numbers = sorted({writer.instruction for writer in writers if writer.instruction >= 0})
    found = [slices_of_instruction(shown.trace, scopes, number) for number in numbers]
    slices = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    if len(slices):
        session.show_inferences(Inferences.AS_RUN)
        number = session.number_of(shown)
        if number is not None:
            longest = SliceRef(number, longest_slice(shown, slices))
            session.select_slices(SliceSet({number: slices}), longest, reveal=True)


def selected_instructions(session: Session, answer: MemoryAnswer) -> set[int]:
    """Return the instructions of the selected slices, else of the selected operators."""
    state, method = session.state, answer.plan.method
    found: set[int] = set()
    for trace, numbers in state.slices.of.items():
        table = session.traces[trace].table
        scopes = [i for i, ran in enumerate(table.ran) if ran is method]
        keys = np.unique(table.trace.slices.key[numbers])
        own = keys[np.isin(table.trace.keys.scope[keys], scopes)]
        found.update(table.trace.keys.instruction[own].tolist())
    found.discard(NO_INSTRUCTION)
    if not found and state.operators is not None:
        trace, operators = state.operators
        if session.traces[trace].table.program is answer.program:
            for operator in operators[:_MOST]:
                found.update(answer.instructions_of.get(operator, ()))
    return found
