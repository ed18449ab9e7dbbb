"""Pairs that the user made or separated, which overrule those that were found.

Operators and calls are named by keys that stay valid when files are read again: the method and the
debug handle, or the method and the instruction of a call without operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from viewer.dataclasses import dataclass, replace

if TYPE_CHECKING:
    from viewer.analysis.comparison.arms import Arm
    from viewer.analysis.comparison.operator_pairs import OperatorPairs
    from viewer.analysis.comparison.sessions import Part
    from viewer.program.program import Operator, Program


KeyPair = tuple[str, str]
WHY = "paired by hand"


@dataclass(frozen=True, slots=True)
class HandPairs:
    """The user's pairs. made, cut: keys of A and B that belong together, or do not."""

    made: tuple[KeyPair, ...] = ()
    cut: tuple[KeyPair, ...] = ()

    def with_made(self, pair: KeyPair) -> HandPairs:
        """Return a copy in which two belong together, and neither to another one."""
        together = tuple(
            other for other in self.made if other[0] != pair[0] and other[1] != pair[1]
        )
        return HandPairs((*together, pair), tuple(other for other in self.cut if other != pair))

    def with_cut(self, pairs: Iterable[KeyPair]) -> HandPairs:
        """Return a copy in which some do not belong together."""
        cut = dict.fromkeys((*self.cut, *pairs))
        return HandPairs(tuple(pair for pair in self.made if pair not in cut), tuple(cut))

    @property
    def swapped(self) -> HandPairs:
        """The same pairs of the arms the other way around."""
        together, cut = (tuple((b, a) for a, b in pairs) for pairs in (self.made, self.cut))
        return HandPairs(together, cut)


NO_PAIRS = HandPairs()


def key_of(operator: Operator) -> str:
    from viewer.program.program import NO_HANDLE

    has_handle = operator.debug_handle != NO_HANDLE
    return f"{operator.method}:{operator.debug_handle if has_handle else operator.label}"


def keys_of_parts(arm: Arm, parts: Iterable[int]) -> list[str]:
    """Return the keys of what some calls run: their operators, else the calls themselves."""
    keys: dict[str, None] = {}
    for number in parts:
        part = arm.parts[number]
        if part.operators and arm.program is not None:
            for i in part.operators:
                keys[key_of(arm.program.operators[i])] = None
        else:
            keys[key_of_call(part)] = None
    return list(keys)


def key_of_call(part: Part) -> str:
    """Return the key of a call without operators."""
    return f"{part.id.method}@{part.id.instruction}"


def with_hand_pairs(
    pairs: OperatorPairs, a: Program, b: Program, by_hand: HandPairs
) -> OperatorPairs:
    """Return the pairs of operators with those of the user in their place."""
    from viewer.analysis.comparison.operator_pairs import Grade, OperatorPair

    if by_hand == NO_PAIRS:
        return pairs
    of_a, of_b = ({key_of(op): op.index for op in reversed(p.operators)} for p in (a, b))
    new_pairs = _known(by_hand.made, of_a, of_b)
    cut = set(_known(by_hand.cut, of_a, of_b))
    used_a, used_b = {x for x, _ in new_pairs}, {y for _, y in new_pairs}
    operator_pairs = [
        pair
        for pair in pairs.pairs
        if pair.a not in used_a and pair.b not in used_b and (pair.a, pair.b) not in cut
    ]
    operator_pairs += [OperatorPair(x, y, Grade.BY_HAND, WHY) for x, y in new_pairs]
    return replace(pairs, pairs=tuple(sorted(operator_pairs, key=lambda pair: (pair.a, pair.b))))


def with_hand_calls(
    pairs: Iterable[tuple[int, int]], a: Arm, b: Arm, by_hand: HandPairs
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of calls without operators, with those of the user in their place."""
    if by_hand == NO_PAIRS:
        yield from pairs
        return
    of_a, of_b = (
        {
            key_of_call(part): i
            for i, part in enumerate(arm.parts)
            if part.id.event is None and not part.operators
        }
        for arm in (a, b)
    )
    new_pairs = _known(by_hand.made, of_a, of_b)
    cut = set(_known(by_hand.cut, of_a, of_b))
    used_a, used_b = {x for x, _ in new_pairs}, {y for _, y in new_pairs}
    for x, y in pairs:
        if x not in used_a and y not in used_b and (x, y) not in cut:
            yield x, y
    yield from new_pairs


def _known(
    pairs: Iterable[KeyPair], of_a: dict[str, int], of_b: dict[str, int]
) -> list[tuple[int, int]]:
    return [(of_a[x], of_b[y]) for x, y in pairs if x in of_a and y in of_b]
