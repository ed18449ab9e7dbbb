"""What XNNPACK may log for a node: its own event, others, or none, after XNNPACK's rewrites.

XNNPACK folds nodes into others, splits and replaces them. All rewrites known are in one table,
`REWRITES`, with their places in the sources. They depend on the processor and on the release, so
each is possible, not certain: a node may also log its own event. What is in no row logs exactly one
event, of its own type.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.nodes.xnnpack_operators import short_type
from viewer.arrays import Bools, Ints, flags_at, numbers_at
from viewer.dataclasses import dataclass, field
from viewer.program.executables import OUTPUT, DataType, XnnpackDataflow, XnnpackNode

_BINARY = frozenset({"add", "subtract", "multiply", "div", "minimum", "maximum", "prelu"})
_UNARY = frozenset(
    {"abs", "ceiling", "clamp", "convert", "cos", "elu", "exp", "floor", "gelu", "hardswish",
     "leakyrelu", "log", "negate", "reciprocalsquareroot", "sigmoid", "sin", "square", "squareroot",
     "tanh"}
)  # fmt: skip
_CONVOLUTIONS = frozenset({"conv2d", "depthwiseconv2d"})
_MATRIX = frozenset({"fullyconnected", "batchmatrixmultiply"})
_MEANS = frozenset({"globalavgpooling2d", "mean"})
_ARITHMETIC = frozenset({"add", "subtract", "multiply", "div"})
# Nodes that apply an output range themselves.
_CLAMPING = frozenset(
    {"clamp", "avgpooling2d", "maxpooling2d", "convtranspose2d", "fullyconnected", *_CONVOLUTIONS}
)
_CONCATENATIONS = frozenset(f"concatenate{parts}" for parts in range(2, 6))

# Logged operator, in lower case -> the types of nodes that log it. Other types are the logged name
# without blanks and hyphens. From XNNPACK's names of operator types (src/operator-utils.c,
# src/xnnpack/operator-type-defs.inc) and the schema of ExecuTorch's XNNPACK backend
# (backends/xnnpack/serialization/schema.fbs).
TYPES: dict[str, frozenset[str]] = {
    "convolution": _CONVOLUTIONS,
    # A 1 × 1 convolution too.
    "fully connected": frozenset({"fullyconnected", "conv2d"}),
    "dynamic fully connected": frozenset({"fullyconnected"}),
    "batch matrix multiply": frozenset({"batchmatrixmultiply"}),
    "transpose": frozenset({"statictranspose"}),
    "static reshape": frozenset({"staticreshape"}),
    "reshape": frozenset({"staticreshape"}),
    "copy": frozenset({"copy", "staticslice", "staticreshape", *_CONCATENATIONS}),
    "slice": frozenset({"staticslice"}),
    "divide": frozenset({"div"}),
    "mean": _MEANS,
    "global average pooling": _MEANS,
    "average pooling": frozenset({"avgpooling2d"}),
    "max pooling": frozenset({"maxpooling2d"}),
    "argmax pooling": frozenset({"argmaxpooling2d"}),
    "deconvolution": frozenset({"convtranspose2d"}),
    "sine": frozenset({"sin"}),
    "cosine": frozenset({"cos"}),
    "approxgelu": frozenset({"gelu"}),
    "constant pad": frozenset({"staticconstantpad"}),
    "resize bilinear": frozenset({"staticresizebilinear2d"}),
    "unary elementwise": _UNARY,  # of releases without a name for each
    "binary elementwise": _BINARY,
}
CLAMP, SQUARE, MEAN_SQUARED, LOOKUP = "clamp", "square", "mean squared", "invalid unary op"
_COPY, _CONVERT, _PACK = "copy", "convert", "pack lh"
OWN = "own"  # in a run: the event of the node's own type


class Where(StrEnum):
    """What a rewrite needs besides the type of a node."""

    IS_BOUNDED = "its output has a range"
    IS_UNBOUNDED = "its output has no range"
    IS_UNUSED = "nothing reads its output"
    HAS_ONE_READER = "one node reads its output, which is not of the graph"
    IS_ALONE_AFTER = "it alone reads what `after` makes"
    IS_AFTER_BOUNDED = "the output of what `after` makes has a range"
    SHARES_INPUT = "others read what `after` makes too"
    SWAPS_MATRIX = "it transposes the last two dimensions"
    IS_WHOLE = "it states all sizes"
    READERS_ARE_WHOLE = "what reads its output states all sizes, or is folded into what does"
    READS_CONSTANT = "one of its inputs is constant"
    READS_TWICE = "its two inputs are one value"
    IS_INSIDE = "its input or its output is not of the graph"
    MAKES_DYNAMIC = "its output is quantized at run time"
    READS_INT8 = "its input is quantized"
    IS_OLD = "the events of arithmetic state data types, as until September 2024"
    IS_BF16 = "it computes in bfloat16"
    ENDS_LOOKUP = "it ends a chain of elementwise nodes between values of 8 bits"
    IN_LOOKUP = "it is in such a chain before its end"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What XNNPACK may log for some nodes instead of one event of their type.

    types: of the nodes; empty for all. where: what must hold too. after: the types of the node that
    makes the first input. before: the types of all nodes that read its output, at the input with
    the number `at` (-1: at any). runs: what is logged: () for nothing, `OWN` for the own event.
    source: where XNNPACK or ExecuTorch do it.
    """

    does: str
    types: frozenset[str]
    source: str
    where: tuple[Where, ...] = ()
    after: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()
    at: int = -1
    runs: tuple[tuple[str, ...], ...] = ((),)


