"""The data types in which the convolutions and linear layers of a method compute.

A quantized model has quantize and dequantize nodes around each quantized operator. Backends turn
such a group into one operator on integers:

* static: input, weights and output are quantized with recorded scales;
* dynamic: the scales of the input are computed in each inference (`choose_qparams`), and the output
  is not quantized;
* weights: only the weights are quantized.

Without them, an operator computes in the type of its output. Everything else is unknown: what a
backend makes of a group that is quantized in part differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from viewer.program.program import GraphNode, base_name

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
        at = _INPUT[base_name(node.op)]
        if at >= len(node.inputs):
            return PreciseNode(node.debug_handle, Precision.UNKNOWN)
        source = self._behind(node.inputs[at].name)
        weights = [
            made
            for i, tensor in enumerate(node.inputs)
            if i != at and (made := self._behind(tensor.name)) is not None
        ]
        weight = next((made for made in weights if _is_dequantize(made)), None)
        if source is None or not _is_dequantize(source):
            if weight is not None:
                around = frozenset({weight.debug_handle})
                return PreciseNode(node.debug_handle, Precision.WEIGHTS, around)
            return PreciseNode(node.debug_handle, _float_precision(node))
        if weight is None:
            return PreciseNode(node.debug_handle, Precision.UNKNOWN)
        around = frozenset({source.debug_handle, weight.debug_handle})
        if self._is_dynamic(source):
            return PreciseNode(node.debug_handle, Precision.DYNAMIC, around)
        outputs = list(self._quantized_to(node))
        if not outputs or None in outputs:
            return PreciseNode(node.debug_handle, Precision.UNKNOWN)
        around |= {made.debug_handle for made in outputs if made is not None}
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

    def _is_dynamic(self, dequantize: GraphNode) -> bool:
        """Return whether the scales of a dequantize node are computed, not recorded."""
        return any(
            "qparams" in base_name(made.op)
            for tensor in dequantize.inputs
            if (made := self._made_by.get(tensor.name)) is not None
        )

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
    found = {by_name.get(each, Precision.UNKNOWN) for each in types}
    return found.pop() if len(found) == 1 else Precision.UNKNOWN
