"""Reads the values of all methods: their tensors as columns, and lists of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, flags_at, numbers_at
from viewer.codecs.flatbuffer import Tables
from viewer.formats.executorch.pte.delegates import References
from viewer.formats.executorch.pte.program_tables import MOST_VALUES, Children, Lists, ProgramTables
from viewer.formats.executorch.scalar_types import MOST_DIMENSIONS, SCALAR_TYPES, scalar_type
from viewer.program.executable.executable import NONE, Dynamism, Tensors

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
    is_mentioned = flags_at(len(values), values.bounds[method[exists]] + lists.values[exists])
    return is_mentioned


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