_COMMON = "src/subgraph.c, xnn_subgraph_optimize_common_subgraphs: "
_FUSION = "src/subgraph.c, xnn_subgraph_fusion"

REWRITES = (
    Rewrite(
        "an output range of arithmetic is a clamp of its own after it",
        _ARITHMETIC | _MEANS,
        "src/subgraph/binary.c, xnn_define_binary; src/subgraph/deprecated.c, "
        "xnn_define_global_average_pooling_2d: xnn_insert_clamp_node",
        (Where.IS_BOUNDED,),
        runs=((OWN, CLAMP),),
    ),
    Rewrite(
        "a clamp is folded into the operator before it",
        frozenset({"clamp", "minimum", "maximum"}),
        f"{_COMMON}merge_clamps; until 2025 xnn_subgraph_fusion",
        (Where.IS_ALONE_AFTER,),
        after=_CLAMPING | {"minimum", "maximum"},
    ),
    Rewrite(
        "a clamp is folded into the clamp for an output range before it",
        frozenset({"clamp", "minimum", "maximum"}),
        f"{_COMMON}merge_clamps",
        (Where.IS_ALONE_AFTER, Where.IS_AFTER_BOUNDED),
        after=_ARITHMETIC | _MEANS,
    ),
    Rewrite(
        "a clamp is folded into the arithmetic before it",
        frozenset({"clamp"}),
        f"{_FUSION} until September 2024, when operators of arithmetic lost their own range",
        (Where.IS_ALONE_AFTER, Where.IS_OLD),
        after=_ARITHMETIC,
    ),
    Rewrite(
        "a clamp without limits is dropped or copies",
        frozenset({"clamp"}),
        f"{_COMMON}spurious_clamps",
        (Where.IS_UNBOUNDED,),
        runs=((), (_COPY,)),
    ),
    Rewrite(
        "a minimum or maximum with one constant is a clamp",
        frozenset({"minimum", "maximum"}),
        f"{_COMMON}min_max_to_clamp",
        (Where.READS_CONSTANT,),
        runs=((CLAMP,),),
    ),
    Rewrite(
        "a pad is folded into the convolution after it",
        frozenset({"staticconstantpad"}),
        _FUSION,
        (Where.HAS_ONE_READER,),
        before=_CONVOLUTIONS,
    ),
    Rewrite(
        "a transpose of the last two dimensions is folded into the product that reads it second",
        frozenset({"statictranspose"}),
        f"{_COMMON}gemm_rhs_transpose",
        (Where.HAS_ONE_READER, Where.SWAPS_MATRIX),
        before=_MATRIX,
        at=1,
    ),
    Rewrite(
        "a dynamic quantization is folded into the products that read it",
        frozenset({"convert"}),
        "src/subgraph.c, xnn_subgraph_optimize_packed_lhs; a 1 × 1 convolution is a product",
        (Where.MAKES_DYNAMIC,),
        before=_MATRIX | {"conv2d"},
        at=0,
    ),
    Rewrite(
        "a dequantization is folded into the product that reads it",
        frozenset({"convert"}),
        "src/subgraph.c, xnn_subgraph_rewrite_dequant_bmm",
        (Where.READS_INT8,),
        before=frozenset({"batchmatrixmultiply"}),
    ),
    Rewrite(
        "a copy is folded into the node before or after it",
        frozenset({"copy"}),
        _FUSION,
        (Where.IS_INSIDE,),
    ),
    Rewrite(
        "a product of a value with itself is a square",
        frozenset({"multiply"}),
        f"{_COMMON}mul_to_sqr",
        (Where.READS_TWICE,),
        runs=((SQUARE,),),
    ),
    Rewrite(
        "a square is folded into the mean after it",
        frozenset({"square"}),
        f"{_COMMON}reduce_sum_to_square",
        (Where.HAS_ONE_READER,),
        before=_MEANS,
    ),
    Rewrite(
        "a product of a value with itself is folded into the mean after it",
        frozenset({"multiply"}),
        f"{_COMMON}reduce_sum_to_square",
        (Where.HAS_ONE_READER, Where.READS_TWICE),
        before=_MEANS,
    ),
    Rewrite(
        "a mean of squares is one operator",
        _MEANS,
        f"{_COMMON}reduce_sum_to_square",
        (Where.IS_ALONE_AFTER,),
        after=frozenset({"square", "multiply"}),
        runs=((MEAN_SQUARED,), (MEAN_SQUARED, CLAMP)),
    ),
    Rewrite(
        "a reshape is folded into the reshape after it",
        frozenset({"staticreshape"}),
        f"{_COMMON}merge_reshapes",
        (Where.HAS_ONE_READER, Where.READERS_ARE_WHOLE),
        before=frozenset({"staticreshape"}),
    ),
    Rewrite(
        "a reshape of a constant is done before",
        frozenset({"staticreshape"}),
        f"{_COMMON}static_reshapes",
        (Where.READS_CONSTANT, Where.IS_WHOLE),
    ),
    Rewrite(
        "a reshape to the shape that a value has is dropped",
        frozenset({"staticreshape"}),
        f"{_COMMON}static_reshapes",
        (Where.IS_WHOLE,),
        after=_UNARY | _BINARY,
    ),
    Rewrite(
        "a reshape to the shape that another reshape gave a value is dropped",
        frozenset({"staticreshape"}),
        f"{_COMMON}static_reshapes; read by it alone, merge_reshapes comes first",
        (Where.SHARES_INPUT, Where.IS_WHOLE),
        after=frozenset({"staticreshape"}),
    ),
    Rewrite(
        "what nothing reads is dropped",
        frozenset(),
        "src/subgraph.c, xnn_subgraph_clean_up",
        (Where.IS_UNUSED,),
    ),
    Rewrite(
        "a chain of elementwise operators between values of 8 bits is one lookup table: its end",
        _UNARY | _BINARY,
        "src/subgraph.c, xnn_subgraph_fuse_unary_quantized_into_lut",
        (Where.ENDS_LOOKUP,),
        runs=((LOOKUP,),),
    ),
    Rewrite(
        "a chain of elementwise operators between values of 8 bits is one lookup table: the others",
        _UNARY | _BINARY,
        "src/subgraph.c, xnn_subgraph_fuse_unary_quantized_into_lut",
        (Where.IN_LOOKUP,),
    ),
    Rewrite(
        "a product in bfloat16 is converted after it",
        frozenset({"fullyconnected"}),
        "backends/xnnpack/runtime/XNNCompiler.cpp, defineFullyConnectedNode",
        (Where.IS_BF16,),
        runs=((OWN, _CONVERT),),
    ),
)  # fmt: skip

