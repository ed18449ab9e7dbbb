"""Random XNNPACK graphs, and what XNNPACK logs for them: a small copy of its rewrites.

Written from XNNPACK's sources (src/subgraph.c of March 2026), independently of the table that the
viewer has. It rewrites a list of operators step by step, as XNNPACK does, and each operator knows
the nodes of the program file that it runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.builders.xnnpack_graphs import Described
from viewer.program.executables import DataType

F32, INT8, DYNAMIC, WEIGHT8 = DataType.F32, DataType.QINT8, DataType.QDINT8, DataType.QCINT8

# Type of a node -> name in an event of a float node and, where it differs, of a quantized one.
NAMES = {
    "Add": ("Add (ND)",), "Subtract": ("Subtract (ND)",), "Multiply": ("Multiply (ND)",),
    "Div": ("Divide (ND)",), "Minimum": ("Minimum (ND)",), "Maximum": ("Maximum (ND)",),
    "PReLU": ("PReLU (ND)",),
    "Sigmoid": ("Sigmoid (NC)",), "Tanh": ("TanH (NC)",), "Gelu": ("GELU (NC)",),
    "Exp": ("Exp (NC)",), "Sin": ("Sine (NC)",), "Cos": ("Cosine (NC)",),
    "Square": ("Square (NC)",), "Abs": ("Abs (NC)",), "Clamp": ("Clamp (NC)",),
    "Convert": ("Convert (NC)",),
    "Hardswish": ("HardSwish (NC)",), "LeakyReLU": ("LeakyReLU (NC)",),
    "Conv2d": ("Convolution (NHWC, F32) IGEMM", "Convolution (NHWC, QC8) IGEMM"),
    "DepthwiseConv2d": ("Convolution (NHWC, F32) DWConv", "Convolution (NHWC, QC8) DWConv"),
    "ConvTranspose2d": ("Deconvolution (NHWC, F32)",),
    "FullyConnected": ("Fully Connected (NC, F32) GEMM", "Fully Connected (NC, QS8, QC8W) GEMM"),
    "BatchMatrixMultiply": ("Batch Matrix Multiply (NC, F32) GEMM",),
    "Softmax": ("Softmax (NC, F32)",), "GlobalAvgPooling2d": ("Mean (ND)",),
    "AvgPooling2d": ("Average Pooling (NHWC, F32)",),
    "MaxPooling2d": ("Max Pooling (NHWC, F32)", "Max Pooling (NHWC, S8)"),
    "StaticTranspose": ("Transpose (ND, X32)", "Transpose (ND, X8)"),
    "StaticReshape": ("Static Reshape (NC)",), "StaticSlice": ("Slice (ND, X32)", "Slice (ND, X8)"),
    "StaticConstantPad": ("Constant Pad (ND, X32)", "Constant Pad (ND, X8)"),
    "StaticResizeBilinear2D": ("Resize Bilinear (NHWC)",),
    "Concatenate2": ("Copy (NC, X32)", "Copy (NC, X8)"),
    "Concatenate3": ("Copy (NC, X32)", "Copy (NC, X8)"),
    "Copy": ("Copy (NC, X32)", "Copy (NC, X8)"),
}  # fmt: skip
_ARITHMETIC = ("Add", "Subtract", "Multiply", "Div")
_CLAMPING = ("Conv2d", "DepthwiseConv2d", "ConvTranspose2d", "FullyConnected", "AvgPooling2d",
             "MaxPooling2d", "Clamp")  # fmt: skip
_UNARY = ("Sigmoid", "Tanh", "Gelu", "Exp", "Sin", "Cos", "Square", "Abs", "Clamp", "Convert",
          "Hardswish", "LeakyReLU")  # fmt: skip


_DYNAMIC_IGEMM = "Convolution (NHWC"


@dataclass(frozen=True)
class Logged:
    """An event, and the nodes that it runs; none if no node does."""

    event: str
    nodes: frozenset[int]


@dataclass
class _Operator:
    type: str
    reads: list[int]
    writes: int
    nodes: frozenset[int]
    swaps: bool = False
    whole: bool = False
    name: str = ""
    is_range: bool = False


@dataclass
class Graph:
    """A graph under construction: its nodes, and the data types of its values."""

    described: list[Described] = field(default_factory=list)
    dtypes: dict[int, DataType] = field(default_factory=dict)
    constants: set[int] = field(default_factory=set)
    outputs: set[int] = field(default_factory=set)

    def value(self, dtype: DataType) -> int:
        """A new value."""
        self.dtypes[len(self.dtypes)] = dtype
        return len(self.dtypes) - 1

    def constant(self, dtype: DataType = F32) -> int:
        """A new value whose data is in the file."""
        value = self.value(dtype)
        self.constants.add(value)
        return value

    def node(self, kind: str, reads: list[int], dtype: DataType, **facts: object) -> int:
        """Add a node; its output."""
        out = self.value(dtype)
        own = [value for value in reads if value in self.constants]
        self.described.append(
            Described(
                f"XNN{kind}",
                [(value, self.dtypes[value]) for value in reads],
                [(out, dtype)],
                {**facts, "constants": own},
            )
        )
        return out


def random_graph(random: Random, blocks: int) -> Graph:
    """A graph of blocks as models have them, with their rewrites."""
    graph = Graph()
    value = graph.value(F32)
    for _ in range(blocks):
        value = random.choice(_BLOCKS)(graph, random, value)
    graph.outputs.add(value)
    graph.described[-1].facts["outputs"] = [value]
    return graph


def _float(graph: Graph, value: int) -> int:
    return value if graph.dtypes[value] == F32 else graph.node("Convert", [value], F32)


def _quantized(graph: Graph, value: int) -> int:
    return value if graph.dtypes[value] == INT8 else graph.node("Convert", [value], INT8)


def _convolution(graph: Graph, random: Random, value: int) -> int:
    dtype = graph.dtypes[value]
    if random.random() < 0.2:
        value = graph.node("StaticConstantPad", [value], dtype)
    weight = WEIGHT8 if dtype == INT8 else F32
    kind = random.choice(["Conv2d", "DepthwiseConv2d", "Conv2d"])
    value = graph.node(kind, [value, graph.constant(weight), graph.constant()], dtype)
    if random.random() < 0.3:
        value = graph.node("Clamp", [value], dtype, bounded=True)
    return value


def _residual(graph: Graph, random: Random, value: int) -> int:
    branch = _convolution(graph, random, value)
    branch = _convolution(graph, random, branch)
    kind = random.choice(_ARITHMETIC)
    return graph.node(kind, [branch, value], graph.dtypes[value], bounded=random.random() < 0.7)


def _linear(graph: Graph, random: Random, value: int) -> int:
    value = _float(graph, value)
    if random.random() < 0.5:
        value = graph.node("Convert", [value], DYNAMIC)
        for _ in range(random.choice([1, 1, 3])):
            last = graph.node("FullyConnected", [value, graph.constant(WEIGHT8)], F32)
            graph.outputs.add(last)
        graph.outputs.discard(last)
        return last
    return graph.node("FullyConnected", [value, graph.constant(), graph.constant()], F32)


def _pointwise(graph: Graph, random: Random, value: int) -> int:
    """A convolution, in part 1 × 1, which XNNPACK runs as a product, or quantized as it runs."""
    pointwise = random.random() < 0.5
    value = _float(graph, value)
    weight = F32
    if random.random() < 0.7:
        value, weight = graph.node("Convert", [value], DYNAMIC), WEIGHT8
    reads = [value, graph.constant(weight), graph.constant()]
    return graph.node("Conv2d", reads, F32, pointwise=pointwise, bounded=random.random() < 0.5)


def _attention(graph: Graph, random: Random, value: int) -> int:
    value = _float(graph, value)
    heads = []
    for _ in range(3):
        head = graph.node("FullyConnected", [value, graph.constant()], F32)
        head = graph.node("StaticReshape", [head], F32)
        heads.append(graph.node("StaticTranspose", [head], F32))
    key = graph.node("StaticTranspose", [heads[1]], F32, swaps=True)
    score = graph.node("BatchMatrixMultiply", [heads[0], key], F32)
    if random.random() < 0.5:
        score = graph.node("Multiply", [score, graph.constant()], F32)
    out = graph.node("BatchMatrixMultiply", [graph.node("Softmax", [score], F32), heads[2]], F32)
    out = graph.node("StaticTranspose", [out], F32)
    return graph.node("StaticReshape", [out], F32)


def _elementwise(graph: Graph, random: Random, value: int) -> int:
    value = _float(graph, value)
    for _ in range(random.randrange(1, 4)):
        kind = random.choice([*_UNARY[:6], "Square", "Abs", "LeakyReLU", *_ARITHMETIC, "Maximum"])
        reads = [value] if kind in _UNARY else [value, random.choice([value, graph.constant()])]
        value = graph.node(kind, reads, F32)
    return value


def _hardswish(graph: Graph, random: Random, value: int) -> int:
    value = _float(graph, value)
    gate = graph.node("Add", [value, graph.constant()], F32)
    gate = graph.node("Clamp", [gate], F32, bounded=True)
    gate = graph.node("Clamp", [gate], F32, bounded=True)
    gate = graph.node("Div", [gate, graph.constant()], F32)
    return graph.node("Multiply", [gate, value], F32)


def _lookup(graph: Graph, random: Random, value: int) -> int:
    value = graph.node("Convert", [_quantized(graph, value)], F32)
    for _ in range(random.randrange(1, 3)):
        value = graph.node(random.choice(_UNARY[:6]), [value], F32)
    return graph.node("Convert", [value], INT8)


def _quantize(graph: Graph, random: Random, value: int) -> int:
    return _convolution(graph, random, _quantized(graph, value))


def _norm(graph: Graph, random: Random, value: int) -> int:
    value = _float(graph, value)
    mean = graph.node("GlobalAvgPooling2d", [value], F32)
    apart = graph.node("Subtract", [value, mean], F32)
    square = graph.node("Multiply", [apart, apart], F32)
    if random.random() < 0.5:
        square = graph.node("GlobalAvgPooling2d", [square], F32)
    return graph.node("Multiply", [apart, square], F32)


def _shape(graph: Graph, random: Random, value: int) -> int:
    dtype = graph.dtypes[value]
    for _ in range(random.randrange(1, 4)):
        kind = random.choice(["StaticReshape", "StaticTranspose", "StaticSlice", "Copy"])
        value = graph.node(kind, [value], dtype, whole=random.random() < 0.7)
    return value


def _join(graph: Graph, random: Random, value: int) -> int:
    dtype = graph.dtypes[value]
    other = graph.node("MaxPooling2d", [value], dtype)
    if random.random() < 0.5:
        return graph.node("Concatenate2", [value, other], dtype)
    return graph.node("Concatenate3", [value, other, value], dtype)


_Block = Callable[[Graph, Random, int], int]
_BLOCKS: list[_Block] = [
    _convolution, _residual, _residual, _linear, _attention, _elementwise, _hardswish, _lookup,
    _quantize, _norm, _shape, _join, _pointwise,
]  # fmt: skip


def logged_by(graph: Graph, *, release: int = 2026) -> list[Logged]:
    """What XNNPACK of a release logs when it runs a graph."""
    return _numbered(_Rewriter(graph, release).run())


def _numbered(operators: list[_Operator]) -> list[Logged]:
    counts = Counter[str]()
    found = []
    for operator in operators:
        counts[operator.name] += 1
        found.append(Logged(f"{operator.name} #{counts[operator.name]}", operator.nodes))
    return found


class _Rewriter:
    def __init__(self, graph: Graph, release: int) -> None:
        self._dtypes = dict(graph.dtypes)
        self._constants = graph.constants
        self._outputs = graph.outputs | self._dangling(graph)
        self._release = release
        self._all: list[_Operator] = []
        for at, node in enumerate(graph.described):
            kind = node.type.removeprefix("XNN")
            kind = "FullyConnected" if node.facts.get("pointwise") else kind
            reads = [value for value, _ in node.reads]  # type: ignore[misc]
            ((out, dtype),) = node.writes  # type: ignore[misc]
            own = frozenset({at})
            swaps = bool(node.facts.get("swaps"))
            if kind in _ARITHMETIC and node.facts.get("bounded") and release >= 2025:
                before = self._value(dtype)
                self._all.append(_Operator(kind, reads, before, own))
                self._all.append(_Operator("Clamp", [before], out, own, is_range=True))
            else:
                whole = bool(node.facts.get("whole"))
                self._all.append(_Operator(kind, reads, out, own, swaps, whole))

    @staticmethod
    def _dangling(graph: Graph) -> set[int]:
        written = {value for node in graph.described for value, _ in node.writes}  # type: ignore[misc]
        read = {value for node in graph.described for value, _ in node.reads}  # type: ignore[misc]
        return written - read

    def _value(self, dtype: DataType) -> int:
        self._dtypes[len(self._dtypes)] = dtype
        return len(self._dtypes) - 1

    def run(self) -> list[_Operator]:
        self._fuse()
        self._make_tables()
        if self._release >= 2026:
            while self._simplify():
                pass
        else:
            while self._merge_clamps(_CLAMPING + (_ARITHMETIC if self._release < 2025 else ())):
                pass
        if self._release >= 2025:
            self._fold_quantization()
        for operator in self._all:
            operator.name = operator.name or self._name(operator)
        return self._all

    def _readers(self, value: int) -> list[_Operator]:
        return [operator for operator in self._all if value in operator.reads]

    def _maker(self, value: int) -> _Operator | None:
        return next((operator for operator in self._all if operator.writes == value), None)

    def _only_reader(self, value: int) -> _Operator | None:
        readers = self._readers(value)
        return readers[0] if len(readers) == 1 and value not in self._outputs else None

    def _remove(self, operator: _Operator) -> None:
        self._all = [other for other in self._all if other is not operator]

    def _fuse(self) -> None:
        for operator in list(self._all):
            reader = self._only_reader(operator.writes)
            if operator.type == "StaticConstantPad":
                if reader and reader.type in ("Conv2d", "DepthwiseConv2d"):
                    reader.reads[0] = operator.reads[0]
                    self._remove(operator)
            elif operator.type == "Copy":
                maker = self._maker(operator.reads[0])
                if maker and self._only_reader(operator.reads[0]) is operator:
                    maker.writes = operator.writes
                    self._remove(operator)
                elif reader:
                    reader.reads = [
                        operator.reads[0] if value == operator.writes else value
                        for value in reader.reads
                    ]
                    self._remove(operator)

    def _is_elementwise(self, operator: _Operator, made: set[int]) -> bool:
        if operator.type in _UNARY:
            return self._dtypes[operator.writes] != DYNAMIC
        if operator.type not in (*_ARITHMETIC, "Minimum", "Maximum", "PReLU"):
            return False
        has_constant = any(value in self._constants for value in operator.reads)
        return has_constant or (bool(made) and set(operator.reads) <= made)

    def _make_tables(self) -> None:
        for start in list(self._all):
            if start not in self._all or not self._is_elementwise(start, set()):
                continue
            if not any(
                self._dtypes[v] in (INT8, DataType.QUINT8) and v not in self._constants
                for v in start.reads
            ):
                continue
            chain, made = [start], {*start.reads, start.writes}
            while len(chain) < 10:
                after = self._only_reader(chain[-1].writes)
                if after is None or not self._is_elementwise(after, made):
                    break
                chain.append(after)
                made.add(after.writes)
            while len(chain) > 1 and self._dtypes[chain[-1].writes] != INT8:
                chain.pop()
            if len(chain) > 1:
                end = chain[-1]
                # A clamp for the range of arithmetic runs no node of its own.
                computing = [o for o in chain if o.type != "Convert" and not o.is_range] or [end]
                end.nodes = frozenset().union(*(o.nodes for o in computing))
                end.reads, end.name, end.type = start.reads, "Invalid Unary Op", "table"
                for operator in chain[:-1]:
                    self._remove(operator)

    def _merge_clamps(self, into: tuple[str, ...]) -> bool:
        for operator in self._all:
            maker = self._maker(operator.reads[0]) if operator.type == "Clamp" else None
            if maker and maker.type in into and self._only_reader(operator.reads[0]) is operator:
                maker.writes = operator.writes
                self._remove(operator)
                return True
        return False

    def _simplify(self) -> bool:
        for operator in self._all:
            first, *more = operator.reads
            maker = self._maker(first)
            alone = maker is not None and self._only_reader(first) is operator
            if operator.type == "Multiply" and more == [first]:
                operator.type, operator.reads = "Square", [first]
                return True
            if operator.type == "GlobalAvgPooling2d" and maker and alone and maker.type == "Square":
                operator.reads, operator.name = maker.reads, "Mean Squared (ND)"
                self._remove(maker)
                return True
            is_reshape = operator.type == "StaticReshape" and operator.whole
            if is_reshape and maker and alone and maker.type == operator.type:
                operator.reads = maker.reads
                self._remove(maker)
                return True
            second = self._folded_transpose(operator)
            if second:
                operator.reads[1] = second.reads[0]
                self._remove(second)
                return True
            if operator.type in ("Minimum", "Maximum"):
                moving = [value for value in operator.reads if value not in self._constants]
                if len(moving) == 1:
                    operator.type, operator.reads = "Clamp", moving
                    return True
        return self._merge_clamps(_CLAMPING)

    def _folded_transpose(self, operator: _Operator) -> _Operator | None:
        """The transpose that is folded into a product."""
        if operator.type not in ("FullyConnected", "BatchMatrixMultiply"):
            return None
        maker = self._maker(operator.reads[1])
        is_folded = (
            maker is not None
            and maker.type == "StaticTranspose"
            and maker.swaps
            and self._only_reader(operator.reads[1]) is operator
        )
        return maker if is_folded else None

    def _fold_quantization(self) -> None:
        for operator in list(self._all):
            if operator.type == "Convert" and self._dtypes[operator.writes] == DYNAMIC:
                readers = self._readers(operator.writes)
                if all(o.type in ("FullyConnected", "BatchMatrixMultiply") for o in readers):
                    for reader in readers:
                        reader.reads[0] = operator.reads[0]
                        reader.name = "Fully Connected (NC, QDU8, F32, QC8W) GEMM"
                    self._remove(operator)

    def _name(self, operator: _Operator) -> str:
        if operator.type == "Convert" and self._dtypes[operator.writes] == DYNAMIC:
            return "Convert (NC, F32, QD8)"
        if self._dtypes[operator.reads[0]] == DYNAMIC:
            name = "Fully Connected (NC" if operator.type == "FullyConnected" else _DYNAMIC_IGEMM
            return f"{name}, QD8, F32, QC8W) GEMM"
        if operator.type in _ARITHMETIC and self._release < 2025:
            dtype = "QS8" if self._dtypes[operator.reads[0]] == INT8 else "F32"
            return NAMES[operator.type][0].replace("ND", f"ND, {dtype}")
        names = NAMES[operator.type]
        return names[-1] if self._dtypes[operator.reads[0]] == INT8 else names[0]
