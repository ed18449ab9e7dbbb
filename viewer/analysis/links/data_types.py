"""Whether the data types that XNNPACK logged are those of an ETRecord.

A quantized model and the float model that it was made from have the same operators, so their names
alone do not tell them apart. XNNPACK logs data types: "Fully Connected (NC, QDU8, F32, QC8W) GEMM
#1" computed on integers, "Convolution (NHWC, F32) IGEMM #2" did not. The rule:

* Compared are the convolutions and linear layers of each delegate call, by the types that the
  ETRecord has around them. An event contradicts the ETRecord if the call has no
  operator left that computes in its types, but one that computes in others.
* Every other event on integers contradicts a method that quantizes nothing. Conversions count only
  next to other events: backends insert them.
* The match is multiplied by the share of compared events that do not contradict it. So if half of
  them do, the ETRecord is refused. If fewer do, the pair has a warning.

Operators whose types are not certain contradict nothing, nor do events without types.

In which types the convolutions and linear layers of a method compute: a quantized model has
quantize and dequantize nodes around each quantized operator. Backends turn such a group into one
operator on integers:

* static: input, weights and output are quantized with recorded scales;
* dynamic: the scales of the input are computed in each inference (`choose_qparams`), and the output
  is not quantized;
* weights: only the weights are quantized.

Without them, an operator computes in the type of its output. Everything else is unknown: what a
backend makes of a group that is quantized in part differs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from viewer.analysis.links.logged_identities import LoggedIdentities
from viewer.model.names.executorch import xnnpack_operator
from viewer.program.debug_handles import Identifier
from viewer.program.program import GraphNode, Method, base_name

# The position of the input among the tensors of a call; the others are weights and bias.
_INPUT = {
    "convolution": 0, "conv1d": 0, "conv2d": 0, "conv_transpose2d": 0, "linear": 0, "mm": 0,
    "addmm": 1,
}  # fmt: skip
# Backends may compute these as a convolution or linear layer, or in another way.
_POSSIBLE = frozenset(
    {"bmm", "matmul", "baddbmm", "native_batch_norm", "_native_batch_norm_legit_no_training"}
)
_VIEWS = frozenset(
    {
        "view_copy", "view", "reshape", "permute_copy", "permute", "transpose_copy", "t_copy",
        "squeeze_copy", "unsqueeze_copy", "expand_copy", "clone", "alias_copy", "slice_copy",
        "_clone_dim_order", "_to_dim_order_copy",
    }
)  # fmt: skip
_RANGES = frozenset({"relu", "relu_", "hardtanh", "hardtanh_", "clamp", "relu6"})


class Precision(Enum):
    """How an operator computes; the value names it in sentences."""

    F32 = "float32"
    F16 = "float16"
    BF16 = "bfloat16"
    STATIC = "8-bit integers (static quantization)"
    DYNAMIC = "8-bit integers (dynamic quantization)"
    WEIGHTS = "floating point, with quantized weights"
    UNKNOWN = "unknown types"


@dataclass(frozen=True, slots=True)
class PreciseNode:
    """A convolution or linear layer, and how it computes.

    handle: its debug handle. around: those of the quantize and dequantize nodes that say so.
    """

    handle: int
    precision: Precision
    around: frozenset[int] = frozenset()


def is_quantization(node: GraphNode) -> bool:
    """Return whether a node quantizes, dequantizes or computes scales, in any library."""
    name = base_name(node.op)
    return "quantize" in name or "qparams" in name


def precise_nodes(nodes: Sequence[GraphNode]) -> tuple[PreciseNode, ...]:
    """Return the convolutions and linear layers among all nodes of a method."""
    graph = _Graph(nodes)
    return tuple(graph.rated(node) for node in nodes if base_name(node.op) in _INPUT) + tuple(
        PreciseNode(node.debug_handle, Precision.UNKNOWN)
        for node in nodes
        if base_name(node.op) in _POSSIBLE
    )


class _Graph:
    def __init__(self, nodes: Sequence[GraphNode]) -> None:
        self._made_by = {tensor.name: node for node in nodes for tensor in node.outputs}
        self._used_by: dict[str, list[GraphNode]] = {}
        for node in nodes:
            for tensor in node.inputs:
                self._used_by.setdefault(tensor.name, []).append(node)

    def rated(self, node: GraphNode) -> PreciseNode:
        position = _INPUT[base_name(node.op)]
        if position >= len(node.inputs):
            return PreciseNode(node.debug_handle, Precision.UNKNOWN)
        source = self._behind(node.inputs[position].name)
        weights = [
            graph_node
            for i, tensor in enumerate(node.inputs)
            if i != position and (graph_node := self._behind(tensor.name)) is not None
        ]
        weight = next((graph_node for graph_node in weights if _is_dequantize(graph_node)), None)
        if source is None or not _is_dequantize(source):
            if weight is not None:
                around = frozenset({weight.debug_handle})
                return PreciseNode(node.debug_handle, Precision.WEIGHTS, around)
            return PreciseNode(node.debug_handle, _float_precision(node))
        if weight is None:
            return PreciseNode(node.debug_handle, Precision.UNKNOWN)
        around = frozenset({source.debug_handle, weight.debug_handle})
        # Whether the scales of a dequantize node are computed, not recorded.
        if any(
            "qparams" in base_name(graph_node.op)
            for tensor in source.inputs
            if (graph_node := self._made_by.get(tensor.name)) is not None
        ):
            return PreciseNode(node.debug_handle, Precision.DYNAMIC, around)
        outputs = list(self._quantized_to(node))
        if not outputs or None in outputs:
            return PreciseNode(node.debug_handle, Precision.UNKNOWN)
        around |= {graph_node.debug_handle for graph_node in outputs if graph_node is not None}
        return PreciseNode(node.debug_handle, Precision.STATIC, around)

    def _behind(self, tensor: str) -> GraphNode | None:
        """Return the node that made a tensor, through views; None for a value passed in."""
        seen: set[str] = set()
        while (node := self._made_by.get(tensor)) is not None and tensor not in seen:
            if base_name(node.op) not in _VIEWS or not node.inputs:
                return node
            seen.add(tensor)
            tensor = node.inputs[0].name
        return None

    def _quantized_to(self, node: GraphNode) -> Iterator[GraphNode | None]:
        """Yield the quantize node of each use of a node's output; None for any other use."""
        left = [node]
        seen: set[str] = set()
        while left:
            for tensor in left.pop().outputs:
                if tensor.name in seen:
                    continue
                seen.add(tensor.name)
                users = self._used_by.get(tensor.name, [])
                if not users:
                    yield None  # it is a result of the method
                for user in users:
                    name = base_name(user.op)
                    if name.startswith("quantize"):
                        yield user
                    elif name in _VIEWS or name in _RANGES:
                        left.append(user)
                    else:
                        yield None