# XNNPACK packs the left side of a product before it, as a node of its own
# (xnn_subgraph_optimize_packed_lhs). It converts values of a graph in half precision where a
# processor has no such operator (src/subgraph/rewrites/cvt_to_fp32.cc).
_HALF = (DataType.F16, DataType.BF16)
_LOGGED = frozenset(name for rewrite in REWRITES for run in rewrite.runs for name in run)
_KNOWN = _UNARY | _BINARY | frozenset({"softmax", "copy"}).union(*TYPES.values())
# Events that XNNPACK logs for nodes of other types -> these types.
REPLACED_TYPES: dict[str, frozenset[str]] = {
    symbol: frozenset().union(
        *(rewrite.types for rewrite in REWRITES if any(symbol in run for run in rewrite.runs))
    )
    for symbol in (CLAMP, SQUARE, MEAN_SQUARED, LOOKUP)
}
_EIGHT_BITS = (DataType.QINT8, DataType.QUINT8)
_LONGEST_LOOKUP = 10  # XNN_MAX_UNARY_FUSION_NODES
_LONGEST_ROW = 64  # of unused nodes, and of reshapes: export removes most of them

# Word in the parentheses of an event -> the data types of which the node that logs it must have one
# of its values. Half precision is computed in single precision where a processor has no other.
_SINGLE = frozenset({DataType.F32, DataType.PF32, DataType.F16, DataType.BF16})
_HALVES = frozenset({DataType.F16, DataType.F32})
_BRAIN = frozenset({DataType.BF16})
_DYNAMIC = frozenset({DataType.QDINT8, DataType.QPINT8})
_INT8 = frozenset({DataType.QINT8})
_SIGNED = frozenset({DataType.QINT8, DataType.QCINT8})
_UNSIGNED = frozenset({DataType.QUINT8})
DTYPES: dict[str, frozenset[DataType]] = {
    **dict.fromkeys(("F32", "PF32"), _SINGLE),
    **dict.fromkeys(("F16", "PF16"), _HALVES),
    **dict.fromkeys(("BF16", "BF16_F32"), _BRAIN),
    **dict.fromkeys(("QS8", "PQS8", "S8"), _INT8),
    **dict.fromkeys(("QC8", "QC8W"), _SIGNED),
    **dict.fromkeys(("QU8", "U8"), _UNSIGNED),
    **dict.fromkeys(("QD8", "QDU8", "QP8"), _DYNAMIC),
    "QC4W": frozenset({DataType.QCINT4}),
    "QB4W": frozenset({DataType.QBINT4}),
    "X8": _SIGNED | _UNSIGNED | _DYNAMIC,
    "X16": frozenset(_HALF),
    "X32": _SINGLE | {DataType.QINT32, DataType.QCINT32, DataType.INT32},
}


