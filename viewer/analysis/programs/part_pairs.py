"""Which parts of two program files belong together, so that their sizes can be compared one by one.

Parameters belong together by their paths; all else by its users, which `user_pairs` pairs, then by
kind, role and shape. What is left over is in one file only: nothing is paired by its size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from viewer.analysis.programs.user_pairs import PairedBy, UserPairs
from viewer.analysis.sizes.file_parts import FilePart, FileParts

NONE = -1
Key = Callable[[FilePart], Hashable]


@dataclass(frozen=True, eq=False)
class PartPairs:
    """Pairs of parts, as indexes into `FileParts.parts`, `NONE` for a part that one file only has.

    rows: those of A in the order of the file, then what only B has. users: which users of both
    belong together.
    """

    rows: tuple[tuple[int, int], ...]
    users: UserPairs

    @property
    def paired_by(self) -> PairedBy:
        """How the users were paired."""
        return self.users.paired_by


def paired_parts(a: FileParts, b: FileParts) -> PartPairs:
    """Pair the parts of two files, each at most once; in the order of the file if keys are equal.

    The first of these that two parts share decides: users, kind, names and shape; users and names;
    names; users, kind, role and shape; users, kind and role; kind and name without users.
    """
    users = UserPairs(a, b)
    left, right = list(range(len(a.parts))), list(range(len(b.parts)))
    found: dict[int, int] = {}
    keys_a = [users.key_a(part) for part in a.parts]
    keys_b = [users.key_b(part) for part in b.parts]
    for rule, with_users in _RULES:
        made = _matched(
            [(i, _key(rule, a.parts[i], keys_a[i] if with_users else None)) for i in left],
            [(j, _key(rule, b.parts[j], keys_b[j] if with_users else None)) for j in right],
        )
        found.update(made)
        taken = set(made.values())
        left = [i for i in left if i not in made]
        right = [j for j in right if j not in taken]
    rows = [(i, found.get(i, NONE)) for i in range(len(a.parts))]
    return PartPairs((*rows, *((NONE, j) for j in right)), users)


def _key(rule: Key, part: FilePart, users: Hashable) -> Hashable:
    own = rule(part)
    return None if own is None else (own, users)


def _matched(
    a: Sequence[tuple[int, Hashable]], b: Sequence[tuple[int, Hashable]]
) -> dict[int, int]:
    """Part of A -> part of B with the same key, each at most once; a key of None has no partner."""
    of_key: dict[Hashable, list[int]] = {}
    for j, key in reversed(b):
        if key is not None:
            of_key.setdefault(key, []).append(j)
    return {i: of_key[key].pop() for i, key in a if key is not None and of_key.get(key)}


def _exact(part: FilePart) -> Hashable:
    return (part.kind, part.names, part.role, part.text) if part.names else None


def _names(part: FilePart) -> Hashable:
    return part.names or None


def _shape(part: FilePart) -> Hashable:
    return (part.kind, part.role, part.text) if part.uses and not part.names else None


def _role(part: FilePart) -> Hashable:
    return (part.kind, part.role) if part.uses else None


def _name(part: FilePart) -> Hashable:
    return None if part.uses else (part.kind, part.name)


_RULES: tuple[tuple[Key, bool], ...] = (
    (_exact, True), (_names, True), (_names, False), (_shape, True), (_role, True), (_name, False),
)  # fmt: skip
