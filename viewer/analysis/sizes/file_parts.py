"""The parts of a program file: every byte once, with what it is for and what uses it.

Parts are constants, initial states, named data, what delegates prepared, and the constants of
XNNPACK inside that; the rest is the program, test inputs and padding. Kernels use constants as
arguments, XNNPACK's nodes those of their graph. Of other delegates, only the call is known. With an
ETRecord, uses have operators, and data has the path of its parameter, if only one of these
operators' parameters can be meant. Parts that several operators use have all of them: nothing is
divided.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np

from viewer.analysis.memory.plan import instruction_operators
from viewer.analysis.nodes.instruction_nodes import KernelNodes, kernel_name
from viewer.arrays import Ints, lists_by_key
from viewer.dataclasses import dataclass, field
from viewer.program.executables import (
    NONE,
    Delegate,
    Executable,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    Ranges,
    XnnpackConstant,
)
from viewer.program.module_tree import ModuleTree, module_tree
from viewer.program.program import Program, Tensor

_WEIGHT, _BIAS, _SCALE = "weight", "bias", "scale"  # roles
# Delegates may share a graph, so that a damaged file could have far more uses than bytes.
_MOST_USES = 1 << 20


class ItemKind(StrEnum):
    """What the bytes of a program file are for; the values are those of `--json`."""

    CONSTANT = "constant"
    STATE = "initial_state"
    NAMED_DATA = "named_data"
    DELEGATE = "delegate"
    PROGRAM = "program"
    TEST_INPUTS = "test_inputs"
    OTHER = "other"
    PADDING = "padding"


@dataclass(frozen=True, slots=True)
class Use:
    """One use of data. method: its index in the program file. chain: of the instruction.

    instruction: its number in its chain. node: of XNNPACK's graph, -1 otherwise. what: the kernel
    ("aten::addmm.out"), the type of the node ("XNNConv2d") or the backend. operators: indexes into
    `Program.operators`; empty if not known.
    """

    method: int
    instruction: int
    node: int
    what: str
    operators: tuple[int, ...] = ()
    chain: int = 0


@dataclass(slots=True, eq=False)
class StoredItem:
    """Data that the file stores once. Built up while the methods of a file are read.

    start, size: the range in the file, with padding. stated: bytes by dtype and shape, -1 if not
    known. name: what refers to it. parameters: its names, as recorded or in the ETRecord. role: as
    in `XnnpackConstant`. is_inside: whether it is a constant inside what a delegate prepared.
    """

    kind: ItemKind
    start: int
    size: int
    name: str = ""
    stated: int = -1
    dtype: str = ""
    shape: tuple[int, ...] | None = None
    text: str = ""
    role: str = ""
    is_inside: bool = False
    parameters: dict[str, None] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)


Fits = Callable[[Tensor, StoredItem], bool]


def stored_items(executable: Executable, program: Program | None) -> list[StoredItem]:
    """Return what a file stores, each range once; without ranges that are empty."""
    return _Items(executable, program).found()


class _Items:
    """Collects items by what refers to them."""

    def __init__(self, executable: Executable, program: Program | None) -> None:
        self._executable = executable
        self._program = program
        stored = executable.stored
        self._at: dict[tuple[ItemKind, int, bool], StoredItem] = {}
        self._parameters: dict[tuple[int, ...], list[Tensor]] = {}
        self._uses = 0
        self._constants = [
            self._item(ItemKind.CONSTANT, start, size if row else 0, "unused constant")
            for row, (start, size) in enumerate(_rows(stored.constants))
        ]
        self._states = [
            self._item(ItemKind.STATE, start, size, "unused state")
            for start, size in _rows(stored.states)
        ]
        self._named: dict[str, StoredItem] = {}
        for name, (start, size) in zip(stored.names, _rows(stored.named), strict=True):
            self._named.setdefault(name, self._item(ItemKind.NAMED_DATA, start, size, name))
        self._delegates: list[StoredItem] = []
        rows = iter(_rows(stored.delegates))
        for method in executable.methods:
            for number, delegate in enumerate(method.delegates):
                name = f"{delegate.backend}, delegate {number} of {method.name}"
                start, size = next(rows, (0, 0))
                self._delegates.append(self._item(ItemKind.DELEGATE, start, size, name))

    def _item(
        self, kind: ItemKind, start: int, size: int, name: str, *, is_inside: bool = False
    ) -> StoredItem:
        """The item of a range; the first one, if several refer to it."""
        stored_item = StoredItem(kind, start, size, name, is_inside=is_inside)
        return (
            stored_item if size <= 0 else self._at.setdefault((kind, start, is_inside), stored_item)
        )

    def found(self) -> list[StoredItem]:
        """All items with bytes, after following all methods."""
        first = 0
        for number, method in enumerate(self._executable.methods):
            self._follow(number, method, first)
            first += len(method.delegates)
        return list(self._at.values())

    def _follow(self, number: int, method: ExecutableMethod, first: int) -> None:
        of_value = self._data_of_values(method)
        operators: dict[int, tuple[int, ...]] = {}
        nodes: KernelNodes | None = None
        program = self._program
        program_method = None if program is None else program.method(method.name)
        if program is not None and program_method is not None:
            operators = instruction_operators(program, method)
            kernels = {
                instruction.number: {kernel_name(instruction)}
                for instruction in method.instructions
                if instruction.kind is InstructionKind.KERNEL_CALL
            }
            nodes = KernelNodes(program, program_method, kernels)
        by_handle = {} if program_method is None else program_method.by_handle
        called: set[int] = set()
        for chain, instructions in enumerate((method.instructions, *method.more_chains)):
            for instruction in instructions:
                operators_of_call = () if chain else operators.get(instruction.number, ())
                use = Use(
                    number, instruction.number, -1, _what(instruction), operators_of_call, chain
                )
                args = self._arguments(method, of_value, instruction)
                for item in args:
                    item.uses.append(use)
                if program is not None and args and operators_of_call:
                    ran = nodes.nodes(instruction.number) if nodes is not None else ()
                    self._name(args, operators_of_call, ran, _same_tensor)
                if instruction.delegate < 0:
                    continue
                self._delegates[first + instruction.delegate].uses.append(use)
                if instruction.delegate not in called:
                    called.add(instruction.delegate)
                    handles = {handle: op.index for handle, op in by_handle.items()}
                    self._follow_nodes(use, method.delegates[instruction.delegate], handles)

    def _data_of_values(self, method: ExecutableMethod) -> dict[int, StoredItem]:
        """Value -> the item with its data."""
        tensors, item_of_value = method.tensors, dict[int, StoredItem]()
        has = tensors.constant != NONE
        for row in np.flatnonzero(has | tensors.is_external).tolist():
            item = self._named.get(tensors.named(row)) if tensors.is_external[row] else None
            if has[row]:
                is_state = tensors.memory[row] != NONE
                items = self._states if is_state else self._constants
                number = int(tensors.constant[row])
                item = items[number] if number < len(items) else None
                if item is not None:
                    item.name = f"state {number}" if is_state else f"constant {number}"
            if item is None:
                continue
            item_of_value[int(tensors.value[row])] = item
            if not item.text or tensors.size[row] > item.stated:
                item.stated = int(tensors.size[row])
                item.dtype = tensors.dtypes[int(tensors.dtype[row])]
                item.shape, item.text = tensors.shape(row), tensors.text(row)
            name = tensors.named(row)
            if name:
                item.parameters[name] = None
        return item_of_value

    def _arguments(
        self, method: ExecutableMethod, of_value: dict[int, StoredItem], instruction: Instruction
    ) -> list[StoredItem]:
        """The items that an instruction uses, once each, in the order of its arguments."""
        item_of_id: dict[int, StoredItem] = {}
        for value in instruction.values:
            for member in method.lists.get(value, (value,)):
                item = of_value.get(member)
                if item is not None:
                    item_of_id[id(item)] = item
        self._uses += len(item_of_id)
        return list(item_of_id.values()) if self._uses <= _MOST_USES else []

    def _follow_nodes(self, call: Use, delegate: Delegate, handles: dict[int, int]) -> None:
        """Note which nodes of XNNPACK use which constants. handles: debug handle -> operator."""
        of_node: dict[int, list[StoredItem]] = {}
        for constant in delegate.constants:
            item = self._constant_of(constant)
            self._uses += len(constant.nodes)
            if item is None or self._uses > _MOST_USES:
                continue
            if not item.text:
                item.stated, item.dtype, item.shape = constant.size, constant.dtype, constant.shape
                sizes = " × ".join(map(str, constant.shape)) or "scalar"
                item.text = f"{constant.dtype} {sizes}" if constant.dtype else ""
                item.role = constant.role
            for number in constant.nodes:
                of_node.setdefault(number, []).append(item)
        for number, items in of_node.items():
            node = delegate.nodes[number]
            operator = handles.get(node.debug_handle) if not node.is_inserted else None
            operators = () if operator is None else (operator,)
            use = Use(call.method, call.instruction, number, node.type, operators, call.chain)
            for item in items:
                item.uses.append(use)
            if operators:
                self._name(items, operators, (), _same_count)

    def _constant_of(self, constant: XnnpackConstant) -> StoredItem | None:
        if constant.key:
            return self._named.get(constant.key)
        if constant.size <= 0:
            return None
        name = constant.role or "constant"
        return self._item(ItemKind.DELEGATE, constant.start, constant.size, name, is_inside=True)

    def _name(
        self,
        items: Sequence[StoredItem],
        operators: tuple[int, ...],
        nodes: tuple[int, ...],
        fits: Fits,
    ) -> None:
        """Give items the paths of the parameters of operators, where only one can be meant."""
        program = self._program
        if program is None:
            return
        if len(nodes) == 1:
            tensors = _distinct(program.nodes[nodes[0]].inputs)
        else:
            if operators not in self._parameters:
                used = (node for i in operators for node in program.operators[i].nodes)
                self._parameters[operators] = _distinct(t for node in used for t in node.inputs)
            tensors = self._parameters[operators]
        for item in items:
            path = "" if item.role == _SCALE else _parameter(item, items, tensors, fits)
            if path:
                item.parameters[path] = None


def _parameter(
    item: StoredItem, items: Sequence[StoredItem], tensors: Sequence[Tensor], fits: Fits
) -> str:
    """The path of the parameter that an item is, "" if none or several can be meant.

    items: all that the same instruction or node uses. known: its parameters.
    """
    paths = [tensor.parameter for tensor in tensors if fits(tensor, item)]
    if item.role:
        paths_of_role = [path for path in paths if path.rpartition(".")[2] == item.role]
        paths = paths_of_role or [
            path for path in paths if path.rpartition(".")[2] not in (_WEIGHT, _BIAS)
        ]
    if len(paths) > 1:  # arguments are in the order of the graph
        alike = [stored_item for stored_item in items if stored_item.text == item.text]
        return paths[alike.index(item)] if len(alike) == len(paths) else ""
    return paths[0] if paths else ""


def _distinct(tensors: Iterable[Tensor]) -> list[Tensor]:
    return list({tensor.parameter: tensor for tensor in tensors if tensor.parameter}.values())


def _same_tensor(tensor: Tensor, item: StoredItem) -> bool:
    return (tensor.dtype, tensor.shape) == (item.dtype, item.shape)


def _same_count(tensor: Tensor, item: StoredItem) -> bool:
    """Whether both have the same number of elements: XNNPACK has other layouts and types."""
    if tensor.shape is None or item.shape is None:
        return False
    sizes = [size for size in tensor.shape if isinstance(size, int)]
    return len(sizes) == len(tensor.shape) and prod(sizes) == prod(item.shape)


def _what(instruction: Instruction) -> str:
    """The kernel or backend of an instruction, or its kind."""
    return instruction.name or instruction.kind.name.lower().replace("_", " ")


def _rows(ranges: Ranges) -> list[tuple[int, int]]:
    return list(zip(ranges.start.tolist(), ranges.size.tolist(), strict=True))


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
        return lists_by_key(
            (part.inside, i) for i, part in enumerate(self.parts) if part.inside >= 0
        )

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