def _is_dequantize(node: GraphNode) -> bool:
    return base_name(node.op).startswith("dequantize")


def _float_precision(node: GraphNode) -> Precision:
    types: Iterable[str] = {tensor.dtype for tensor in node.outputs}
    by_name = {"f32": Precision.F32, "f16": Precision.F16, "bf16": Precision.BF16}
    precisions = {by_name.get(each, Precision.UNKNOWN) for each in types}
    return precisions.pop() if len(precisions) == 1 else Precision.UNKNOWN


_LAYERS = frozenset({"convolution", "fully connected", "dynamic fully connected", "deconvolution"})
# After the layout: "(NHWC, QS8, QC8W)".
_TYPES = re.compile(r"\([A-Za-z0-9]*,([A-Za-z0-9, ]*)\)")
# "QC8" are integers with weights per channel; "QC8W", "QC4W" and "QB4W" only say how weights are.
_DYNAMIC, _STATIC = re.compile(r"QDU?\d|QP\d"), re.compile(r"Q[SU]\d+|QC\d+$")
_WEIGHTS = re.compile(r"Q[CB]\d+W")
_FLOATS = {"F32": Precision.F32, "F16": Precision.F16, "BF16": Precision.BF16}
# Weights that are quantized alone may be constants that export computes.
_UNKNOWN, _CERTAIN = Precision.UNKNOWN, frozenset(Precision) - {Precision.WEIGHTS}
_ON_INTEGERS = frozenset({Precision.STATIC, Precision.DYNAMIC, Precision.WEIGHTS})


