"""The work of an operator: its operations and the bytes that it moves, from shapes alone.

* Operations are the sum over its graph nodes; a multiply-add is two. They are called FLOPs if the
  results are floating-point numbers.
* Bytes are for the operator as a whole: each input, parameter and output once. Values passed
  between its own nodes are not counted, so a runtime that stores them moves more, and one that
  fuses operators moves less.
* Nothing is guessed about a node without a rule, or with a dynamic size: operations are then "at
  least" those of the other nodes, or unknown, and bytes are unknown. The reasons are kept.

The rules of ATen and edge ops follow. Products with padding count like any other, since the kernels
of most backends compute them.

* Convolution: 2 x output elements x the elements of one kernel of the weight (channels of a group
  times its points). Transposed: 2 x input elements x the same, since there every input element is
  multiplied by the whole kernel. Stride, dilation and padding are in the shapes. The bias is the
  first addend of each sum, so it does not count extra, nor in addmm, baddbmm and linear.
* Matrix products: 2 x output elements x the length of the sums.
* Attention: both products, and the softmax between them, also of scores that a mask leaves out.
* Elementwise: one per output element, whatever the function (an exp counts like an add), two if it
  has a factor (alpha). Comparisons, logic and selections: none.
* Reductions: for a mean, one per input element; for others, one less per result.
* softmax: 5 per element (max, difference, exp, sum, quotient). Layer and group norm: 5 per element
  (mean, difference, square, sum, product), and one more each for a weight and a bias. Batch norm in
  inference: 2 per element, the scale and the offset of its channel.
* Pooling: one per element of the window, including padding.
* Quantization: 4 per element (product, sum, rounding, clamping). Dequantization: 2.
* Ops that move, fill or view data: none.

Other ops and control flow are not counted; `NotKnown` says why.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

from viewer.analysis.workload.mlir_work import (
    MLIR_RULES,
    Rule,
    compares,
    input_of,
    output_of,
    per_output,
    reduction,
    times_inputs,
    times_outputs,
)
from viewer.analysis.workload.node_traffic import Traffic, is_moving, is_structure, traffic_of
from viewer.analysis.workload.operator_tensors import (
    NotKnown,
    bytes_of,
    elements_of,
    is_complex,
    is_floating,
    sizes_of,
    used_elsewhere,
)
from viewer.dataclasses import dataclass
from viewer.model.times import counted, group_digits
from viewer.program.program import (
    GraphNode,
    Operator,
    Program,
    Setting,
    Tensor,
    base_name,
    library_of,
)

# The op libraries that the rules apply to; an "add" of another library may be anything.
_LIBRARIES = ("aten", "dim_order_ops", "quantized_decomposed")
_WIDEST = 1 << 31  # above any plausible window size


@dataclass(frozen=True, slots=True)
class Count:
    """The operations of one node and the rule, in words and numbers: "2 × 10 outputs × 16"."""

    operations: int
    rule: str


def count_operations(node: GraphNode) -> Count:
    """Return the operations of a node in one call. Raises NotKnown."""
    if node.op.startswith("higher_order."):
        raise NotKnown("the work of control flow depends on its data")
    if is_structure(node):
        raise NotKnown(f"{node.op} itself does no work")
    if is_moving(node):
        return Count(0, "moves data, no arithmetic")
    rule = _rule_of(node)
    if rule is None:
        raise NotKnown(f"no rule for {node.op}")
    operations, text = rule(node)
    if operations and any(is_complex(t) for t in (*node.inputs, *node.outputs)):
        raise NotKnown(f"no rule for the complex numbers of {node.op}")
    return Count(operations, text)


def is_understood(node: GraphNode) -> bool:
    """Return whether a node's use of its inputs is known, be it work or a move of data."""
    return is_moving(node) or _rule_of(node) is not None


def _rule_of(node: GraphNode) -> Rule | None:
    rule = MLIR_RULES.get(node.op)
    if library_of(node.op) == "onnx":
        return _ONNX_RULES.get(base_name(node.op))
    if rule is None and library_of(node.op) in _LIBRARIES:
        rule = _RULES.get(base_name(node.op))
    return rule


def _setting(node: GraphNode, name: str) -> Setting | None:
    return dict(node.settings).get(name)


def _has_factor(node: GraphNode, *names: str) -> bool:
    """Return whether the node scales an operand by a number other than 1."""
    return any(_setting(node, name) not in (None, 1, 1.0) for name in names)


# -- products -------------------------------------------------------------------------------------


