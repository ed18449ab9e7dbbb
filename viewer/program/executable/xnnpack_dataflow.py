"""What connects the nodes of one XNNPACK graph: which values they read and write, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints

OUTPUT = -1  # instead of a position among the inputs


class DataType(IntEnum):
    """The data type of a value, numbered as in the schema."""

    UNKNOWN = 0
    F32 = 1
    F16 = 2
    QINT8 = 3
    QUINT8 = 4
    QINT32 = 5
    QCINT8 = 6
    QCINT32 = 7
    QCINT4 = 8
    QDINT8 = 9  # quantized at run time
    QBINT4 = 10
    QPINT8 = 11
    INT32 = 12
    PF32 = 13
    BF16 = 14


@dataclass(frozen=True, slots=True, eq=False)
class XnnpackDataflow:
    """The uses of values by nodes, node after node, and what is known of values and nodes.

    node, value, position: of each use; the last is the position among the node's inputs, or
    `OUTPUT`. dtype: the `DataType` of each value. is_input, is_output: whether a value is one of
    the whole graph. is_constant: whether the file has its data. is_bounded: whether a node limits
    its output to a range, as a fused relu does. swaps_matrix: whether a node is a transpose of the
    last two dimensions alone. is_whole: whether a node is a reshape that states all sizes.
    """

    node: Ints
    value: Ints
    position: Ints
    dtype: NDArray[np.uint8]
    is_input: Bools
    is_output: Bools
    is_constant: Bools
    is_bounded: Bools
    swaps_matrix: Bools
    is_whole: Bools

    @classmethod
    def unknown(cls, nodes: int) -> XnnpackDataflow:
        """Nothing is known of some nodes but their types."""
        none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
        flags = np.zeros(nodes, np.bool_)
        return cls(none, none, none, np.empty(0, np.uint8), no, no, no, flags, flags, flags)