@dataclass(frozen=True, slots=True)
class TypeContradictions:
    """How many events of some that were compared contradict an ETRecord.

    event: the first of them. logged, recorded: how it computed, and how the ETRecord has it.
    """

    count: int = 0
    compared: int = 0
    event: str = ""
    logged: str = ""
    recorded: str = ""

    @property
    def agreeing(self) -> float:
        """The share of the events that do not contradict the ETRecord."""
        return 1 - self.count / self.compared if self.compared else 1.0

    def plus(self, other: TypeContradictions) -> TypeContradictions:
        """Return the sum, with the first event of either."""
        first = self if self.count else other
        return TypeContradictions(
            self.count + other.count,
            self.compared + other.compared,
            first.event,
            first.logged,
            first.recorded,
        )


NO_CONTRADICTIONS = TypeContradictions()


def precision_of(event: str) -> Precision | None:
    """Return how an event of XNNPACK computed, None if it logs no types or computes nothing."""
    match = _TYPES.search(event)
    types = match[1].replace(",", " ").split() if match else []
    for pattern, precision in (
        (_DYNAMIC, Precision.DYNAMIC),
        (_STATIC, Precision.STATIC),
        (_WEIGHTS, Precision.WEIGHTS),
    ):
        if any(map(pattern.match, types)):
            return precision
    floats = {_FLOATS[each] for each in types if each in _FLOATS}
    return floats.pop() if len(floats) == 1 else None


def contradictions(logged: LoggedIdentities, method: Method) -> TypeContradictions:
    """Return how many of the events that runs logged contradict the types of a method."""
    total, recorded = NO_CONTRADICTIONS, _Recorded(method)
    for instruction, events in logged.identifiers.items():
        if instruction in method.handles:
            total = total.plus(_in_call(events, recorded, instruction))
    return total


class _Recorded:
    """What a method records about data types, computed when it is first needed."""

    def __init__(self, method: Method) -> None:
        self.method = method

    @cached_property
    def layers(self) -> tuple[PreciseNode, ...]:
        """Its convolutions and linear layers, with the data types in which they compute."""
        return precise_nodes([node for op in self.method.operators for node in op.nodes])

    @cached_property
    def is_quantized(self) -> bool:
        """Whether any of its nodes quantizes or dequantizes."""
        return any(is_quantization(node) for op in self.method.operators for node in op.nodes)


def _in_call(
    events: Collection[Identifier], recorded: _Recorded, instruction: int
) -> TypeContradictions:
    total = NO_CONTRADICTIONS
    layers: dict[Precision, list[str]] = {}
    texts = sorted(event for event in events if isinstance(event, str))
    has_others = any(xnnpack_operator(text) not in (None, "Convert") for text in texts)
    for event in texts:
        name, precision = xnnpack_operator(event), precision_of(event)
        if name is None or precision is None:
            continue
        if name.lower() in _LAYERS:
            layers.setdefault(precision, []).append(event)
        elif precision in _ON_INTEGERS and has_others:
            wrong = not recorded.is_quantized and bool(recorded.method.operators)
            nothing = "nothing that is quantized"
            total = total.plus(TypeContradictions(int(wrong), 1, event, precision.value, nothing))
    return total.plus(_of_layers(layers, recorded, instruction)) if layers else total


def _of_layers(
    layers: dict[Precision, list[str]], recorded: _Recorded, instruction: int
) -> TypeContradictions:
    """Compare the events of convolutions and linear layers with those of the call."""
    handles = frozenset(recorded.method.handles[instruction])
    if not handles <= recorded.method.by_handle.keys():
        return NO_CONTRADICTIONS
    precisions = Counter(
        # What quantizes an operator may be outside the call, which then computes in other types.
        node.precision if node.around <= handles and node.precision in _CERTAIN else _UNKNOWN
        for node in recorded.layers
        if node.handle in handles
    )
    more = {precision: events[precisions[precision] :] for precision, events in layers.items()}
    less = {
        precision: count - len(layers.get(precision, ()))
        for precision, count in precisions.items()
        if precision is not _UNKNOWN and count > len(layers.get(precision, ()))
    }
    excess = sum(map(len, more.values())) - precisions[_UNKNOWN]
    count = max(min(excess, sum(less.values())), 0)
    compared = sum(map(len, layers.values()))
    if not count:
        return TypeContradictions(0, compared)
    precision, events = next((precision, names) for precision, names in more.items() if names)
    return TypeContradictions(
        count, compared, events[0], precision.value, max(less, key=lambda other: less[other]).value
    )
