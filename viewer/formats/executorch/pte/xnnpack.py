"""Reads XNNPACK's own graph from what its export prepared: nodes with debug handles, values, data.

What was prepared starts with a header (magic "XH00" at byte 4) that states where its flatbuffer is,
and where the constants that follow it start. The oldest exports wrote only the flatbuffer. Its
identifier is "XN01" (schema.fbs) or "XN00" (runtime_schema.fbs), both in
backends/xnnpack/serialization of ExecuTorch. In both, the nodes have the same slots; types were
only ever added at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.codecs.file_bytes import LazyBytes
from viewer.codecs.flatbuffer import Buffer, Malformed
from viewer.formats.executorch.pte.program_tables import Problems, ProgramTables
from viewer.formats.executorch.pte.xnnpack_constants import Place, read_constants
from viewer.formats.executorch.pte.xnnpack_values import dataflow, read_uses, read_values
from viewer.program.executable.executable import XnnpackConstant, XnnpackNode
from viewer.program.executable.xnnpack_dataflow import XnnpackDataflow

_HEADER, _LEAST_HEADER = b"XH00", 30
_IDENTIFIERS = (b"XN00", b"XN01")
_NODES, _OUTPUTS = 1, 5  # slots of the graph
_LEAST = 16  # bytes of the smallest flatbuffer with an identifier and a root table

# The types of nodes, numbered from 1.
_TYPES = (
    "", "XNNAdd", "XNNFullyConnected", "XNNSoftmax", "XNNSigmoid", "XNNStaticTranspose",
    "XNNClamp", "XNNConv2d", "XNNDiv", "XNNStaticResizeBilinear2D", "XNNStaticConstantPad",
    "XNNAvgPooling2d", "XNNMinimum", "XNNDepthwiseConv2d", "XNNMaxPooling2d", "XNNMultiply",
    "XNNSubtract", "XNNFloor", "XNNConvert", "XNNGlobalAvgPooling2d", "XNNStaticReshape",
    "XNNArgMaxPooling2d", "XNNSquareRoot", "XNNCeiling", "XNNHardswish", "XNNLeakyReLU",
    "XNNMaximum", "XNNNegate", "XNNSquare", "XNNELU", "XNNAbs", "XNNPReLU", "XNNConcatenate2",
    "XNNConcatenate3", "XNNConcatenate4", "XNNStaticSlice", "XNNScaledDotProductAttention",
    "XNNBatchMatrixMultiply", "XNNConcatenate5", "XNNConvTranspose2d", "XNNReciprocalSquareRoot",
    "XNNLog", "XNNGelu", "XNNTanh", "XNNExp", "XNNSin", "XNNCopy", "XNNCos",
)  # fmt: skip


class Unread(Exception):
    """The nodes of a delegate cannot be read; the text is the reason."""


@dataclass(frozen=True, slots=True)
class XnnpackGraph:
    """The nodes in the order in which XNNPACK runs them, what connects them, and their constants.

    outputs: the number of results of a call.
    """

    nodes: tuple[XnnpackNode, ...]
    outputs: int
    constants: tuple[XnnpackConstant, ...]
    dataflow: XnnpackDataflow


def read_graph(prepared: LazyBytes, position: int = 0) -> XnnpackGraph:
    """Read the graph of a delegate. position: where `prepared` is in the file. Raises `Unread`."""
    start, graph, after = _flatbuffer(prepared)
    if len(graph) < _LEAST or graph.raw(4, 8) not in _IDENTIFIERS:
        raise Unread("its data is not an XNNPACK graph (neither XN00 nor XN01)")
    try:
        tables = ProgramTables(Buffer(graph), Problems())
        root = tables.root()
        nodes = tables.children(root, _NODES, "list of XNNPACK nodes").tables
        outputs = tables.numbers(root, _OUTPUTS, "outputs of XNNPACK").values
        types, handles = nodes.numbers(0, np.uint8, 0), nodes.numbers(2, np.uint32, 0)
        place = Place(position + start, position + after, position + len(prepared))
        names = [_name(kind) for kind in range(int(types.max(initial=0)) + 1)]
        uses = read_uses(tables, nodes, names)
        values = read_values(tables, root)
        node_names = [names[kind] for kind in types.tolist()]
        constants = read_constants(tables, root, values, uses, node_names, place)
        flow = dataflow(tables, nodes, uses, values)
    except Malformed as error:
        raise Unread(f"{error.reason} (byte {error.byte} of its XNNPACK graph)") from error
    xnnpack_nodes = tuple(
        XnnpackNode(name, handle) for name, handle in zip(node_names, handles.tolist(), strict=True)
    )
    return XnnpackGraph(xnnpack_nodes, len(outputs), constants, flow)


def _name(kind: int) -> str:
    return _TYPES[kind] if 0 < kind < len(_TYPES) else f"XNN type {kind}"


def _flatbuffer(prepared: LazyBytes) -> tuple[int, LazyBytes, int]:
    """Where the flatbuffer of what was prepared starts, its bytes, and where constants start."""
    if prepared.raw(4, 8) != _HEADER:
        return 0, prepared, len(prepared)
    if len(prepared) < _LEAST_HEADER:
        raise Unread(f"its XNNPACK header has {len(prepared)} of {_LEAST_HEADER} bytes")
    start, size, constants = (
        int.from_bytes(prepared.raw(position, position + 4), "little") for position in (10, 14, 18)
    )
    if start + size > len(prepared):
        raise Unread(
            f"its XNNPACK graph should end at byte {start + size}, but there are only "
            f"{len(prepared)} bytes"
        )
    return start, prepared.part(start, start + size), constants
