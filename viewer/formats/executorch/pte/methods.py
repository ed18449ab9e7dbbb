"""Reads the methods of a program: their instructions, operators, memory sizes, tensors and lists.

All methods are read at once as columns; objects are made at the end, one per instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at, numbers_at
from viewer.codecs.flatbuffer import Tables
from viewer.dataclasses import dataclass
from viewer.formats.executorch.pte.delegates import Delegates, References
from viewer.formats.executorch.pte.program_file import MOST_VALUES, Children, Lists, ProgramTables
from viewer.formats.executorch.schema import MOST_DIMENSIONS, SCALAR_TYPES, scalar_type
from viewer.program.executables import (
    NONE,
    Dynamism,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    Tensors,
)

_VALUES, _INPUTS, _OUTPUTS = 2, 3, 4  # slots of a method
_TENSOR, _LISTS, _LAST_TYPE = 5, (10, 11), 11  # types of values
_EXTERNAL = 1
_MOST_BYTES = float(1 << 62)
_KNOWN_DTYPE = np.isin(np.arange(256), list(SCALAR_TYPES))


@dataclass(frozen=True, slots=True)
class Values:
    """The values of all methods, method after method. inputs, outputs: of each method."""

    all: Children
    inputs: Lists
    outputs: Lists
    tensors: tuple[Tensors, ...]
    lists: tuple[dict[int, tuple[int, ...]], ...]

    def count(self, method: int) -> int:
        """The number of values of a method."""
        return int(self.all.count[method])


def read_values(tables: ProgramTables, methods: Tables, references: References) -> Values:
    """Read the values of all methods. Raises Malformed."""
    children = tables.children(methods, _VALUES, "list of values", MOST_VALUES)
    inputs = tables.numbers(methods, _INPUTS, "inputs")
    outputs = tables.numbers(methods, _OUTPUTS, "outputs")
    types = children.tables.numbers(0, np.uint8, 0)
    contents = children.tables.targets(1)
    tables.problems.count_rows(
        "value of an unknown type", np.flatnonzero(types > _LAST_TYPE), children.place("value")
    )
    is_tensor = (types == _TENSOR) & (contents > 0)
    index = np.flatnonzero(is_tensor)
    columns = _tensors(tables, contents[index], index, children, inputs, outputs, references)
    bounds = np.append(0, np.cumsum(is_tensor))[children.bounds]
    return Values(
        children,
        inputs,
        outputs,
        tuple(_split(columns, bounds)),
        _lists(tables, children, np.flatnonzero(np.isin(types, _LISTS) & (contents > 0)), contents),
    )


def _tensors(
    tables: ProgramTables,
    positions: Ints,
    index: Ints,
    values: Children,
    inputs: Lists,
    outputs: Lists,
    references: References,
) -> Tensors:
    """The tensors of all methods as one set of columns."""
    tensors, place = tables.of(positions, "tensor"), values.place("value")
    numbers = tensors.numbers(0, np.uint8, 0)
    sizes = tables.numbers(tensors, 2, "sizes of a tensor")
    used, dtype = np.unique(numbers, return_inverse=True)
    data = tensors.numbers(5, np.uint32, 0).astype(np.int64)
    memory, offset = _planned(tables, tensors.targets(6), index, place)
    is_external, name, names, of_list = _extra(tables, tensors.targets(9))
    stored = (data > 0) & ~is_external
    lost = stored & (memory == NONE) & (data >= references.constant_count)
    is_state = stored & (memory != NONE)
    data[is_state], is_lost = _states(data[is_state], of_list[is_state], references)
    lost[is_state] = is_lost
    tables.problems.count_rows("tensor with missing data", index[lost], place)
    tables.problems.count_rows(
        "tensor of an unknown scalar type", index[~_KNOWN_DTYPE[numbers]], place
    )
    return Tensors(
        value=values.position[index],
        dtype=dtype.reshape(-1).astype(np.uint32),
        first=sizes.bounds,
        extents=sizes.values,
        size=_bytes(tables, numbers, sizes, index, place),
        memory=memory,
        offset=offset,
        constant=np.where(stored, data, NONE),
        is_external=is_external,
        name=name,
        is_input=_mentioned(inputs, values)[index],
        is_output=_mentioned(outputs, values)[index],
        dynamism=np.minimum(tensors.numbers(8, np.uint8, 0), np.uint8(Dynamism.UNBOUND)),
        dtypes=tuple(scalar_type(number)[0] for number in used.tolist()),
        names=tuple(names),
    )


def _bytes(
    tables: ProgramTables,
    dtypes: NDArray[np.uint8],
    sizes: Lists,
    index: Ints,
    place: Callable[[int], str],
) -> Ints:
    """The bytes of tensors by dtype and sizes, `NONE` where they are not known."""
    rank = np.diff(sizes.bounds)
    widths = np.array([scalar_type(number)[1] for number in range(256)], np.int64)
    size = widths[dtypes]
    about = size.astype(np.float64)
    is_negative = np.zeros(len(rank), np.bool_)
    for dimension in range(min(int(rank.max(initial=0)), MOST_DIMENSIONS)):
        live = np.flatnonzero(rank > dimension)
        extent = sizes.values[sizes.bounds[live] + dimension]
        is_negative[live] |= extent < 0
        with np.errstate(over="ignore"):
            size[live] *= extent
        about[live] *= np.abs(extent)
    is_deep = rank > MOST_DIMENSIONS
    tables.problems.count_rows("tensor with a negative size", index[is_negative], place)
    tables.problems.count_rows(
        f"tensor of more than {MOST_DIMENSIONS} dimensions", index[is_deep], place
    )
    is_known = (widths[dtypes] > 0) & ~is_negative & ~is_deep & (about < _MOST_BYTES)
    return np.where(is_known, size, NONE)


def _planned(
    tables: ProgramTables, positions: Ints, index: Ints, place: Callable[[int], str]
) -> tuple[Ints, Ints]:
    """The memory of tensors and their 64-bit offsets in it, `NONE` where none is planned."""
    memory, offset = np.full(len(positions), NONE), np.full(len(positions), NONE)
    has = np.flatnonzero(positions > 0)
    planned = tables.of(positions[has], "planned memory")
    low, high = (planned.numbers(slot, np.uint32, 0).astype(np.int64) for slot in (1, 2))
    fits = high < 1 << 31
    tables.problems.count_rows("memory offset of 2^63 and more: left out", index[has[~fits]], place)
    memory[has[fits]] = planned.numbers(0, np.uint32, 0).astype(np.int64)[fits]
    offset[has[fits]] = low[fits] | high[fits] << 32
    return memory, offset


def _states(data: Ints, of_list: Ints, references: References) -> tuple[Ints, Bools]:
    """Rows among the initial states of all lists, and whether there is no such state.

    data: the number of each in its list. A missing state has the row after the last.
    """
    bounds = references.state_offsets.bounds
    lists = len(bounds) - 1
    is_inside = (of_list >= 0) & (of_list < lists)
    list_index = np.where(is_inside, of_list, 0)
    if lists:
        is_inside &= data < np.diff(bounds)[list_index]
        data = bounds[list_index] + data
    return np.where(is_inside, data, bounds[-1]), ~is_inside


def _extra(tables: ProgramTables, positions: Ints) -> tuple[Bools, Ints, list[str], Ints]:
    """Which tensors have their data in another file, names of tensors as codes, and state lists."""
    is_external, name = np.zeros(len(positions), np.bool_), np.full(len(positions), NONE)
    has = np.flatnonzero(positions > 0)
    extra = tables.of(positions[has], "extra tensor information")
    name[has], names = tables.texts(extra.targets(1), "names of tensors")
    is_external[has] = extra.numbers(2, np.uint8, 0) == _EXTERNAL
    of_list = numbers_at(len(positions), has, extra.numbers(0, np.uint64, 0).view(np.int64))
    return is_external, name, names, of_list


def _mentioned(lists: Lists, values: Children) -> Bools:
    """Which values of all methods are in the lists of their methods."""
    method = lists.parent
    exists = (lists.values >= 0) & (lists.values < values.count[method])
    return flags_at(len(values), values.bounds[method[exists]] + lists.values[exists])


def _split(columns: Tensors, bounds: Ints) -> Iterator[Tensors]:
    """The columns of each method; `bounds`: methods + 1 positions."""
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        part = slice(low, high)
        start, end = int(columns.first[low]), int(columns.first[high])
        yield Tensors(
            columns.value[part],
            columns.dtype[part],
            columns.first[low : high + 1] - start,
            columns.extents[start:end],
            columns.size[part],
            columns.memory[part],
            columns.offset[part],
            columns.constant[part],
            columns.is_external[part],
            columns.name[part],
            columns.is_input[part],
            columns.is_output[part],
            columns.dynamism[part],
            columns.dtypes,
            columns.names,
        )


def _lists(
    tables: ProgramTables, values: Children, index: Ints, contents: Ints
) -> tuple[dict[int, tuple[int, ...]], ...]:
    """Per method: value that is a list of tensors -> its members."""
    members = tables.numbers(tables.of(contents[index], "list of tensors"), 0, "tensors of a list")
    lists_of: list[dict[int, tuple[int, ...]]] = [{} for _ in values.count]
    places = zip(values.parent[index].tolist(), values.position[index].tolist(), strict=True)
    for i, (method, value) in enumerate(places):
        lists_of[method][value] = members.of(i)
    return tuple(lists_of)


_NAME, _CHAINS, _OPERATORS, _BUFFER_SIZES = 0, 5, 6, 8  # slots of a method
_INSTRUCTIONS = 2  # slot of a chain
_NONE = -1
_KERNEL, _DELEGATE, _MOVE, _JUMP, _FREE = (
    InstructionKind.KERNEL_CALL,
    InstructionKind.DELEGATE_CALL,
    InstructionKind.MOVE_CALL,
    InstructionKind.JUMP_FALSE_CALL,
    InstructionKind.FREE_CALL,
)


def read_methods(
    tables: ProgramTables, methods: Tables, delegates: Delegates, references: References
) -> tuple[ExecutableMethod, ...]:
    """Read all methods. Raises Malformed."""
    codes, texts = tables.texts(methods.targets(_NAME), "names of methods")
    names = [*texts, ""]
    values = read_values(tables, methods, references)
    chains = tables.children(methods, _CHAINS, "list of chains")
    instructions = _Instructions(tables, methods, chains, values.all.count, delegates).made()
    sizes = tables.long_numbers(methods, _BUFFER_SIZES, "sizes of planned memory")
    tables.problems.count_rows(
        "planned memory with a negative size",
        np.flatnonzero(sizes.values < 0),
        lambda row: f"size {row} of all methods",
    )
    executable_methods = []
    for i in range(len(methods)):
        method_chains = instructions[chains.bounds[i] : chains.bounds[i + 1]]
        executable_methods.append(
            ExecutableMethod(
                name=names[codes[i]],
                instructions=method_chains[0] if method_chains else (),
                delegates=delegates.of(i),
                tensors=values.tensors[i],
                value_count=values.count(i),
                inputs=values.inputs.of(i),
                outputs=values.outputs.of(i),
                lists=values.lists[i],
                buffer_sizes=tuple(max(size, 0) for size in sizes.of(i)),
                more_chains=tuple(method_chains[1:]),
            )
        )
    return tuple(executable_methods)


@dataclass(slots=True)
class _Columns:
    """The instructions of all chains as columns. called: operator or delegate, -1 if none."""

    kind: Ints
    called: Ints
    target: Ints
    values: NDArray[np.int64]
    bounds: Ints  # instructions + 1 positions in `values`


class _Instructions:
    """Reads the instructions of all chains of all methods."""

    def __init__(
        self,
        tables: ProgramTables,
        methods: Tables,
        chains: Children,
        value_count: Ints,
        delegates: Delegates,
    ) -> None:
        self._tables = tables
        self._problems = tables.problems
        self._value_count = value_count
        self._delegates = delegates
        self._operators = tables.children(methods, _OPERATORS, "list of operators")
        self._found = tables.children(chains.tables, _INSTRUCTIONS, "list of instructions")
        self._method = chains.parent[self._found.parent]
        self._position = self._found.position

    def _place(self, row: int) -> str:
        return f"instruction {self._position[row]} of method {self._method[row]}"

    def made(self) -> list[tuple[Instruction, ...]]:
        """The instructions of each chain. Raises Malformed."""
        columns = self._columns()
        names = self._names(columns)
        kinds = {kind.value: kind for kind in InstructionKind}
        values, bounds = columns.values.tolist(), columns.bounds.tolist()
        instructions = [
            Instruction(
                number,
                kinds[kind],
                name,
                tuple(values[low:high]),
                target,
                called if kind == _DELEGATE else _NONE,
            )
            for number, kind, name, low, high, target, called in zip(
                self._position.tolist(),
                columns.kind.tolist(),
                names,
                bounds[:-1],
                bounds[1:],
                columns.target.tolist(),
                columns.called.tolist(),
                strict=True,
            )
        ]
        ends = self._found.bounds.tolist()
        return [tuple(instructions[a:b]) for a, b in pairwise(ends)]

    def _columns(self) -> _Columns:
        tables, problems = self._tables, self._problems
        stated = self._found.tables.numbers(0, np.uint8, 0).astype(np.int64)
        contents = self._found.tables.targets(1)
        is_known = (stated >= 1) & (stated <= _FREE + 1) & (contents > 0)
        problems.count_rows(
            "instruction of an unknown kind", np.flatnonzero(~is_known), self._place
        )
        kind = np.where(is_known, stated - 1, InstructionKind.UNKNOWN)
        called, target = np.full(len(kind), _NONE), np.full(len(kind), _NONE)
        length = np.zeros(len(kind), np.int64)

        calls = np.flatnonzero((kind == _KERNEL) | (kind == _DELEGATE))
        call_tables = tables.of(contents[calls], "call")
        called[calls] = call_tables.numbers(0, np.int32, 0)
        arguments = tables.numbers(call_tables, 1, "arguments of calls")
        length[calls] = np.diff(arguments.bounds)
        others = {each: np.flatnonzero(kind == each) for each in (_MOVE, _JUMP, _FREE)}
        for each, rows in others.items():
            length[rows] = 2 if each is _MOVE else 1
        bounds = np.append(0, np.cumsum(length))
        values = numbers_at(
            int(bounds[-1]),
            np.repeat(np.isin(kind, (_KERNEL, _DELEGATE)), length),
            arguments.values,
        )
        for each, rows in others.items():
            kind_tables = tables.of(contents[rows], each.name.lower().replace("_", " "))
            values[bounds[rows]] = kind_tables.numbers(0, np.int32, 0)
            if each is _MOVE:
                values[bounds[rows] + 1] = kind_tables.numbers(1, np.int32, 0)
            elif each is _JUMP:
                target[rows] = kind_tables.numbers(1, np.int32, 0)
        columns = _Columns(kind, called, target, values, bounds)
        self._check(columns, length)
        return columns

    def _check(self, columns: _Columns, length: Ints) -> None:
        """Count references to values, delegates and instructions that do not exist."""
        method = np.repeat(self._method, length)
        outside = (columns.values < 0) | (columns.values >= self._value_count[method])
        self._problems.count_rows(
            "instruction uses a value that its method does not have",
            np.repeat(np.arange(len(length)), length)[outside],
            self._place,
        )
        jumps = columns.kind == _JUMP
        count = self._found.count[self._found.parent]
        self._problems.count_rows(
            "jump to a missing instruction",
            np.flatnonzero(jumps & ((columns.target < 0) | (columns.target > count))),
            self._place,
        )
        delegated = columns.kind == _DELEGATE
        delegate_count = np.diff(self._delegates.bounds)[self._method]
        lost = delegated & ((columns.called < 0) | (columns.called >= delegate_count))
        self._problems.count_rows(
            "call of a delegate that its method does not have",
            np.flatnonzero(lost),
            self._place,
        )
        columns.called[lost] = _NONE

    def _names(self, columns: _Columns) -> list[str]:
        """The operator or backend of each instruction."""
        operators = self._operators
        in_method = operators.count[self._method]
        kernels = columns.kind == _KERNEL
        lost = kernels & ((columns.called < 0) | (columns.called >= in_method))
        self._problems.count_rows(
            "call of an operator that its method does not have", np.flatnonzero(lost), self._place
        )
        operator = operators.bounds[self._method] + columns.called
        used, code = np.unique(operator[kernels & ~lost], return_inverse=True)
        tables = self._tables.of(operators.at[used], "operator")
        base, bases = self._tables.texts(tables.targets(0), "names of operators")
        overload, overloads = self._tables.texts(tables.targets(1), "overloads of operators")
        parts = zip(base.tolist(), overload.tolist(), strict=True)
        bases, overloads = [*bases, ""], [*overloads, ""]
        full = [f"{bases[a]}.{overloads[b]}" if overloads[b] else bases[a] for a, b in parts]
        names = [""] * len(columns.kind)
        for row, c in zip(
            np.flatnonzero(kernels & ~lost).tolist(), code.reshape(-1).tolist(), strict=True
        ):
            names[row] = full[c]
        first = self._delegates.bounds[self._method]
        calls = np.flatnonzero((columns.kind == _DELEGATE) & (columns.called >= 0))
        for row, d in zip(calls.tolist(), (first + columns.called)[calls].tolist(), strict=True):
            names[row] = self._delegates.all[d].backend
        return names
