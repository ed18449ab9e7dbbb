"""Between what is selected in the session and the parts of program files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.analysis.memory.plan import slices_of_instruction
from viewer.analysis.programs.part_pairs import NONE
from viewer.analysis.sizes.file_parts import FilePart, FileParts
from viewer.arrays import Ints
from viewer.gui.panels.sizes.answer import Call, SizesAnswer, User, calls_of
from viewer.gui.session.selection import longest_slice
from viewer.gui.session.session import Session
from viewer.model.inferences.inference_views import Inferences
from viewer.program.executable.executable import ExecutableMethod
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef, SliceSet

_MOST = 2000  # parts, operators or instructions that are looked up
_NONE: Ints = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class UsedRows:
    """Rows of an answer. own: used by the selection only. shared: also by others."""

    own: Ints
    shared: Ints


def select_users(session: Session, answer: SizesAnswer, rows: Ints) -> bool:
    """Select the operators that use some rows, or else the slices of these.

    Those of A, if both files have the parts. Returns whether there are any.
    """
    for parts, part_of in ((answer.a, answer.part_a), (answer.b, answer.part_b)):
        if parts is None:
            continue
        part_numbers = part_of[rows]
        files_parts = [parts.parts[i] for i in part_numbers[part_numbers != NONE][:_MOST].tolist()]
        if _select_operators(session, parts, files_parts) or _select_slices(
            session, parts, files_parts
        ):
            return True
    return False


def _select_operators(session: Session, parts: FileParts, file_parts: list[FilePart]) -> bool:
    operators = tuple(sorted({i for part in file_parts for i in part.operators}))
    linked = [
        i
        for i, open_trace in enumerate(session.traces)
        if open_trace.table.program is parts.program
    ]
    if not operators or parts.program is None or not linked:
        return False
    current = session.current_trace
    session.select_operators(current if current in linked else linked[0], operators)
    return True


def _select_slices(session: Session, parts: FileParts, file_parts: list[FilePart]) -> bool:
    """Select the calls of the instructions that use some parts, in the first profile with any."""
    numbers = sorted({call for part in file_parts for call in calls_of(part)})
    for trace in range(len(session.traces)):
        open_trace = session.as_run(trace)
        slice_parts = [_NONE]
        for method, instruction in numbers[:_MOST]:
            scopes = _scopes(open_trace, parts.executable.methods[method])
            if scopes:
                slice_parts.append(slices_of_instruction(open_trace.trace, scopes, instruction))
        slices = np.unique(np.concatenate(slice_parts))
        if len(slices):
            session.show_inferences(Inferences.AS_RUN)
            longest = SliceRef(trace, longest_slice(open_trace, slices))
            session.select_slices(SliceSet({trace: slices}), longest, reveal=True)
            return True
    return False


def _scopes(open_trace: OpenTrace, method: ExecutableMethod) -> list[int]:
    return [i for i, ran in enumerate(open_trace.table.ran) if ran is method]


def selected_rows(session: Session, answer: SizesAnswer) -> UsedRows:
    """Return the rows that the selected slices or operators use."""
    own_rows, shared = set[int](), set[int]()
    for side, parts in zip(answer.used, (answer.a, answer.b), strict=True):
        if parts is None:
            continue
        operators, calls = _selected(session, parts)
        users: set[User] = set(operators) or set(calls)
        for row in {row for user in users for row in side.get(user, ())}:
            part = answer.part_in(row, parts)
            every = set(part.operators) if operators else calls_of(part)
            (own_rows if every <= users else shared).add(row)
    return UsedRows(
        np.array(sorted(own_rows), np.int64), np.array(sorted(shared - own_rows), np.int64)
    )


def _selected(session: Session, parts: FileParts) -> tuple[set[int], set[Call]]:
    """The selected operators of a file's ETRecord, and the selected calls: method, instruction."""
    state = session.state
    operators, calls = set[int](), set[Call]()
    methods = {id(method): i for i, method in enumerate(parts.executable.methods)}
    for trace, numbers in state.slices.of.items():
        table = session.traces[trace].table
        keys = np.unique(table.trace.slices.key[numbers])[:_MOST]
        if parts.program is not None and table.program is parts.program:
            operators |= {i for key in keys.tolist() for i in table.links[key].operators}
        scopes = table.trace.keys.scope[keys].tolist()
        instructions = table.trace.keys.instruction[keys].tolist()
        for scope, instruction in zip(scopes, instructions, strict=True):
            method = table.ran[scope] if 0 <= scope < len(table.ran) else None
            if method is not None and id(method) in methods and instruction >= 0:
                calls.add((methods[id(method)], instruction))
    if state.operators is not None:
        trace, chosen = state.operators
        if parts.program is not None and session.traces[trace].table.program is parts.program:
            operators |= set(chosen[:_MOST])
    return operators, calls
