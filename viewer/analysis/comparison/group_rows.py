"""Rows of groups of slices: the same module, line, type, graph node or name in both arms.

Types and names are the same if they are equal, or have the same operators. A module, a line or a
node of one program is that of another if their operators belong together: lines move, and modules
are renamed.
"""

from __future__ import annotations

from collections.abc import Iterator

from viewer.analysis.comparison.arms import Arm
from viewer.analysis.comparison.joined import Joined, Member, Row
from viewer.analysis.comparison.operator_pairs import Grade, OperatorPairs
from viewer.analysis.comparison.rollups import AND, IDENTITIES, NAME, TYPE


def group_rows(a: Arm, b: Arm, pairs: OperatorPairs) -> Iterator[Row]:
    """Yield one row for each group, in the order of A; then those that only B has."""
    joined = Joined[Member]()
    for side, arm in enumerate((a, b)):
        for number in range(len(arm.parts)):
            joined.add((side, "part", number))
    for i, j in _pairs(a, b, pairs):
        joined.join((0, "part", i), (1, "part", j))
    for members in joined.groups():
        x = tuple(sorted(number for side, _, number in members if side == 0))
        y = tuple(sorted(number for side, _, number in members if side == 1))
        grade, why = _grade(a, b, x, y, is_known=bool(pairs.pairs))
        yield Row(a.level, _label(a, x) if x else _label(b, y), grade, why, x, y)


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
    found: dict[int, list[int]] = {}
    for number, part in enumerate(arm.parts):
        for operator in part.operators:
            found.setdefault(operator, []).append(number)
    return found


def _grade(
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


def _label(arm: Arm, some: tuple[int, ...]) -> str:
    names = [arm.parts[number].name for number in some]
    return AND.join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
