"""Reads the values of an XNNPACK graph and which nodes use them.

Nodes refer to values by id. Slots are those of schema.fbs and runtime_schema.fbs in
backends/xnnpack/serialization of ExecuTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, numbers_at
from viewer.codecs.flatbuffer import Tables
from viewer.formats.executorch.pte.program_tables import ProgramTables
from viewer.program.executable.xnnpack_dataflow import OUTPUT, XnnpackDataflow

_VALUES = 2  # slot of the graph
_QUANTIZED = 2  # type of a value
_PER_CHANNEL, _PER_GROUP = 1, 4  # types of quantization
_SCALES = {_PER_CHANNEL: (2, 3), _PER_GROUP: (4, 5)}  # slots of the index and the number of scales
_INPUT, _OUTPUT = 1, 2  # flags of a value
_NO_VALUE = (1 << 32) - 1  # instead of an id
_DENSE = 4  # ids below so many times the number of values
_RANGE = 3  # slot of a node
_TRANSPOSE, _ORDER = "XNNStaticTranspose", 1  # and the slot of its order of dimensions
_RESHAPE, _SIZES = "XNNStaticReshape", 1  # and the slot of its sizes, 0 if not stated

# Type of a node -> slots of the values that it reads, and of those that it writes. All others read
# the value in slot 0 and write that in slot 1.
_PAIR, _CONVOLUTION, _POOLING = ((0, 1), (2,)), ((15, 16, 17), (18,)), ((10,), (11,))
_SECOND, _THIRD, _FOURTH = ((1,), (2,)), ((2,), (3,)), ((3,), (4,))
_ONE = ((0,), (1,))
_SLOTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    **dict.fromkeys(
        ("XNNAdd", "XNNDiv", "XNNMinimum", "XNNMaximum", "XNNMultiply", "XNNSubtract", "XNNPReLU",
         "XNNBatchMatrixMultiply"),
        _PAIR,
    ),
    "XNNFullyConnected": ((0, 1, 2), (3,)),
    "XNNScaledDotProductAttention": ((0, 1, 2, 3, 4), (5,)),
    **dict.fromkeys(("XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d"), _CONVOLUTION),
    **dict.fromkeys(("XNNAvgPooling2d", "XNNMaxPooling2d"), _POOLING),
    **dict.fromkeys(("XNNLeakyReLU", "XNNELU"), _SECOND),
    **dict.fromkeys((_TRANSPOSE, "XNNStaticResizeBilinear2D", _RESHAPE), _THIRD),
    **dict.fromkeys(("XNNStaticConstantPad", "XNNStaticSlice"), _FOURTH),
    "XNNArgMaxPooling2d": ((6,), (7, 8)),
    "XNNConcatenate2": ((1, 2), (5,)),
    "XNNConcatenate3": ((1, 2, 3), (5,)),
    "XNNConcatenate4": ((1, 2, 3, 4), (5,)),
    "XNNConcatenate5": ((1, 2, 3, 4, 7), (5,)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Values:
    """All values of a graph, a row each.

    id: by which nodes refer to it. data, scale: indexes into the constants, 0 for none. dtype: of
    XNNPACK. scales: how many it has. at: its table in the file.
    """

    id: Ints
    data: Ints
    scale: Ints
    scales: Ints
    dtype: NDArray[np.uint8]
    flags: NDArray[np.uint32]
    at: Ints


@dataclass(frozen=True, slots=True)
class Uses:
    """Which nodes use which values, in the order of the nodes.

    slot: of the node's own table. value: its id. position: among the inputs, or `OUTPUT`. swaps,
    whole: per node, see `XnnpackDataflow`.
    """

    node: Ints
    slot: Ints
    value: Ints
    position: Ints
    swaps: Bools
    whole: Bools


def read_values(tables: ProgramTables, root: Tables) -> Values:
    """Read the values of a graph. Raises Malformed."""
    values = tables.children(root, _VALUES, "list of XNNPACK values").tables
    positions = values.targets(1)
    scale, scales = np.zeros(len(positions), np.int64), np.zeros(len(positions), np.int64)
    is_quantized = (values.numbers(0, np.uint8, 0) == _QUANTIZED) & (positions > 0)
    if is_quantized.any():
        quantized = tables.of(positions[is_quantized], "quantized XNNPACK value")
        positions = positions.copy()
        positions[is_quantized] = quantized.targets(0)
        how, what = quantized.numbers(1, np.uint8, 0), quantized.targets(2)
        for kind, slots in _SCALES.items():
            mask = (how == kind) & (what > 0)
            rows = np.flatnonzero(is_quantized)[mask]
            parameters = tables.of(what[mask], "scales of an XNNPACK value")
            scale[rows], scales[rows] = (
                parameters.numbers(slot, np.uint32, 0).astype(np.int64) for slot in slots
            )
    if not positions.all():
        has = np.flatnonzero(positions)
        positions, scale, scales = positions[has], scale[has], scales[has]
    value_tables = tables.of(positions, "XNNPACK value")
    return Values(
        value_tables.numbers(6, np.uint32, 0).astype(np.int64),
        value_tables.numbers(3, np.uint32, 0).astype(np.int64),
        scale,
        scales,
        value_tables.numbers(0, np.uint8, 0),  # two bytes, of which the second is 0
        value_tables.numbers(5, np.uint32, 0),
        positions,
    )


def read_uses(tables: ProgramTables, nodes: Tables, names: Sequence[str]) -> Uses:
    """Read which values nodes use, and what is known of transposes and reshapes.

    names: of the types of nodes, by number. Raises Malformed.
    """
    types, contents = nodes.numbers(0, np.uint8, 0), nodes.targets(1)
    nodes_of, values = list[Ints](), list[NDArray[np.uint32]]()
    slots, positions, counts = list[int](), list[int](), list[int]()
    swaps, whole = np.zeros(len(types), np.bool_), np.zeros(len(types), np.bool_)
    for kind in np.unique(types).tolist():
        index = np.flatnonzero((types == kind) & (contents > 0))
        node_tables = tables.of(contents[index], f"XNNPACK node of type {kind}")
        if names[kind] == _TRANSPOSE:
            swaps[index] = _swaps_matrix(tables, node_tables)
        elif names[kind] == _RESHAPE:
            whole[index] = _is_whole(tables, node_tables)
        reads, writes = _SLOTS.get(names[kind], _ONE)
        for position, slot in (*enumerate(reads), *((OUTPUT, slot) for slot in writes)):
            nodes_of.append(index)
            values.append(node_tables.numbers(slot, np.uint32, 0))
            slots.append(slot)
            positions.append(position)
            counts.append(len(index))
    if not values:
        none = np.empty(0, np.int64)
        return Uses(none, none, none, none, swaps, whole)
    node, value = np.concatenate(nodes_of), np.concatenate(values).astype(np.int64)
    order = np.argsort(node, kind="stable")
    order = order[value[order] != _NO_VALUE]
    return Uses(
        node[order],
        np.repeat(slots, counts)[order],
        value[order],
        np.repeat(positions, counts)[order],
        swaps,
        whole,
    )


def _swaps_matrix(tables: ProgramTables, transposes: Tables) -> Bools:
    """Return which transposes swap the last two dimensions and nothing else."""
    order = tables.numbers(transposes, _ORDER, "dimensions of an XNNPACK transpose")
    count = np.diff(order.bounds)
    place = np.arange(len(order.values)) - np.repeat(order.bounds[:-1], count)
    left = np.repeat(count, count) - place  # 1 for the last dimension
    expected = place + np.where(left == 1, -1, np.where(left == 2, 1, 0))
    wrong = np.bincount(order.parent, order.values != expected, len(count))
    swaps: Bools = (wrong == 0) & (count >= 2)
    return swaps


def _is_whole(tables: ProgramTables, reshapes: Tables) -> Bools:
    """Return which reshapes state all sizes."""
    sizes = tables.numbers(reshapes, _SIZES, "sizes of an XNNPACK reshape")
    is_whole: Bools = np.bincount(sizes.parent, sizes.values == 0, len(reshapes)) == 0
    return is_whole


def dataflow(tables: ProgramTables, nodes: Tables, uses: Uses, values: Values) -> XnnpackDataflow:
    """What connects the nodes of a graph. Raises Malformed."""
    count = len(values.id)
    value, has_value = _rows(values.id, uses.value)
    dtype, flags, data = values.dtype, values.flags, values.data
    if not has_value.all():
        # A value that the graph does not list is one of its own, of which nothing is known.
        missing, missing_index = np.unique(uses.value[~has_value], return_inverse=True)
        value[~has_value] = count + missing_index.reshape(-1)
        more = np.zeros(len(missing), np.uint8)
        dtype, flags, data = np.append(dtype, more), np.append(flags, more), np.append(data, more)
    return XnnpackDataflow(
        uses.node,
        value,
        uses.position,
        dtype,
        (flags & _INPUT) > 0,
        (flags & _OUTPUT) > 0,
        data > 0,
        _is_bounded(tables, nodes),
        uses.swaps,
        uses.whole,
    )


def _rows(ids: Ints, wanted: Ints) -> tuple[Ints, Bools]:
    """Return the first row of each wanted id, and whether there is any."""
    if not len(ids) or not len(wanted):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    most = int(ids.max())
    if most < _DENSE * (len(ids) + 1):  # as export numbers them: faster than sorting
        row_of = numbers_at(most + 1, ids[::-1], np.arange(len(ids))[::-1], -1)
        first_rows = row_of[np.minimum(wanted, most)]
        return first_rows, (wanted <= most) & (first_rows >= 0)
    distinct, first = np.unique(ids, return_index=True)
    index = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    rows: Ints = first[index].astype(np.int64)
    return rows, distinct[index] == wanted


def _is_bounded(tables: ProgramTables, nodes: Tables) -> Bools:
    """Return which nodes limit their output to a range."""
    is_bounded = np.zeros(len(nodes), np.bool_)
    if not nodes.has(_RANGE):
        return is_bounded
    place = nodes.targets(_RANGE)
    has = np.flatnonzero(place > 0)
    ranges = tables.of(place[has], "output range of an XNNPACK node")
    low, high = ranges.numbers(0, np.float32, 0), ranges.numbers(1, np.float32, 0)
    is_bounded[has] = ~((low == -np.inf) & (high == np.inf))
    return is_bounded
