"""Type aliases for the numpy arrays used throughout the program; groups and parts of long ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viewer.dataclasses import fields, is_dataclass, replace

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Ints = NDArray[np.int64]
Codes = NDArray[np.uint32]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]] | Bools | Sequence[int]
Columns = TypeVar("Columns", bound="DataclassInstance")
Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

_HALF = 1 << 16
_PART = 1 << 16


def parts_of(count: int) -> Iterator[slice]:
    """Parts of a long array whose intermediate results fit in the processor's cache.

    Each pass over ten million elements takes 10 to 40 ms, mostly for newly allocated memory.
    """
    return (slice(begin, begin + _PART) for begin in range(0, count, _PART))


def narrow(numbers: Ints) -> Ints:
    """Return whole numbers as int32 if all fit: of ten million, this saves 40 MB.

    Their type stays that of others, since all that reads them takes both.
    """
    limits = np.iinfo(np.int32)
    if len(numbers) and (int(numbers.min()) < limits.min or int(numbers.max()) > limits.max):
        return numbers
    return cast("Ints", numbers.astype(np.int32))


def narrowest(numbers: Ints) -> Ints:
    """Return whole numbers in as few bytes as they need, if one more than the largest fits too.

    The depths of a tree take a byte each, and the names of most traces two.
    """
    if not len(numbers):
        return narrow(numbers)
    least, most = int(numbers.min()), int(numbers.max())
    for kind in (np.int8, np.int16):
        if np.iinfo(kind).min <= least and most < np.iinfo(kind).max:
            return cast("Ints", numbers.astype(kind))
    return narrow(numbers)


def counts_of(numbers: NDArray[np.integer[Any]], count: int, mask: Bools | None = None) -> Ints:
    """Return how often each number from 0 occurs, among those in a mask.

    numpy's own needs a copy of all numbers as int64, which of ten million takes 80 MB.
    """
    counts = np.zeros(count, np.int64)
    for part in parts_of(len(numbers)):
        these = numbers[part] if mask is None else numbers[part][mask[part]]
        if count > _PART:
            np.add.at(counts, these, 1)
        else:
            counts += np.bincount(these, minlength=count)
    return counts


def stable_order(numbers: NDArray[np.integer]) -> Ints:
    """Return what sorts some numbers; equal ones keep their order.

    numpy sorts numbers of 16 bits by radix. So numbers of 32 bits take two such sorts: of ten
    million, these take a third of the time of one comparing sort, and one takes a tenth.
    """
    if not len(numbers) or int(numbers.min()) < 0 or int(numbers.max()) >= _HALF * _HALF:
        return np.argsort(numbers, kind="stable")
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    if int(numbers.max()) < _HALF:
        return order
    high = (numbers >> 16).astype(np.uint16)
    found: Ints = order[np.argsort(high[order], kind="stable")]
    return found


def flags_at(count: int, places: Places) -> Bools:
    """Return which of so many are at some places."""
    flags = np.zeros(count, np.bool_)
    flags[places] = True
    return flags


def numbers_at(count: int, places: Places, numbers: ArrayLike, others: int = 0) -> Ints:
    """Return so many numbers, of which some are given by their places."""
    values = np.full(count, others)
    values[places] = numbers
    return values


def groups_of(numbers: NDArray[np.integer]) -> list[tuple[int, Ints]]:
    """Return each number that occurs, ascending, with its positions, ascending too."""
    order = stable_order(numbers)
    ordered = numbers[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return list(zip(ordered[first].tolist(), np.split(order, first[1:]), strict=False))


def lists_by_key(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Return the items of each key; keys and items are in the order of the pairs."""
    lists: dict[Key, list[Item]] = {}
    for key, item in pairs:
        lists.setdefault(key, []).append(item)
    return lists


def rows_of(columns: Columns, rows: Ints | Bools) -> Columns:
    """Return some rows of a dataclass of parallel arrays, and of such ones; other fields stay."""
    return _by_field(lambda own: own[rows], [columns])


def joined(parts: Sequence[Columns]) -> Columns:
    """Return the rows of dataclasses of parallel arrays, one after another."""
    return _by_field(lambda *own: np.concatenate(own), parts)


def _by_field(of: Callable[..., NDArray[Any]], parts: Sequence[Columns]) -> Columns:
    values: dict[str, Any] = {}
    for field in fields(parts[0]):
        own = [getattr(part, field.name) for part in parts]
        if isinstance(own[0], np.ndarray):
            values[field.name] = of(*own)
        elif is_dataclass(own[0]):
            values[field.name] = _by_field(of, own)
    return replace(parts[0], **values)


def levels(depth: Ints) -> list[Ints]:
    """Return the positions of each depth from 0 on, each level ascending; no depth is missing."""
    return [positions for _, positions in groups_of(depth)]
