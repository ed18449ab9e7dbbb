"""What is compared with what: the parts of A and B that belong together, and the row of each slice.

Time that several operators share is never divided. So calls that share an operator, in one arm or
through a pair, are one row: all kernels of portable operators against the delegate call that took
them over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.evidence import aligned
from viewer.analysis.comparison.hand_pairs import (
    NO_PAIRS,
    WHY,
    HandPairs,
    with_hand_calls,
    with_hand_pairs,
)
from viewer.analysis.comparison.levels import (
    CALLS,
    DELEGATE,
    IDENTITIES,
    INFERENCE,
    LEVELS_OF_CALLS,
    NAME,
    TYPE,
)
from viewer.analysis.comparison.operator_pairs import (
    Grade,
    Joined,
    Member,
    OperatorPairs,
    Row,
    pair_operators,
)
from viewer.analysis.comparison.rollups import AND, group_of_slices
from viewer.analysis.comparison.sessions import PartId, Session
from viewer.arrays import Ints, lists_by_key
from viewer.model.queries import run_of_slices, starts_in_run, tree
from viewer.model.trace import KeyKind, Run, Trace

DELEGATE_EVENT = "delegate_event"
NOT_DELEGATED = "(not delegated)"
_ORDER = list(Grade)
_NO_PAIRS = OperatorPairs((), (), False)


def paired_operators(a: Arm, b: Arm, by_hand: HandPairs = NO_PAIRS) -> OperatorPairs:
    """The pairs of the operators of two arms; none if an arm has no program.

    Arms that were chosen by method are paired by these, whatever their names.
    """
    if a.program is None or b.program is None:
        return _NO_PAIRS
    chosen = (a.method, b.method) if a.method and b.method else None
    pairs = pair_operators(a.program, b.program, chosen)
    return with_hand_pairs(pairs, a.program, b.program, by_hand)


def rows_of(a: Arm, b: Arm, pairs: OperatorPairs, by_hand: HandPairs = NO_PAIRS) -> tuple[Row, ...]:
    """Return all rows: the calls in the order of A, then those of B, then events of delegates.

    If the parts of the arms are groups of slices, there is one row for each group instead.
    """
    if a.level == INFERENCE:
        return ()
    if a.level == DELEGATE:
        return tuple(_delegate_rows(a, b))
    if a.level != CALLS:
        return tuple(group_rows(a, b, pairs))
    calls = tuple(_call_rows(a, b, pairs, by_hand))
    return calls + tuple(_event_rows(a, b, calls, pairs.same_program))


# -- calls -----------------------------------------------------------------------------------------


def _call_rows(a: Arm, b: Arm, pairs: OperatorPairs, by_hand: HandPairs) -> Iterator[Row]:
    joined = Joined[Member]()
    for side, arm in enumerate((a, b)):
        for number, part in enumerate(arm.parts):
            if part.id.event is None:
                joined.add((side, "part", number))
                for operator in part.operators:
                    joined.join((side, "part", number), (side, "operator", operator))
    for pair in pairs.pairs:
        joined.join((0, "operator", pair.a), (1, "operator", pair.b))
    for x, y in with_hand_calls(_unlinked_pairs(a, b, pairs), a, b, by_hand):
        joined.join((0, "part", x), (1, "part", y))
    for members in joined.groups():
        parts = [sorted(n for s, kind, n in members if s == i and kind == "part") for i in (0, 1)]
        if not parts[0] and not parts[1]:
            continue
        grade, why = _grade(a, b, tuple(parts[0]), tuple(parts[1]), pairs)
        label = _row_label(a, b, parts[0], parts[1])
        yield Row(CALLS, label, grade, why, tuple(parts[0]), tuple(parts[1]))


def _unlinked_pairs(a: Arm, b: Arm, pairs: OperatorPairs) -> Iterator[tuple[int, int]]:
    """Pairs of calls without operators: equal names, in the order in which they run."""
    methods = dict(pairs.methods)
    of_a, of_b = (dict.fromkeys(part.id.method for part in arm.parts) for arm in (a, b))
    if len(of_a) == len(of_b) == 1:  # names of scopes may differ
        methods |= zip(of_a, of_b, strict=True)
    for method in of_a:
        x, y = list(_unlinked(a, method)), list(_unlinked(b, methods.get(method, method)))
        names_x, names_y = ([arm.parts[i].name for i in parts] for arm, parts in ((a, x), (b, y)))
        for i, j in aligned(names_x, names_y):
            yield x[i], y[j]


def _unlinked(arm: Arm, method: str) -> Iterator[int]:
    for number, part in enumerate(arm.parts):
        if part.id.method == method and part.id.event is None and not part.operators:
            yield number


def _grade(
    a: Arm, b: Arm, x: tuple[int, ...], y: tuple[int, ...], pairs: OperatorPairs
) -> tuple[Grade, str]:
    if not (x and y):
        side = 0 if x else 1
        operators = (i for n in (x or y) for i in (a, b)[side].parts[n].operators)
        alike = dict.fromkeys(why for i in operators if (why := pairs.alike[side].get(i)))
        why = "; ".join(("only in B" if side else "only in A", *alike))
        return (Grade.ONLY_B if side else Grade.ONLY_A), why
    of_a = {i for number in x for i in a.parts[number].operators}
    of_b = {i for number in y for i in b.parts[number].operators}
    used = [pair for i in of_a for pair in pairs.of_a.get(i, ()) if pair.b in of_b]
    if not used:
        same = {a.parts[i].name for i in x} == {b.parts[i].name for i in y}
        if not same:
            return Grade.BY_HAND, WHY
        return Grade.BY_NAME, "same name, in the order of the calls"
    shares = [sorted(_sharing(arm, parts)) for arm, parts in ((a, x), (b, y))]
    is_plain = len(used) == len(of_a) == len(of_b) and len(shares[0]) == len(shares[1])
    if not is_plain:
        reasons = dict.fromkeys(pair.why for pair in used if pair.grade is Grade.GROUP)
        return Grade.GROUP, "; ".join(reasons) or "they share operators"
    worst = max(used, key=lambda pair: _ORDER.index(pair.grade))
    return worst.grade, worst.why


def _sharing(arm: Arm, parts: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """What each call runs, for calls of several operators."""
    for number in parts:
        if len(arm.parts[number].operators) > 1:
            yield arm.parts[number].operators


def _row_label(a: Arm, b: Arm, x: Sequence[int], y: Sequence[int]) -> str:
    """What runs on one side, and where if another backend runs it on the other side."""
    if not x or not y:
        return _label(a, x) if x else _label(b, y)
    of_a, of_b = (
        ", ".join(dict.fromkeys(arm.parts[n].backend or "kernels" for n in parts))
        for arm, parts in ((a, x), (b, y))
    )
    return _label(a, x) if of_a == of_b else f"{_label(a, x)} → {of_b}"


def _label(arm: Arm, parts: Sequence[int]) -> str:
    """The operators of some calls, "stem · convolution and 3 more", or their names."""
    program = arm.program
    numbers = dict.fromkeys(i for number in parts for i in arm.parts[number].operators)
    if program is not None and numbers:
        labels = [program.operators[i].label for i in numbers]
        backends = dict.fromkeys(arm.parts[n].backend for n in parts if arm.parts[n].backend)
    else:
        labels, backends = list(dict.fromkeys(arm.parts[n].name for n in parts)), {}
    more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
    where = f" ({', '.join(backends)})" if backends else ""
    return f"{labels[0]}{more}{where}"


# -- delegates ------------------------------------------------------------------------------------


def _delegate_rows(a: Arm, b: Arm) -> Iterator[Row]:
    """One row for all calls of a delegate, and one for those that no delegate runs."""
    groups: dict[str, tuple[list[int], list[int]]] = {}
    for side, arm in enumerate((a, b)):
        for number, part in enumerate(arm.parts):
            if part.id.event is None:
                groups.setdefault(part.backend or NOT_DELEGATED, ([], []))[side].append(number)
    for label, (x, y) in groups.items():
        grade = Grade.SAME if x and y else Grade.ONLY_A if x else Grade.ONLY_B
        why = "same delegate" if x and y else "only in A" if x else "only in B"
        yield Row(DELEGATE, label, grade, why, tuple(x), tuple(y))


# -- events of delegates ---------------------------------------------------------------------------


def _event_rows(a: Arm, b: Arm, calls: Sequence[Row], same: bool) -> Iterator[Row]:
    inside_a, inside_b = _inside(a), _inside(b)
    for row in calls:
        x = [call for call in row.a if call in inside_a]
        y = [call for call in row.b if call in inside_b]
        # As many delegate calls on both sides belong together in their order.
        of_b = {}
        if len(x) == len(y):
            of_b = {
                (nth, b.parts[n].id.event): n for nth, call in enumerate(y) for n in inside_b[call]
            }
        paired = set()
        for nth, call in enumerate(x):
            for number in inside_a[call]:
                label = _event_label(a, number)
                other = of_b.get((nth, a.parts[number].id.event))
                if other is None:
                    yield Row(DELEGATE_EVENT, label, Grade.ONLY_A, "only in A", (number,), ())
                    continue
                paired.add(other)
                grade = Grade.SAME if same and row.grade is Grade.SAME else Grade.BY_NAME
                why = "same record" if grade is Grade.SAME else "same name inside paired calls"
                yield Row(DELEGATE_EVENT, label, grade, why, (number,), (other,))
        for number in (n for call in y for n in inside_b[call] if n not in paired):
            label = _event_label(b, number)
            yield Row(DELEGATE_EVENT, label, Grade.ONLY_B, "only in B", (), (number,))


def _inside(arm: Arm) -> dict[int, list[int]]:
    """The events inside each delegate call."""
    return lists_by_key(
        (arm.number[part.id.call], number)
        for number, part in enumerate(arm.parts)
        if part.id.event is not None and part.id.call in arm.number
    )


def _event_label(arm: Arm, number: int) -> str:
    part = arm.parts[number]
    nth = part.id.event[1] if part.id.event else 0
    return f"{part.name} ({part.backend})" if not nth else f"{part.name} {nth + 1} ({part.backend})"


def group_rows(a: Arm, b: Arm, pairs: OperatorPairs) -> Iterator[Row]:
    """Yield one row for each group, in the order of A; then those that only B has.

    Types and names are the same if they are equal, or have the same operators. A module, a line or
    a node of one program is that of another if their operators belong together: lines move, and
    modules are renamed.
    """
    joined = Joined[Member]()
    for side, arm in enumerate((a, b)):
        for number in range(len(arm.parts)):
            joined.add((side, "part", number))
    for i, j in _pairs(a, b, pairs):
        joined.join((0, "part", i), (1, "part", j))
    for members in joined.groups():
        x = tuple(sorted(number for side, _, number in members if side == 0))
        y = tuple(sorted(number for side, _, number in members if side == 1))
        grade, why = _grade_of_parts(a, b, x, y, is_known=bool(pairs.pairs))
        yield Row(a.level, _label_of_parts(a, x) if x else _label_of_parts(b, y), grade, why, x, y)


def _pairs(a: Arm, b: Arm, pairs: OperatorPairs) -> Iterator[tuple[int, int]]:
    is_equal = a.level in (TYPE, NAME, *IDENTITIES) or pairs.same_program or not pairs.pairs
    if not is_equal:
        yield from _pairs_of_operators(a, b, pairs)
        return
    equal = list(_equal_pairs(a, b))
    yield from equal
    # What has no equal, such as types that share their time on one side only, is compared with
    # whatever has its operators.
    alone_a = set(range(len(a.parts))) - {i for i, _ in equal}
    alone_b = set(range(len(b.parts))) - {j for _, j in equal}
    for i, j in _pairs_of_operators(a, b, pairs):
        if i in alone_a or j in alone_b:
            yield i, j


def _equal_pairs(a: Arm, b: Arm) -> Iterator[tuple[int, int]]:
    of_b = {part.id.group: number for number, part in enumerate(b.parts)}
    for number, part in enumerate(a.parts):
        if part.id.group in of_b:
            yield number, of_b[part.id.group]


def _pairs_of_operators(a: Arm, b: Arm, pairs: OperatorPairs) -> Iterator[tuple[int, int]]:
    of_a, of_b = _parts_of_operators(a), _parts_of_operators(b)
    for pair in pairs.pairs:
        x, y = of_a.get(pair.a, []), of_b.get(pair.b, [])
        if len(x) == len(y):  # the nodes of an operator, in their order
            yield from zip(x, y, strict=True)
        else:
            yield from ((i, j) for i in x for j in y)


def _parts_of_operators(arm: Arm) -> dict[int, list[int]]:
    return lists_by_key(
        (operator, number) for number, part in enumerate(arm.parts) for operator in part.operators
    )


def _grade_of_parts(
    a: Arm, b: Arm, x: tuple[int, ...], y: tuple[int, ...], *, is_known: bool
) -> tuple[Grade, str]:
    if not y:
        return Grade.ONLY_A, "only in A"
    if not x:
        return Grade.ONLY_B, "only in B"
    if len(x) > 1 or len(y) > 1:
        return Grade.GROUP, "their operators are divided differently"
    name_a, name_b = a.parts[x[0]].name, b.parts[y[0]].name
    if name_a != name_b:
        return Grade.MOVED, f"{name_a} is {name_b}"
    if a.level in (NAME, *IDENTITIES):
        return Grade.BY_NAME, f"same {a.level}"
    return (Grade.SAME, "same name") if is_known else (Grade.BY_NAME, "same name")


def _label_of_parts(arm: Arm, parts: tuple[int, ...]) -> str:
    names = [arm.parts[number].name for number in parts]
    return AND.join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def rows_of_slices(arm: Arm, side: int, rows: Sequence[Row], session: Session) -> Ints:
    """Return the number of the row of every slice of a session's trace, -1 for none (int64).

    Slices of inferences that warm up have the rows of their calls, too. A kernel is in the row of
    its call. side: 0 if the arm is A, 1 if it is B.
    """
    row_of_part = np.full(len(arm.parts) + 1, -1)
    for i, row in enumerate(rows):
        row_of_part[list(row.b if side else row.a)] = i
    is_of_calls = arm.level in LEVELS_OF_CALLS
    part = _part_of_calls(arm, session) if is_of_calls else _part_of_groups(arm, session)
    return row_of_part[part]


def _part_of_groups(arm: Arm, session: Session) -> Ints:
    groups, group_of_slice = group_of_slices(session, arm.level)
    part = [arm.number.get(PartId(arm.level, -1, None, group), -1) for group in groups]
    return np.array([*part, -1], np.int64)[group_of_slice]


def _part_of_calls(arm: Arm, session: Session) -> Ints:
    trace = session.table.trace
    slices, keys = trace.slices, trace.keys
    method = _methods(session)
    scopes, instructions = keys.scope.tolist(), keys.instruction.tolist()
    is_event = keys.kind == KeyKind.DELEGATE_EVENT
    part = calls_of_keys(arm, session)[slices.key]
    index = np.flatnonzero(is_event[slices.key] & (keys.instruction[slices.key] >= 0))
    key_of_slice = slices.key[index].astype(np.int64)
    nth = session.numbers_of_events(index, run_of_slices(trace)[index])
    most = int(nth.max(initial=0)) + 1
    events, event_of = np.unique(key_of_slice * most + nth, return_inverse=True)
    names = keys.name[events // most].tolist()
    part_of_event = np.empty(len(events), np.int64)
    for i, (event, name) in enumerate(zip(events.tolist(), names, strict=True)):
        key, count = divmod(event, most)
        part_id = PartId(method[scopes[key]], instructions[key], (trace.strings[name], count))
        part_of_event[i] = arm.number.get(part_id, -1)
    part[index] = part_of_event[event_of.reshape(-1)]
    return part


def calls_of_keys(arm: Arm, session: Session) -> Ints:
    """Return the part of the call that every key of a session's trace is of, -1 for none (int64).

    Events inside delegate calls have none.
    """
    keys, method = session.table.trace.keys, _methods(session)
    scopes, instructions = keys.scope.tolist(), keys.instruction.tolist()
    is_event = keys.kind == KeyKind.DELEGATE_EVENT
    part_of_key = np.full(len(is_event), -1)
    for key in np.flatnonzero((keys.instruction >= 0) & ~is_event).tolist():
        part_of_key[key] = arm.number.get(PartId(method[scopes[key]], instructions[key]), -1)
    return part_of_key


def _methods(session: Session) -> list[str]:
    return [session.method_of(scope)[0] for scope in range(len(session.table.trace.scopes))]


def outermost(
    trace: Trace, row_of_slice: Ints, rows: Sequence[int], run: Run | None = None
) -> Ints:
    """Return the slices of some rows that are not inside others of their own row, ascending.

    run: only those that start in it; None for all.
    """
    index: Ints = np.flatnonzero(np.isin(row_of_slice, np.array(rows, np.int64)))
    index = index[trace.keys.kind[trace.slices.key[index]] != KeyKind.KERNEL]
    if run is not None:
        index = starts_in_run(trace, run, index)
    if not len(index):
        return index
    shape = tree(trace.slices)
    parent = np.full(len(shape.index), -1)
    parent[shape.index] = np.where(shape.parent >= 0, shape.index[shape.parent], -1)
    inside = np.zeros(len(index), np.bool_)
    above = parent[index]
    while (above >= 0).any():
        inside |= (above >= 0) & (row_of_slice[above] == row_of_slice[index])
        above = np.where(above >= 0, parent[above], -1)
    outer: Ints = index[~inside]
    return outer
