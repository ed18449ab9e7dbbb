"""Reads the constants of an XNNPACK graph: where they are, what they are, and which nodes use them.

The graph lists its constants; values refer to them by index, and so do the scales of values that
are quantized per channel or per block. Nodes refer to values by id. Newer exports store constants
as named data of the program, so that delegates can share them; older ones after the graph, and the
oldest inside it. Slots are those of schema.fbs and runtime_schema.fbs in
backends/xnnpack/serialization of ExecuTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewer.arrays import Ints, numbers_at
from viewer.codecs.flatbuffer import Tables
from viewer.formats.executorch.pte.program_tables import MOST_CONSTANTS, Lists, ProgramTables
from viewer.formats.executorch.pte.xnnpack_values import Uses, Values
from viewer.formats.executorch.scalar_types import MOST_DIMENSIONS
from viewer.program.executable.executable import XnnpackConstant
from viewer.program.executable.xnnpack_dataflow import OUTPUT

_INLINE, _CONSTANTS = 6, 8  # slots of the graph
_NAMED = (1 << 64) - 1  # instead of an offset
_WEIGHT, _BIAS, _SCALE = "weight", "bias", "scale"
_WIDE = {2: "bf16", 4: "f32"}  # bytes of a scale

_DTYPES = (
    "", "f32", "f16", "qi8", "qu8", "qi32", "qi8 per channel", "qi32 per channel",
    "qi4 per channel", "qi8 dynamic", "qi4 per block", "qi8 packed", "i32", "f32 packed", "bf16",
)  # fmt: skip

# Type of a node -> slot -> what its value is.
_ROLES: dict[str, dict[int, str]] = {
    "XNNFullyConnected": {1: _WEIGHT, 2: _BIAS},
    "XNNPReLU": {1: _WEIGHT},
    "XNNConv2d": {16: _WEIGHT, 17: _BIAS},
    "XNNDepthwiseConv2d": {16: _WEIGHT, 17: _BIAS},
    "XNNConvTranspose2d": {16: _WEIGHT, 17: _BIAS},
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a graph is in its file: its first byte, that of the constants after it, and the end."""

    graph: int
    constants: int
    end: int


@dataclass(frozen=True, slots=True)
class _Data:
    """The constants as listed. start: in the file, -1 for named data. key: index into `keys`."""

    start: Ints
    size: Ints
    key: Ints
    keys: list[str]


@dataclass(frozen=True, slots=True)
class _Values:
    """The values that are constants or have scales that are; a row each, as in `Values`."""

    id: Ints
    data: Ints
    scale: Ints
    scales: Ints
    dtype: Ints
    shape: Lists


def read_constants(
    tables: ProgramTables,
    root: Tables,
    listed: Values,
    uses: Uses,
    types: Sequence[str],
    place: Place,
) -> tuple[XnnpackConstant, ...]:
    """Read the constants of a graph; row 0, which is reserved, is left out. Raises Malformed.

    types: of its nodes.
    """
    data = _listed(tables, root, place)
    if len(data.size) <= 1:
        return ()
    values = _values(tables, listed, len(data.size))
    row, node, role = _uses(uses, types, values)
    xnnpack_constants = []
    of_data = _users(values.data, row, node, len(data.size))
    of_scale = _users(values.scale, row, node, len(data.size))
    value_of = _first(values.data, len(data.size))
    scaled = _first(values.scale, len(data.size))
    role_of = dict(zip(row[::-1].tolist(), role[::-1], strict=True))
    for i in range(1, len(data.size)):
        value, size = value_of[i], int(data.size[i])
        dtype, what, users = "", "", of_data.get(i, ())
        shape: tuple[int, ...] = ()
        if value >= 0:
            number = int(values.dtype[value])
            dtype = _DTYPES[number] if number < len(_DTYPES) else f"XNN data type {number}"
            shape, what = values.shape.of(value)[:MOST_DIMENSIONS], role_of.get(value, "")
        elif scaled[i] >= 0:
            count = int(values.scales[scaled[i]])
            dtype = _WIDE.get(size // count if count and size % count == 0 else 0, "")
            shape, what, users = (count,), _SCALE, of_scale.get(i, ())
        key = int(data.key[i])
        xnnpack_constants.append(
            XnnpackConstant(
                data.keys[key] if key >= 0 else "",
                int(data.start[i]),
                size,
                dtype,
                shape,
                what,
                users,
            )
        )
    return tuple(xnnpack_constants)


def _listed(tables: ProgramTables, root: Tables, place: Place) -> _Data:
    listed = tables.children(root, _CONSTANTS, "list of XNNPACK constants", MOST_CONSTANTS).tables
    if not len(listed):
        inline = tables.children(root, _INLINE, "list of XNNPACK data", MOST_CONSTANTS).tables
        start, size = tables.buffer.vectors(inline.targets(0), 1, "XNNPACK data")
        return _Data(start + place.graph, size, np.full(len(size), -1), [])
    offset, stated = listed.numbers(0, np.uint64, 0), listed.numbers(1, np.uint64, 0)
    key, keys = tables.texts(listed.targets(2), "keys of XNNPACK constants")
    is_named = offset == np.uint64(_NAMED)
    room = np.uint64(max(place.end - place.constants, 0))
    inside = np.minimum(offset, room)
    size = np.minimum(stated, np.where(is_named, np.uint64(1 << 62), room - inside))
    start = np.where(is_named, -1, inside.astype(np.int64) + place.constants)
    return _Data(start, size.astype(np.int64), np.where(is_named, key, -1), keys)


def _values(tables: ProgramTables, listed: Values, count: int) -> _Values:
    """The values of a graph that are constants. count: of constants."""
    data = np.where(listed.data < count, listed.data, 0)
    scale = np.where(listed.scale < count, listed.scale, 0)
    keep = np.flatnonzero((data > 0) | (scale > 0))
    sizes = tables.of(listed.at[keep], "XNNPACK value")
    return _Values(
        listed.id[keep],
        data[keep],
        scale[keep],
        listed.scales[keep],
        listed.dtype[keep].astype(np.int64),
        tables.numbers(sizes, 2, "sizes of an XNNPACK value"),
    )


def _uses(uses: Uses, types: Sequence[str], values: _Values) -> tuple[Ints, Ints, list[str]]:
    """Which rows of `values` which nodes read, and as what; in the order of the nodes."""
    order = np.argsort(values.id, kind="stable")
    ids = values.id[order]
    index = np.searchsorted(ids, uses.value)
    is_known = (index < len(ids)) & (np.append(ids, -1)[index] == uses.value)
    is_known &= uses.position != OUTPUT
    row, node = order[index[is_known]], uses.node[is_known]
    roles = [
        _ROLES.get(types[user], {}).get(slot, "")
        for user, slot in zip(node.tolist(), uses.slot[is_known].tolist(), strict=True)
    ]
    return row, node, roles


def _users(data: Ints, row: Ints, node: Ints, count: int) -> dict[int, tuple[int, ...]]:
    """Constant -> the nodes that use it, ascending. data: the constant of each row of values."""
    users_of: dict[int, dict[int, None]] = {}
    for constant, user in zip(data[row].tolist(), node.tolist(), strict=True):
        if 0 < constant < count:
            users_of.setdefault(constant, {})[user] = None
    return {constant: tuple(users) for constant, users in users_of.items()}


def _first(data: Ints, count: int) -> list[int]:
    """Per constant, the first row of values that has it; -1 for none."""
    first_index = numbers_at(count, data[::-1], np.arange(len(data))[::-1], -1)
    first_index[0] = -1
    return list(first_index.tolist())
