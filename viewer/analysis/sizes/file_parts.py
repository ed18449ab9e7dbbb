"""The parts of a program file: every byte once, with what it is for and what uses it.

Data is a part of its own: constants, initial states, named data, what delegates prepared, and the
constants of XNNPACK inside that. The rest is the program, test inputs and padding. Parts that
several operators use have all of them: nothing is divided.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from viewer.analysis.sizes.stored_items import ItemKind, StoredItem, Use, stored_items
from viewer.arrays import Ints
from viewer.program.executable.executable import Executable
from viewer.program.module_tree import ModuleTree, module_tree
from viewer.program.program import Program

NO_MODULE = -1
# Bytes after the data of a constant that are padding. Export aligns constants to 16 bytes, or to
# what the user sets; more than that is data that no tensor shows.
_MOST_PADDING = 128
_PRIORITIES = {
    ItemKind.PROGRAM: 0, ItemKind.TEST_INPUTS: 0, ItemKind.OTHER: 1, ItemKind.DELEGATE: 2,
    ItemKind.CONSTANT: 3, ItemKind.STATE: 3, ItemKind.NAMED_DATA: 3,
}  # fmt: skip
_INSIDE = 4  # priority of the constants inside what a delegate prepared


@dataclass(frozen=True, slots=True)
class FilePart:
    """Bytes of a file with one purpose.

    name: the path of the parameter if it is known, else what the file calls it. names: all paths,
    if data is several parameters. size: its bytes. start, extent: the range in the file; the extent
    is larger than `size` if other parts are inside. text: dtype and shape, "f32 1 × 8"; "" if not
    known, and the same as `dtype` and `shape`. role: for XNNPACK "weight", "bias" or "scale"; else
    "". operators: of all uses, ascending. module: the smallest module with all of them, as index
    into `ModuleTree.modules`, or `NO_MODULE`. inside: the part that contains it, for constants
    inside what a delegate prepared; else -1.
    """

    kind: ItemKind
    name: str
    start: int
    extent: int
    size: int
    names: tuple[str, ...] = ()
    dtype: str = ""
    shape: tuple[int, ...] | None = None
    text: str = ""
    role: str = ""
    uses: tuple[Use, ...] = ()
    operators: tuple[int, ...] = ()
    module: int = NO_MODULE
    inside: int = -1

    @property
    def methods(self) -> tuple[int, ...]:
        """The methods of the program file that use it, ascending."""
        return tuple(sorted({use.method for use in self.uses}))

    @property
    def users(self) -> tuple[str, ...]:
        """The kernels, nodes and backends that use it, each once."""
        return tuple(dict.fromkeys(use.what for use in self.uses))


@dataclass(frozen=True, eq=False)
class FileParts:
    """The parts of one program file; their sizes add up to the file.

    program: its ETRecord, None without one.
    """

    executable: Executable
    program: Program | None
    parts: tuple[FilePart, ...]

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return self.executable.size

    @cached_property
    def tree(self) -> ModuleTree | None:
        """The modules of the ETRecord; None if it states none."""
        return _tree(self.program)

    @cached_property
    def _inside(self) -> dict[int, list[int]]:
        parts_inside: dict[int, list[int]] = {}
        for i, part in enumerate(self.parts):
            if part.inside >= 0:
                parts_inside.setdefault(part.inside, []).append(i)
        return parts_inside

    def inside(self, number: int) -> list[int]:
        """The constants inside a part, which is what a delegate prepared."""
        return self._inside.get(number, [])

    @cached_property
    def by_size(self) -> tuple[int, ...]:
        """The parts, the largest first; of equal ones in the order of the file."""
        return tuple(sorted(range(len(self.parts)), key=lambda i: -self.parts[i].size))


def file_parts(executable: Executable, program: Program | None = None) -> FileParts:
    """Return the parts of a program file, in the order of the file. No data is read."""
    items = [*_frame(executable), *stored_items(executable, program)]
    items += _unclaimed_segments(executable, items)
    sizes = [_used(item) for item in items]
    starts = np.array([item.start for item in items], np.int64)
    own_bytes, padding = assigned_bytes(
        starts,
        np.array(sizes, np.int64),
        [_INSIDE if item.is_inside else _PRIORITIES[item.kind] for item in items],
        executable.size,
    )
    order = [i for i in np.argsort(starts, kind="stable").tolist() if own_bytes[i]]
    around = _around([items[i] for i in order])
    tree = _tree(program)
    parts = [
        _part(items[i], sizes[i], int(own_bytes[i]), around[place], tree)
        for place, i in enumerate(order)
    ]
    if padding:
        parts.append(FilePart(ItemKind.PADDING, "", -1, padding, padding))
    return FileParts(executable, program, tuple(parts))


def _frame(executable: Executable) -> list[StoredItem]:
    """The flatbuffer of the program, and what is before and after the program in a bundle."""
    stored, items = executable.stored, list[StoredItem]()
    if len(stored.program):
        start, size = int(stored.program.start[0]), int(stored.program.size[0])
        items.append(StoredItem(ItemKind.PROGRAM, start, size))
        start, size = int(stored.content.start[0]), int(stored.content.size[0])
        # One range: what else it contains has a higher priority.
        if size < executable.size:
            items.append(StoredItem(ItemKind.TEST_INPUTS, 0, start))
            items.append(
                StoredItem(ItemKind.TEST_INPUTS, start + size, executable.size - start - size)
            )
    return items


def _unclaimed_segments(executable: Executable, items: Sequence[StoredItem]) -> list[StoredItem]:
    """The segments in which no item starts."""
    segments = executable.stored.segments
    starts = np.sort(np.array([item.start for item in items if item.size > 0], np.int64))
    first = np.searchsorted(starts, segments.start)
    after = np.searchsorted(starts, segments.start + segments.size)
    return [
        StoredItem(ItemKind.OTHER, int(segments.start[i]), int(segments.size[i]), f"segment {i}")
        for i in np.flatnonzero((first == after) & (segments.size > 0)).tolist()
    ]


def _used(item: StoredItem) -> int:
    """The bytes of an item without the padding after it."""
    if item.kind not in (ItemKind.CONSTANT, ItemKind.STATE) or item.stated <= 0:
        return item.size
    return item.stated if 0 <= item.size - item.stated < _MOST_PADDING else item.size


def _around(items: Sequence[StoredItem]) -> list[int]:
    """Per item, in the order of the file, the one of a delegate that contains it; -1 for none."""
    delegates, delegate = [], -1
    for number, item in enumerate(items):
        if item.kind is ItemKind.DELEGATE and not item.is_inside:
            delegate = number
        is_within = delegate >= 0 and item.start < items[delegate].start + items[delegate].size
        delegates.append(delegate if item.is_inside and is_within else -1)
    return delegates


def _part(
    item: StoredItem, extent: int, size: int, inside: int, tree: ModuleTree | None
) -> FilePart:
    operators = tuple(sorted({i for use in item.uses for i in use.operators}))
    names = tuple(item.parameters)
    return FilePart(
        kind=item.kind,
        name=", ".join(names[:3]) or item.name,
        start=item.start,
        extent=extent,
        size=size,
        names=names,
        dtype=item.dtype,
        shape=item.shape,
        text=item.text,
        role=item.role,
        uses=tuple(dict.fromkeys(item.uses)),
        operators=operators,
        module=_common_module(tree, operators) if tree is not None and operators else NO_MODULE,
        inside=inside,
    )


def _common_module(tree: ModuleTree, operators: Sequence[int]) -> int:
    """The smallest module with all operators.

    A module that is called from two others is in the tree twice; then it is the first of these.
    """
    places = {int(tree.of_operator[i]) for i in operators}
    paths = {(tree.modules[i].kind, tree.modules[i].method, tree.modules[i].path) for i in places}
    return min(places) if len(paths) == 1 else tree.around_all(places)


def _tree(program: Program | None) -> ModuleTree | None:
    tree = None if program is None else module_tree(program)
    return tree if tree is not None and tree.is_stated else None


def assigned_bytes(
    start: Ints, size: Ints, priority: Sequence[int], total: int
) -> tuple[Ints, int]:
    """Return the bytes that each range gets, and those that no range claims.

    A byte that several ranges claim belongs to the one with the highest priority, then to the first
    one. total: bytes of the file; what is outside is left out. The results add up to it.
    """
    low = np.clip(start, 0, total)
    high = np.clip(start + np.maximum(size, 0), low, total)
    own_bytes = np.zeros(len(start), np.int64)
    order = np.argsort(low, kind="stable").tolist()
    starts, ends = low.tolist(), high.tolist()
    edges = np.unique(np.concatenate(([0, total], low, high))).tolist()
    unclaimed, following = 0, 0
    active: list[tuple[int, int]] = []  # (negative priority, range)
    for here, after in pairwise(edges):
        while following < len(order) and starts[order[following]] <= here:
            number = order[following]
            heapq.heappush(active, (-priority[number], number))
            following += 1
        while active and ends[active[0][1]] <= here:
            heapq.heappop(active)
        if active:
            own_bytes[active[0][1]] += after - here
        else:
            unclaimed += after - here
    return own_bytes, unclaimed