_FLOATS = ("F32", "PF32", "F16", "PF16", "BF16", "BF16_F32")
# Among the data types of a node: its first input is not quantized.
_READS_FLOAT = len(DataType)
_QUANTIZED = (DataType.QINT8, DataType.QUINT8, DataType.QDINT8, DataType.QPINT8)
_BITS = {word: sum(1 << dtype for dtype in dtypes) for word, dtypes in DTYPES.items()}


def types_of(operator: str) -> frozenset[str]:
    """Return the types of nodes that log an operator of their own, given in lower case."""
    return TYPES.get(operator) or frozenset({operator.replace(" ", "").replace("-", "")})


def is_known(operator: str) -> bool:
    """Return whether any node or rewrite is known to log an operator, given in lower case."""
    return operator in TYPES or operator in _LOGGED or not _KNOWN.isdisjoint(types_of(operator))


def is_inserted(operator: str, converts: bool) -> bool:
    """Return whether XNNPACK may log an operator, given in lower case, without any node.

    converts: whether it may have inserted conversions.
    """
    return operator == _PACK or (converts and operator == _CONVERT)


def dtypes_of(words: Sequence[str]) -> tuple[int, ...]:
    """Return the data types that the words of an event require, each as bits of numbers.

    The first of them is that of the first input: "QD8, F32, QC8W" is quantized, "F32" is not.
    """
    dtypes = [word for word in words if word in _BITS]
    required = {_BITS[word] for word in dtypes}
    if dtypes and dtypes[0] in _FLOATS:
        required.add(1 << _READS_FLOAT)
    return tuple(sorted(required))


