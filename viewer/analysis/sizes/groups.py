"""The parts of a program file added up by kind, operator, module, dtype or method.

Every part is in one group of each, so the groups add up to the file. A module has what its
operators use and no operator outside of it.

Parts with equal bytes are found by content. Export stores equal constants and named data of a
program once; but not equal delegates, the constants inside them, and constants that are also named
data.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import StrEnum

import numpy as np

from viewer.analysis.sizes.file_parts import NO_MODULE, FilePart, FileParts, ItemKind
from viewer.arrays import lists_by_key
from viewer.codecs.file_bytes import equal_ranges
from viewer.codecs.reading import Cancelled, never_cancelled
from viewer.dataclasses import dataclass
from viewer.program.module_tree import ModuleKind

_MOST_LABELS = 3  # of operators or kernels in one label


class GroupKey(StrEnum):
    """What parts are added up by."""

    KIND = "kind"
    OPERATOR = "operator"
    MODULE = "module"
    DTYPE = "dtype"
    METHOD = "method"


@dataclass(frozen=True, slots=True)
class SizeGroup:
    """Parts with one key. size: their bytes. total: with those of the modules inside; else `size`.

    parts: indexes into `FileParts.parts`, the largest first. module: of a module, its index into
    `ModuleTree.modules`; else `NO_MODULE`.
    """

    label: str
    size: int
    total: int
    parts: tuple[int, ...]
    module: int = NO_MODULE


def groups(file_parts: FileParts, by: GroupKey) -> tuple[SizeGroup, ...]:
    """Return the groups, the largest first; modules by their totals."""
    key = _KEYS[by]
    members = lists_by_key((key(file_parts, file_parts.parts[i]), i) for i in file_parts.by_size)
    sizes = {
        key: sum(file_parts.parts[i].size for i in indexes) for key, indexes in members.items()
    }
    if by is GroupKey.MODULE and file_parts.tree is not None:
        return _modules(file_parts, members, sizes)
    size_groups = [
        SizeGroup(
            _LABELS[by](file_parts, file_parts.parts[indexes[0]]),
            sizes[key],
            sizes[key],
            tuple(indexes),
        )
        for key, indexes in members.items()
    ]
    return tuple(sorted(size_groups, key=lambda group: -group.size))


def kind_text(kind: ItemKind) -> str:
    """Return a kind as a text: "named data"."""
    return kind.value.replace("_", " ")


def operators_text(file_parts: FileParts, part: FilePart) -> str:
    """Return the operators of a part, at most three; "" without any."""
    if file_parts.program is None:
        return ""
    return _joined([file_parts.program.operators[i].label for i in part.operators])


def users_text(part: FilePart) -> str:
    """Return the kernels, nodes and backends that use a part, at most three; "" without any."""
    return _joined(list(part.users))


def module_text(file_parts: FileParts, part: FilePart) -> str:
    """Return the path of the module of a part; that of a root is "", as without a module."""
    tree = file_parts.tree
    return "" if tree is None or part.module == NO_MODULE else tree.modules[part.module].path


def _joined(labels: list[str]) -> str:
    text = " + ".join(labels[:_MOST_LABELS])
    return f"{text} and {len(labels) - _MOST_LABELS} more" if len(labels) > _MOST_LABELS else text


def _modules(
    file_parts: FileParts, members: dict[Hashable, list[int]], sizes: dict[Hashable, int]
) -> tuple[SizeGroup, ...]:
    tree = file_parts.tree
    assert tree is not None
    own_bytes = np.zeros(len(tree.modules), np.int64)
    for key, size in sizes.items():
        if isinstance(key, int) and key != NO_MODULE:
            own_bytes[key] = size
    total = tree.total(own_bytes)
    size_groups = [
        SizeGroup(
            _module_label(file_parts, i),
            int(own_bytes[i]),
            int(total[i]),
            tuple(members.get(i, ())),
            i,
        )
        for i in np.flatnonzero(total).tolist()
    ]
    size_groups += [
        SizeGroup(str(key), sizes[key], sizes[key], tuple(indexes))
        for key, indexes in members.items()
        if isinstance(key, str)
    ]
    return tuple(sorted(size_groups, key=lambda group: -group.total))


def _module_label(file_parts: FileParts, number: int) -> str:
    tree = file_parts.tree
    assert tree is not None
    module = tree.modules[number]
    return module.path if module.kind is ModuleKind.MODULE else f"({tree.name(number)})"


def _unplaced(part: FilePart) -> str:
    return f"({kind_text(part.kind)})"


def _dtype(file_parts: FileParts, part: FilePart) -> str:
    return part.dtype or _unplaced(part)


def _methods(file_parts: FileParts, part: FilePart) -> str:
    names = [file_parts.executable.methods[i].name for i in part.methods]
    return _joined(names) or _unplaced(part)


_KEYS: dict[GroupKey, Callable[[FileParts, FilePart], Hashable]] = {
    GroupKey.KIND: lambda file_parts, part: part.kind,
    GroupKey.OPERATOR: lambda file_parts, part: part.operators or part.users or part.kind,
    GroupKey.MODULE: lambda file_parts, part: (
        _unplaced(part) if part.module == NO_MODULE else part.module
    ),
    GroupKey.DTYPE: _dtype,
    GroupKey.METHOD: lambda file_parts, part: part.methods or part.kind,
}
_LABELS: dict[GroupKey, Callable[[FileParts, FilePart], str]] = {
    GroupKey.KIND: lambda file_parts, part: kind_text(part.kind),
    GroupKey.OPERATOR: lambda file_parts, part: (
        operators_text(file_parts, part) or users_text(part) or _unplaced(part)
    ),
    GroupKey.MODULE: lambda file_parts, part: _unplaced(part),
    GroupKey.DTYPE: _dtype,
    GroupKey.METHOD: _methods,
}


LEAST = 64  # bytes; equal scalars and small vectors are common and cost little
_STORED = (ItemKind.CONSTANT, ItemKind.STATE, ItemKind.NAMED_DATA, ItemKind.DELEGATE)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Parts with equal bytes, in the order of the file. size: bytes of one of them."""

    parts: tuple[int, ...]
    size: int

    @property
    def saved(self) -> int:
        """The bytes that the file would lose with one copy."""
        return (len(self.parts) - 1) * self.size