def _convolution(node: GraphNode) -> tuple[int, str]:
    is_transposed = _setting(node, "transposed")
    if not isinstance(is_transposed, bool):
        raise NotKnown("it is not recorded whether the convolution is transposed")
    return _transposed_convolution(node) if is_transposed else _direct_convolution(node)


def _kernel(node: GraphNode) -> tuple[int, str]:
    """Return the elements of one kernel of the weight [O, I / groups, points...], and its text."""
    sizes = sizes_of(input_of(node, 1))
    if len(sizes) < 3:
        raise NotKnown("the weight of the convolution has no kernel points")
    points = " × ".join(map(group_digits, sizes[2:]))
    return prod(sizes[1:]), f"{counted(sizes[1], 'channel')} × {points}"


def _direct_convolution(node: GraphNode) -> tuple[int, str]:
    return times_outputs(node, *_kernel(node))


def _transposed_convolution(node: GraphNode) -> tuple[int, str]:
    return times_inputs(node, *_kernel(node))


def _product(first: int) -> Rule:
    """Return the rule of a matrix product; its sums run over the last dim of input `first`."""

    def rule(node: GraphNode) -> tuple[int, str]:
        sizes = sizes_of(input_of(node, first))
        if not sizes:
            raise NotKnown(f"{node.op} has a scalar where a matrix is expected")
        operations, text = times_outputs(node, sizes[-1], group_digits(sizes[-1]))
        outputs = elements_of(output_of(node))
        for name in ("alpha", "beta"):
            if _has_factor(node, name):
                operations, text = operations + outputs, f"{text} + 1 each for {name}"
        return operations, text

    return rule


def _attention(node: GraphNode) -> tuple[int, str]:
    """Count query [..., L, D], key [..., S, D], value [..., S, V]: two products and a softmax."""
    query, key, value = (sizes_of(input_of(node, number)) for number in range(3))
    if min(map(len, (query, key, value))) < 2 or query[-1] != key[-1] or key[-2] != value[-2]:
        raise NotKnown(f"the shapes of {node.op} are not those of an attention")
    scores, each = prod(query[:-1]) * key[-2], 2 * query[-1] + 5 + 2 * value[-1]
    text = f"{group_digits(scores)} scores × (2 × {query[-1]} + 5 + 2 × {value[-1]})"
    return scores * each, text


# -- element by element ---------------------------------------------------------------------------


def _elementwise(node: GraphNode) -> tuple[int, str]:
    return per_output(2 if _has_factor(node, "alpha") else 1)(node)


# -- over several elements ------------------------------------------------------------------------


def _mean(node: GraphNode) -> tuple[int, str]:
    inputs = elements_of(input_of(node, 0))
    return inputs, f"1 × {group_digits(inputs)} inputs"


def _norm(node: GraphNode) -> tuple[int, str]:
    # Plus a weight and a bias, if present.
    return per_output(5 + min(len(node.inputs) - 1, 2))(node)


def _batch_norm(node: GraphNode) -> tuple[int, str]:
    if any(_setting(node, name) is True for name in ("training", "train")):
        raise NotKnown("no rule for the batch norm of training")
    return per_output(2)(node)


def _pooling(dimensions: int) -> Rule:
    def rule(node: GraphNode) -> tuple[int, str]:
        stated = _setting(node, "kernel_size")
        sizes = stated if isinstance(stated, tuple) else () if stated is None else (stated,)
        window = [int(size) for size in sizes]
        if len(window) == 1:
            window *= dimensions  # one number applies to all dimensions
        if len(window) != dimensions or not all(0 < size < _WIDEST for size in window):
            raise NotKnown(f"the kernel size of {node.op} is not recorded")
        outputs = elements_of(output_of(node))
        text = " × ".join(map(group_digits, window))
        return outputs * prod(window), f"{group_digits(outputs)} outputs × {text}"

    return rule


def _adaptive_pooling(node: GraphNode) -> tuple[int, str]:
    input_sizes, output_sizes = sizes_of(input_of(node, 0)), sizes_of(output_of(node))
    if len(input_sizes) != len(output_sizes) or any(
        o == 0 or i % o for i, o in zip(input_sizes, output_sizes, strict=True)
    ):
        raise NotKnown(f"the windows of {node.op} overlap")
    return _mean(node)