# Without what connects the nodes, these are not assumed.
_UNKNOWABLE = frozenset({Where.IS_UNUSED, Where.ENDS_LOOKUP, Where.IN_LOOKUP, Where.IS_OLD})


@dataclass(frozen=True, slots=True)
class Loggers:
    """What each node of a graph may log.

    runs: the distinct things that a node may log: its type, the data types of its values as bits
    of numbers (0 if unknown), and runs of events. which: per node, index into `runs`. lookup: the
    end of a chain that may be one lookup table -> its nodes that compute. converts: whether XNNPACK
    may have inserted conversions.
    """

    runs: list[tuple[str, int, tuple[tuple[str, ...], ...]]]
    which: list[int]
    lookup: dict[int, tuple[int, ...]] = field(default_factory=dict)
    converts: bool = False


def is_old(operator: str, words: Sequence[str]) -> bool:
    """Return whether only a release until September 2024 logs an event of arithmetic like this.

    operator: in lower case. words: those in its parentheses.
    """
    return not _ARITHMETIC.isdisjoint(types_of(operator)) and not _BITS.keys().isdisjoint(words)


def loggers(
    nodes: Sequence[XnnpackNode], flow: XnnpackDataflow | None, *, old: bool = False
) -> Loggers:
    """Return what each node may log.

    flow: what connects the nodes. Without it, whatever it would decide is possible. old: whether
    any of the events is of an old release.
    """
    names = sorted({short_type(node.type) for node in nodes})
    number = {name: i for i, name in enumerate(names)}
    kind = np.array([number[short_type(node.type)] for node in nodes], np.int64)
    graph = None if flow is None or not len(flow.node) else _Graph(names, kind, flow, old)
    matched = np.zeros(len(nodes), np.int64)
    for bit, rewrite in enumerate(REWRITES):
        if rewrite.types and rewrite.types.isdisjoint(names):
            continue
        mask = np.isin(kind, [number[name] for name in rewrite.types & set(names)])
        mask = mask if rewrite.types else np.ones(len(nodes), np.bool_)
        if graph is not None:
            mask &= graph.matches(rewrite)
        elif not rewrite.types or not _UNKNOWABLE.isdisjoint(rewrite.where):
            continue
        matched |= mask.astype(np.int64) << bit
    dtypes = np.zeros(len(nodes), np.int64) if graph is None else graph.dtypes
    rows, which = np.unique(np.stack((kind, dtypes, matched), axis=1), axis=0, return_inverse=True)
    runs = [(names[row[0]], row[1], _runs(names[row[0]], row[2])) for row in rows.tolist()]
    return Loggers(
        runs,
        which.reshape(-1).tolist(),
        {} if graph is None else graph.lookup,
        graph is not None and graph.has_half,
    )


def _runs(name: str, matched: int) -> tuple[tuple[str, ...], ...]:
    """Return the runs of events that a node of a type may log, after some of the rewrites."""
    runs: dict[tuple[str, ...], None] = {(OWN,): None}
    for bit, rewrite in enumerate(REWRITES):
        if matched >> bit & 1:
            runs.update(dict.fromkeys(rewrite.runs))
    return tuple(runs)