@dataclass(frozen=True, slots=True)
class Duplicates:
    """All groups, the most bytes first. unread: parts that could not be compared; why: the reason.

    Constants inside equal delegates count with these, not again.
    """

    groups: tuple[Duplicate, ...]
    unread: int = 0
    why: str = ""

    @property
    def saved(self) -> int:
        """The bytes of all copies after the first one."""
        return sum(group.saved for group in self.groups)


def duplicates(file_parts: FileParts, cancelled: Cancelled = never_cancelled) -> Duplicates:
    """Read the file where parts have equal sizes, and return equal ones. Raises ReadCancelled."""
    parts = file_parts.parts
    candidates = [
        i
        for i, part in enumerate(parts)
        if part.kind in _STORED and part.extent >= LEAST and _is_whole(file_parts, i)
    ]
    ranges = [(parts[i].start, parts[i].extent) for i in candidates]
    try:
        equal = equal_ranges(file_parts.executable.path, ranges, cancelled)
    except OSError as error:
        return Duplicates((), len(candidates), error.strerror or "the file cannot be read")
    copies = {
        candidates[i]
        for group in equal.groups
        for i in group[1:]
        if parts[candidates[i]].kind is ItemKind.DELEGATE
    }
    same_parts = []
    for group in equal.groups:
        copies_of_part = tuple(
            candidates[i] for i in group if parts[candidates[i]].inside not in copies
        )
        if len(copies_of_part) > 1:
            same_parts.append(Duplicate(copies_of_part, parts[copies_of_part[0]].extent))
    why = "the file has changed, or its parts overlap" if equal.unread else ""
    return Duplicates(
        tuple(sorted(same_parts, key=lambda duplicate: -duplicate.saved)), equal.unread, why
    )


def _is_whole(file_parts: FileParts, number: int) -> bool:
    """Whether no other part claims its bytes, except constants inside of a delegate."""
    part = file_parts.parts[number]
    return (
        part.size + sum(file_parts.parts[i].size for i in file_parts.inside(number)) == part.extent
    )
