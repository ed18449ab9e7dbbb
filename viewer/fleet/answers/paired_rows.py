"""Which rows of two arms of a lake belong together.

Operators are paired in the order of their debug handles if call, module and results are equal. Sets
that share an operator, in one arm or through a pair, are one row: shared time is never divided.
Without operators, calls of equal names are paired in their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from viewer.analysis.comparison.alignment import aligned
from viewer.analysis.comparison.joined import Joined, Row
from viewer.analysis.comparison.operator_pairs import Grade
from viewer.analysis.comparison.rollups import AND, NO_LINE, OUTERMOST
from viewer.fleet.answers.times import LakePart, ListedOperator
from viewer.model.text import display_name, natural

OPERATOR, TYPE, MODULE, LINE, INFERENCE = "operator", "type", "module", "line", "inference"
LEVELS = (OPERATOR, TYPE, MODULE, LINE, INFERENCE)
NOT_KNOWN = "(not known)"
_HANDLES = re.compile(r"[0-9]+(?:\+[0-9]+)*")
# An arm (0 or 1), what it is, and its number there, or for an operator its method and handle.
_Thing = tuple[int, str, int | tuple[str, int]]
_Listed = Mapping[str, Sequence[ListedOperator]]


def paired_rows(
    a: Sequence[LakePart], b: Sequence[LakePart], operators: tuple[_Listed, _Listed], level: str
) -> list[Row]:
    """Return the rows of two arms; `Row.a` and `Row.b` are indexes into their parts.

    operators: of the ETRecords of each arm, by method. level: one of LEVELS.
    """
    if level == INFERENCE:
        return []
    if level != OPERATOR:
        return _grouped(a, b, operators, level)
    methods = paired_methods([part.method for part in a], [part.method for part in b])
    joined = Joined[_Thing]()
    handle_sets = [
        {m: {listed_operator.debug_handle for listed_operator in operator[m]} for m in operator}
        for operator in operators
    ]
    for side, parts in enumerate((a, b)):
        for number, part in enumerate(parts):
            joined.add((side, "part", number))
            for handle in _handles(part):
                operator = side, "operator", (part.method, handle)
                joined.join((side, "part", number), operator)
    is_listed = all(operators)
    is_same = is_listed and operators[0] == operators[1]
    for x, y in methods:
        for i, j in _operator_pairs(operators[0].get(x, ()), operators[1].get(y, ())):
            joined.join((0, "operator", (x, i)), (1, "operator", (y, j)))
        for p, q in _unlinked_pairs(a, b, x, y, handle_sets):
            joined.join((0, "part", p), (1, "part", q))
    rows = []
    for things in joined.groups():
        of_a, of_b = (
            tuple(sorted(n for s, _, n in things if s == side and isinstance(n, int)))
            for side in (0, 1)
        )
        if of_a or of_b:
            rows.append(_row(a, b, of_a, of_b, is_listed=is_listed, is_same=is_same))
    return rows


def paired_methods(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str]]:
    """Return which methods belong together: of equal names, or the only ones of two arms."""
    of_a, of_b = list(dict.fromkeys(a)), list(dict.fromkeys(b))
    if len(of_a) == len(of_b) == 1:
        return [(of_a[0], of_b[0])]
    return [(name, name) for name in of_a if name in of_b]


def _handles(part: LakePart) -> list[int]:
    """The debug handles of a set of operators; none if some operators have none."""
    if part.level != "operators" or not _HANDLES.fullmatch(part.id):
        return []
    return [int(handle) for handle in part.id.split("+")]


def _operator_pairs(
    a: Sequence[ListedOperator], b: Sequence[ListedOperator]
) -> list[tuple[int, int]]:
    """Pairs of debug handles."""
    identities = [
        [listed_operator.identity for listed_operator in operators] for operators in (a, b)
    ]
    return [(a[i].debug_handle, b[j].debug_handle) for i, j in aligned(*identities)]


def _unlinked_pairs(
    a: Sequence[LakePart],
    b: Sequence[LakePart],
    x: str,
    y: str,
    handle_sets: Sequence[Mapping[str, set[int]]],
) -> list[tuple[int, int]]:
    """Pairs of parts of two methods whose operators are not listed, by label in their order."""
    sides = []
    for parts, method, of_methods in ((a, x, handle_sets[0]), (b, y, handle_sets[1])):
        listed = of_methods.get(method, set())
        indexes = [
            number
            for number, part in enumerate(parts)
            if part.method == method and not set(_handles(part)) & listed
        ]
        sides.append(sorted(indexes, key=lambda n: natural(parts[n].id)))
    labels = (
        [(parts[n].level, parts[n].label) for n in numbers]
        for parts, numbers in zip((a, b), sides, strict=True)
    )
    return [(sides[0][i], sides[1][j]) for i, j in aligned(*labels)]


def _row(
    a: Sequence[LakePart],
    b: Sequence[LakePart],
    of_a: tuple[int, ...],
    of_b: tuple[int, ...],
    *,
    is_listed: bool,
    is_same: bool,
) -> Row:
    sides = [a[n] for n in of_a], [b[n] for n in of_b]
    grade, why = _grade(*sides, is_listed=is_listed, is_same=is_same)
    return Row(OPERATOR, _label(a, b, of_a, of_b), grade, why, of_a, of_b)


def _grade(
    a: Sequence[LakePart], b: Sequence[LakePart], *, is_listed: bool, is_same: bool
) -> tuple[Grade, str]:
    if not b:
        return Grade.ONLY_A, "only in A"
    if not a:
        return Grade.ONLY_B, "only in B"
    if not (is_listed and _handles(a[0]) and _handles(b[0])):
        return Grade.BY_NAME, "same name, in the order of the calls"
    if len(a) > 1 or len(b) > 1 or a[0].id.count("+") != b[0].id.count("+"):
        return Grade.GROUP, "they share operators"
    if is_same and a[0].id == b[0].id:
        return Grade.SAME, "same operators"
    return Grade.BY_NAME, "same call, module and results, in their order"


def _label(
    a: Sequence[LakePart], b: Sequence[LakePart], of_a: Sequence[int], of_b: Sequence[int]
) -> str:
    sides = [
        sorted((parts[n] for n in indexes), key=lambda part: natural(part.id))
        for parts, indexes in ((a, of_a), (b, of_b))
    ]
    lake_parts = sides[0] or sides[1]
    labels = list(dict.fromkeys(part.label for part in lake_parts))
    more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
    backends = [
        ", ".join(dict.fromkeys(part.backend or "kernels" for part in lake_parts))
        for lake_parts in sides
    ]
    label = f"{labels[0]}{more}"
    if all(sides) and backends[0] != backends[1]:
        return f"{label} ({backends[0]} → {backends[1]})"
    backend = backends[0] if sides[0] else backends[1]
    return label if backend == "kernels" else f"{label} ({backend})"


def _grouped(
    a: Sequence[LakePart], b: Sequence[LakePart], operators: tuple[_Listed, _Listed], level: str
) -> list[Row]:
    """One row for all parts of a method that have an equal type, module or line.

    Parts that several of these share are rows of their own, as in `opscope compare`.
    """
    names = [[part.method for part in parts] for parts in (a, b)]
    other = {y: x for x, y in paired_methods(*names)}
    several = len(set(names[0])) > 1 or len(set(names[1])) > 1
    groups: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    for side, parts in enumerate((a, b)):
        operator_of_handle = {
            (method, listed_operator.debug_handle): listed_operator
            for method, listed in operators[side].items()
            for listed_operator in listed
        }
        for number, part in enumerate(parts):
            listed_operators = [
                operator_of_handle.get((part.method, handle)) for handle in _handles(part)
            ]
            text = _text_of(part, listed_operators, level)
            method = other.get(part.method, part.method) if side else part.method
            groups.setdefault((method, text), ([], []))[side].append(number)
    rows = []
    for (method, text), (of_a, of_b) in groups.items():
        grade = Grade.SAME if of_a and of_b else Grade.ONLY_A if of_a else Grade.ONLY_B
        why = f"same {level}" if of_a and of_b else "only in A" if of_a else "only in B"
        label = f"{method}: {text}" if several else text
        rows.append(Row(level, label, grade, why, tuple(of_a), tuple(of_b)))
    return rows


def _text_of(part: LakePart, operators: Sequence[ListedOperator | None], level: str) -> str:
    """What a part is at a level; of several, such as two modules, all of them."""
    listed = [listed_operator for listed_operator in operators if listed_operator is not None]
    if not listed or len(listed) < len(operators):
        return {TYPE: part.type, MODULE: part.module, LINE: part.source}[level] or NOT_KNOWN
    texts = {
        {
            TYPE: listed_operator.type,
            MODULE: listed_operator.module or OUTERMOST,
            LINE: _line(listed_operator.source),
        }[level]
        for listed_operator in listed
    }
    return AND.join(sorted(texts))


def _line(source: str) -> str:
    path, _, line = source.rpartition(":")
    return f"{display_name(path)}:{line}" if path else NO_LINE