class _Graph:
    """What the rewrites ask of a graph, as columns by node."""

    def __init__(self, names: Sequence[str], kind: Ints, flow: XnnpackDataflow, old: bool) -> None:
        self._names = names
        self._kind = kind
        self._flow = flow
        self._old = old
        count, values = len(kind), len(flow.dtype)
        copies = self._is_of(frozenset({_COPY}))
        reads = flow.position != OUTPUT
        self._output = np.full(count, -1)
        self._output[flow.node[~reads][::-1]] = flow.value[~reads][::-1]
        first = flow.position == 0
        self._input = np.full(count, -1)
        self._input[flow.node[first]] = flow.value[first]
        self._inside = self._of(self._input, ~flow.is_input) | self._of(
            self._output, ~flow.is_output
        )
        # Copies are folded first: what reads one reads what it copies.
        source = np.arange(values)
        for node in np.flatnonzero(copies & (self._input >= 0) & (self._output >= 0)).tolist():
            source[self._output[node]] = source[self._input[node]]
        self._is_result = flow.is_output.copy()
        self._is_result[source[flow.is_output]] = True
        writer, written = flow.node[~reads], flow.value[~reads]
        self._producer = np.full(values, -1)
        self._producer[written[::-1]] = writer[::-1]
        reads &= ~copies[flow.node]
        self._reader, self._position = flow.node[reads], flow.position[reads]
        self._read = source[flow.value[reads]]
        self._input[self._input >= 0] = source[self._input[self._input >= 0]]
        # A node that reads a value twice is one reader.
        pairs = np.unique(self._read * count + self._reader) if count else self._read
        self._readers = np.bincount(pairs // max(count, 1), minlength=values)
        self.dtypes = self._data_types()
        self.has_half = bool(np.isin(flow.dtype, _HALF).any())
        self.lookup: dict[int, tuple[int, ...]] = {}
        self._in_lookup = np.zeros(count, np.bool_)
        self._find_lookups()

    def matches(self, rewrite: Rewrite) -> Bools:
        """Return which nodes a rewrite matches, whatever their types."""
        is_match = np.ones(len(self._kind), np.bool_)
        if rewrite.before:
            is_match &= self._all_readers(rewrite.before, rewrite.at)
        if rewrite.after:
            # The nodes whose first input a node of some types makes.
            is_match &= self._of(self._made_by(), self._is_of(rewrite.after))
        for condition in rewrite.where:
            is_match &= self._holds(condition)
        return is_match

    def _holds(self, condition: Where) -> Bools:
        flow = self._flow
        match condition:
            case Where.IS_BOUNDED:
                return flow.is_bounded
            case Where.IS_UNBOUNDED:
                return ~flow.is_bounded
            case Where.IS_UNUSED:
                return self._is_unused()
            case Where.HAS_ONE_READER:
                return self._of(self._output, (self._readers == 1) & ~self._is_result)
            case Where.IS_ALONE_AFTER:
                return self._of(self._input, (self._readers == 1) & ~self._is_result)
            case Where.IS_AFTER_BOUNDED:
                return self._of(self._made_by(), flow.is_bounded)
            case Where.SHARES_INPUT:
                return self._of(self._input, (self._readers > 1) | self._is_result)
            case Where.SWAPS_MATRIX:
                return flow.swaps_matrix
            case Where.IS_WHOLE:
                return flow.is_whole
            case Where.READERS_ARE_WHOLE:
                return self._readers_are_whole()
            case Where.READS_CONSTANT:
                return self._any_input(flow.is_constant)
            case Where.READS_TWICE:
                twice: Bools = np.bincount(self._reader, minlength=len(self._kind)) == 2
                second = np.full(len(self._kind), -1)
                is_second = self._position == 1
                second[self._reader[is_second]] = self._read[is_second]
                twice &= second == self._input
                return twice
            case Where.IS_INSIDE:
                return self._inside
            case Where.MAKES_DYNAMIC:
                return self._of(
                    self._output, np.isin(flow.dtype, (DataType.QDINT8, DataType.QPINT8))
                )
            case Where.READS_INT8:
                return self._of(self._input, np.isin(flow.dtype, _EIGHT_BITS))
            case Where.IS_OLD:
                return np.full(len(self._kind), self._old)
            case Where.IS_BF16:
                return (self.dtypes >> DataType.BF16 & 1) > 0
            case Where.ENDS_LOOKUP:
                mask = flags_at(len(self._kind), list(self.lookup))
                return mask
            case Where.IN_LOOKUP:
                return self._in_lookup

    def _of(self, of_node: Ints, holds: Bools) -> Bools:
        """Return for which nodes something holds of one of their values or neighbors, if any."""
        mask: Bools = np.append(holds, False)[of_node]
        return mask

    def _any_input(self, holds: Bools) -> Bools:
        """Return for which nodes something holds of any of their inputs."""
        mask: Bools = np.bincount(self._reader, holds[self._read], len(self._kind)) > 0
        return mask

    def _is_of(self, types: frozenset[str]) -> Bools:
        return np.isin(self._kind, [i for i, name in enumerate(self._names) if name in types])

    def _all_readers(self, types: frozenset[str], place: int) -> Bools:
        """Return the nodes whose output only nodes of some types read, at one of their inputs."""
        return self._only_readers(self._is_of(types), place)

    def _only_readers(self, fitting: Bools, place: int = -1) -> Bools:
        """Return the nodes whose output is read, and only by some nodes, at one of their inputs."""
        fits = fitting[self._reader]
        if place >= 0:
            fits &= self._position == place
        values = len(self._flow.dtype)
        all_fit: Bools = np.bincount(self._read, ~fits, values) == 0
        return self._of(self._output, all_fit & (self._readers > 0) & ~self._is_result)

    def _readers_are_whole(self) -> Bools:
        """Return the nodes that only reshapes read which state all sizes or are folded too."""
        reshape = frozenset({"staticreshape"})
        may_be = self._is_of(reshape) & self._all_readers(reshape, -1)
        may_be &= self._holds(Where.HAS_ONE_READER)
        whole, mask = self._flow.is_whole, np.zeros(len(self._kind), np.bool_)
        for _ in range(_LONGEST_ROW):
            more = may_be & self._only_readers(whole | mask)
            if (more == mask).all():
                break
            mask = more
        return mask

    def _made_by(self) -> Ints:
        """Return the node that makes the first input of each node, -1 if none does."""
        producer: Ints = np.append(self._producer, -1)[self._input]
        return producer

    def _is_unused(self) -> Bools:
        """Return the nodes that lead to no output of the graph."""
        if not self._is_result.any():
            return np.zeros(len(self._kind), np.bool_)
        mask = self._of(self._output, (self._readers == 0) & ~self._is_result)
        for _ in range(_LONGEST_ROW):
            # Those whose every reader is unused are unused too.
            live = np.bincount(self._read, ~mask[self._reader], len(self._flow.dtype))
            more = self._of(self._output, (live == 0) & ~self._is_result)
            if (more == mask).all():
                break
            mask = more
        return mask

    def _data_types(self) -> Ints:
        """Return the data types of the values of each node, as bits of numbers.

        What a conversion reads counts for the nodes that read its result: they may be one.
        """
        flow, count = self._flow, len(self._kind)
        dtypes = np.where(flow.dtype < len(DataType), flow.dtype, DataType.UNKNOWN)
        of_value = np.int64(1) << dtypes.astype(np.int64)
        bits = np.zeros(count, np.int64)
        np.bitwise_or.at(bits, flow.node, of_value[flow.value])
        producer = self._producer[self._read]
        is_converted = (producer >= 0) & self._is_of(frozenset({_CONVERT}))[producer]
        source = self._input[producer[is_converted]]
        has = source >= 0
        np.bitwise_or.at(bits, self._reader[is_converted][has], of_value[source[has]])
        is_float = ~self._of(self._input, np.isin(flow.dtype, _QUANTIZED))
        bits |= is_float.astype(np.int64) << _READS_FLOAT
        bits[(bits & 1) > 0] = 0  # one of them is unknown
        return bits

    def _find_lookups(self) -> None:
        """Find the chains of elementwise nodes between values of 8 bits, as XNNPACK does."""
        flow = self._flow
        eight = np.isin(flow.dtype, _EIGHT_BITS)
        has_constant = self._any_input(flow.is_constant)
        unary = self._is_of(_UNARY) & ~self._holds(Where.MAKES_DYNAMIC)
        alone = unary | (self._is_of(_BINARY) & has_constant)
        starts = alone & self._any_input(eight & ~flow.is_constant)
        if not starts.any():
            return
        elementwise = (alone | self._is_of(_BINARY)).tolist()
        needs_all = (self._is_of(_BINARY) & ~has_constant).tolist()
        is_eight = self._of(self._output, eight).tolist()
        converts = self._is_of(frozenset({_CONVERT})).tolist()
        after = [
            node if node > number and elementwise[node] else -1
            for number, node in enumerate(self._only_reader())
        ]
        # Whether an output range before a chain is a clamp that belongs to it differs by release.
        for is_split in (False, True):
            used = set[int]()
            for start in np.flatnonzero(starts).tolist():
                if start not in used:
                    room = _LONGEST_LOOKUP - (is_split and self._is_clamped(start, eight))
                    chain = self._chain(start, room, after, needs_all)
                    while chain and not is_eight[chain[-1]]:
                        chain.pop()
                    if chain and len(chain) > room - _LONGEST_LOOKUP + 1:
                        used.update(chain)
                        self._add_lookup(chain, converts)

    def _chain(
        self, start: int, room: int, after: Sequence[int], needs_all: Sequence[bool]
    ) -> list[int]:
        """Return a node and those that follow it as long as they depend on its input alone."""
        chain, values = [start], {*self._inputs(start), int(self._output[start])}
        while len(chain) < room:
            node = after[chain[-1]]
            if node < 0 or (needs_all[node] and not values.issuperset(self._inputs(node))):
                break
            chain.append(node)
            values.add(int(self._output[node]))
        return chain

    def _add_lookup(self, chain: Sequence[int], converts: Sequence[bool]) -> None:
        """Add a chain that may be a lookup table; of two with one end, what both compute."""
        end = chain[-1]
        computing = tuple(node for node in chain if not converts[node]) or (end,)
        nodes = self.lookup.get(end, computing)
        self.lookup[end] = tuple(node for node in computing if node in nodes) or (end,)
        self._in_lookup[list(chain[:-1])] = True

    def _is_clamped(self, node: int, eight: Bools) -> bool:
        """Return whether a node reads what a clamp for an output range may make."""
        read = int(self._input[node])
        maker = int(self._producer[read]) if read >= 0 else -1
        return bool(
            maker >= 0
            and eight[read]
            and self._flow.is_bounded[maker]
            and self._names[self._kind[maker]] in _ARITHMETIC
            and self._readers[read] == 1
            and not self._is_result[read]
        )

    def _inputs(self, node: int) -> list[int]:
        first, last = np.searchsorted(self._reader, (node, node + 1))
        return list(self._read[first:last].tolist())

    def _only_reader(self) -> list[int]:
        """Return per node the one node that reads its output, or -1."""
        reader = numbers_at(len(self._flow.dtype), self._read, self._reader, -1)
        alone = (self._readers == 1) & ~self._is_result
        readers: NDArray[np.int64] = np.append(np.where(alone, reader, -1), -1)[self._output]
        return list(readers.tolist())