_ELEMENTWISE = (
    "add", "sub", "rsub", "mul", "div", "neg", "abs", "relu", "relu6", "clamp", "clamp_min",
    "clamp_max", "maximum", "minimum", "hardtanh", "leaky_relu", "square", "reciprocal", "sqrt",
    "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "sin", "cos", "tan",
    "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid",
    "erf", "gelu", "silu", "elu", "mish", "softplus", "hardswish", "hardsigmoid", "floor", "ceil",
    "round", "trunc", "sign", "fmod", "remainder", "floor_divide",
)  # fmt: skip
_COMPARISONS = (
    "eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or", "logical_xor",
    "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "where", "masked_fill", "isnan",
    "isinf", "any", "all",
)  # fmt: skip
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(_COMPARISONS, compares),
    "convolution": _convolution,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _direct_convolution),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _transposed_convolution
    ),
    **dict.fromkeys(("mm", "bmm", "matmul", "linear", "mv", "dot"), _product(0)),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _product(1)),
    **dict.fromkeys(("sum", "prod", "amax", "amin"), reduction),
    "mean": _mean,
    **dict.fromkeys(
        (
            "scaled_dot_product_attention",
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention",
        ),
        _attention,
    ),
    **dict.fromkeys(("_softmax", "softmax", "_log_softmax", "log_softmax"), per_output(5)),
    **dict.fromkeys(("native_layer_norm", "layer_norm", "native_group_norm", "group_norm"), _norm),
    **dict.fromkeys(
        ("_native_batch_norm_legit_no_training", "native_batch_norm", "batch_norm"), _batch_norm
    ),
    **{
        f"{kind}_pool{n}d{rest}": _pooling(n)
        for kind, rest in (("max", ""), ("max", "_with_indices"), ("avg", ""))
        for n in (1, 2, 3)
    },
    **dict.fromkeys(("_adaptive_avg_pool2d", "adaptive_avg_pool2d"), _adaptive_pooling),
    **dict.fromkeys(("quantize_per_tensor", "quantize_per_channel"), per_output(4)),
    **dict.fromkeys(("dequantize_per_tensor", "dequantize_per_channel"), per_output(2)),
}

# ONNX names its operators differently; Gemm's first input is assumed not to be transposed, which
# ONNX Runtime does not record.
_ONNX_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("Conv", "FusedConv"), _direct_convolution),
    "ConvTranspose": _transposed_convolution,
    **dict.fromkeys(("MatMul", "FusedMatMul"), _product(0)),
    **{name.title().replace("_", ""): _elementwise for name in _ELEMENTWISE},
    **dict.fromkeys(("Softmax", "LogSoftmax"), per_output(5)),
    "GlobalAveragePool": _mean,
    "BatchNormalization": per_output(2),
    "LayerNormalization": _norm,
    "QuantizeLinear": per_output(4),
    "DequantizeLinear": per_output(2),
    **dict.fromkeys(
        (
            "Flatten",
            "Reshape",
            "Transpose",
            "Squeeze",
            "Unsqueeze",
            "Concat",
            "Slice",
            "Gather",
            "Identity",
            "ReorderInput",
            "ReorderOutput",
        ),
        lambda node: (0, "moves data, no arithmetic"),
    ),
}


_NOT_MOVED = (Traffic.CONSTANT, Traffic.ROOM)


@dataclass(frozen=True, slots=True)
class OpWork:
    """The operations of all nodes of an operator with the same op.

    rule: the rule of each of these nodes; "" if they differ.
    """

    op: str
    nodes: int
    operations: int
    rule: str


@dataclass(frozen=True, slots=True)
class MovedBytes:
    """Bytes read from inputs, read from parameters, and written."""

    inputs: int
    parameters: int
    outputs: int

    @property
    def total(self) -> int:
        return self.inputs + self.parameters + self.outputs


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """The work of one operator, or some of its nodes, in one call.

    operations: None if unknown; at_least: whether some nodes are not counted. parts: largest first,
    without those without arithmetic. missing: why nodes are not counted, without duplicates.
    floating: whether the results are floating-point numbers. moved: None if unknown, for the reason
    `moved_missing`; note: a remark on the bytes.
    """

    operations: int | None
    at_least: bool
    parts: tuple[OpWork, ...]
    missing: tuple[str, ...]
    floating: bool
    moved: MovedBytes | None
    moved_missing: str = ""
    note: str = ""

    @property
    def intensity(self) -> float | None:
        """Operations per byte; None if either is not fully known, or nothing is moved."""
        if self.operations is None or self.at_least or self.moved is None or not self.moved.total:
            return None
        return self.operations / self.moved.total


def figures_of(program: Program, operator: Operator) -> OperatorFigures:
    return figures_of_nodes(operator.nodes, used_elsewhere(program, operator))


def figures_of_nodes(nodes: Sequence[GraphNode], leaving: Collection[str] = ()) -> OperatorFigures:
    """Return the work of some nodes as one unit.

    leaving: names of values that other nodes use as well; values that no node of the group uses
    count as outputs anyway.
    """
    parts: dict[str, OpWork] = {}
    missing: dict[str, None] = {}
    floating = False
    for node in nodes:
        try:
            count = count_operations(node)
        except NotKnown as reason:
            missing[str(reason)] = None
            continue
        if not count.operations:
            continue
        floating = floating or any(is_floating(t) for t in node.outputs[:1])
        op_work = parts.get(node.op)
        parts[node.op] = OpWork(
            node.op if node.op.count(".") == 1 else base_name(node.op),
            1 + (op_work.nodes if op_work else 0),
            count.operations + (op_work.operations if op_work else 0),
            count.rule if op_work is None or op_work.rule == count.rule else "",
        )
    total = sum(part.operations for part in parts.values())
    is_known = bool(total) or not missing
    try:
        moved, why = _moved(nodes, leaving), ""
    except NotKnown as reason:
        moved, why = None, str(reason)
    return OperatorFigures(
        operations=total if is_known else None,
        at_least=is_known and bool(missing),
        parts=tuple(sorted(parts.values(), key=lambda part: -part.operations)),
        missing=tuple(missing),
        floating=floating if parts else _makes_floats(nodes),
        moved=moved,
        moved_missing=why,
        note=_note(nodes),
    )


def _makes_floats(nodes: Sequence[GraphNode]) -> bool:
    tensors = [tensor for node in nodes for tensor in node.outputs[:1]]
    return not tensors or any(is_floating(tensor) for tensor in tensors)


def _note(nodes: Sequence[GraphNode]) -> str:
    """Return a remark on the bytes of an operator that only moves data."""
    kinds = {traffic_of(node) for node in nodes}
    return next(iter(kinds)).value if len(kinds) == 1 and Traffic.WORK not in kinds else ""


def _moved(nodes: Sequence[GraphNode], leaving: Collection[str]) -> MovedBytes:
    """Return the bytes that some nodes move. Raises NotKnown if any size is unknown."""
    for node in nodes:
        if node.op.startswith("higher_order."):
            raise NotKnown("the traffic of control flow depends on its data")
        if is_structure(node):
            raise NotKnown(f"{node.op} itself does no work")
        if not is_understood(node):  # it may read only part of its inputs, or nothing
            raise NotKnown(f"no rule for {node.op}")
        if not (node.inputs or node.outputs) and traffic_of(node) is not Traffic.SIZES:
            raise NotKnown(f"the tensors of {node.op} are not recorded")
    outputs = {tensor.name: tensor for node in nodes for tensor in node.outputs}
    roots = _roots(nodes)
    read: dict[str, int] = {}
    inputs: dict[str, Tensor] = {}
    used: set[str] = set()
    for node in nodes:
        traffic = traffic_of(node)
        used.update(tensor.name for tensor in node.inputs)
        if traffic in (Traffic.VIEW, Traffic.FILL, Traffic.SIZES, *_NOT_MOVED):
            continue
        for position, tensor in enumerate(node.inputs):
            root = roots.get(tensor.name, tensor)
            if root.name in outputs:
                continue
            picked = traffic is Traffic.PICK and position == 0
            part = sum(map(bytes_of, node.outputs)) if picked else bytes_of(tensor)
            inputs[root.name] = root
            # A part that is read twice counts twice here, but never more than the whole value.
            read[root.name] = min(read.get(root.name, 0) + part, bytes_of(root))
    written: dict[str, int] = {}
    for node in nodes:
        if traffic_of(node) in _NOT_MOVED:
            continue
        for tensor in node.outputs:
            root = roots.get(tensor.name, tensor)
            leaves = tensor.name in leaving or tensor.name not in used
            if leaves and root.name in outputs:
                written[root.name] = bytes_of(root)
    parameters = {name for name, tensor in inputs.items() if tensor.parameter}
    return MovedBytes(
        inputs=sum(size for name, size in read.items() if name not in parameters),
        parameters=sum(size for name, size in read.items() if name in parameters),
        outputs=sum(written.values()),
    )


def _roots(nodes: Sequence[GraphNode]) -> dict[str, Tensor]:
    """Map the name of each view to the value whose memory it shares."""
    roots: dict[str, Tensor] = {}
    for node in nodes:
        if traffic_of(node) is Traffic.VIEW and node.inputs:
            viewed = node.inputs[0]
            root = roots.get(viewed.name, viewed)
            roots.update((tensor.name, root) for tensor in node.outputs)
    return roots
