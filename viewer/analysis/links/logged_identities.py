"""What the runs of a trace logged, per instruction, and whether its data types are an ETRecord's.

Runs that logged the same keys share one *signature*. A scope may have several, since each run takes
one branch of a torch.cond.

A quantized model and the float model that it was made from have the same operators. But XNNPACK
logs data types: "Fully Connected (NC, QDU8, F32, QC8W) GEMM #1" computed on integers.

* Compared are the convolutions and linear layers of each delegate call, by the types that the
  ETRecord has around them. An event contradicts the ETRecord if the call has no operator left that
  computes in its types, but one that computes in others.
* Every other event on integers contradicts a method that quantizes nothing. Conversions count only
  next to other events: backends insert them.
* The match is multiplied by the share of compared events that do not contradict it. If half of them
  do, the ETRecord is refused. If fewer do, the pair has a warning.

A quantized model has quantize and dequantize nodes around each quantized operator, which backends
turn into one operator on integers. *Static*: input, weights and output have recorded scales.
*Dynamic*: the scales of the input are computed in each inference (`choose_qparams`), and the output
is not quantized. *Weights*: only these are quantized. Without such nodes, an operator computes in
the type of its output. What a backend makes of a group that is quantized in part differs, so it is
unknown, and contradicts nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from functools import cached_property
from itertools import pairwise

import numpy as np

from viewer.arrays import Bools, Ints, lists_by_key
from viewer.dataclasses import dataclass
from viewer.model.queries import execute_keys, run_of_slices
from viewer.model.recorded_names import JUMP, kernel_operator, xnnpack_operator
from viewer.model.trace import KeyKind, RunKind, Trace
from viewer.program.debug_handles import Identifier
from viewer.program.program import GraphNode, Method, base_name

# If all runs differ, as with identifiers that keep counting up, the most common signatures are
# enough; each is compared in Python, identity by identity.
MOST_KINDS = 64
_COMPARED = np.array(
    [KeyKind.KERNEL, KeyKind.OPERATOR_CALL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT], np.uint8
)


@dataclass(frozen=True)
class LoggedIdentities:
    """What runs logged, by instruction ID (-1 if the file gives none).

    jumps: the instructions that select a branch; without one, no branch was entered.
    """

    kernels: dict[int, set[str]]
    operator_calls: set[int]
    delegate_calls: set[int]
    identifiers: dict[int, set[Identifier]]
    jumps: set[int]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was logged that could be compared."""
        return not (self.kernels or self.operator_calls or self.delegate_calls or self.identifiers)

    @property
    def last_instruction(self) -> int:
        """The highest instruction ID, -1 if there is none."""
        calls = self.operator_calls | self.delegate_calls
        return max([-1, *self.kernels, *calls, *self.identifiers])


@dataclass(frozen=True)
class Signature:
    """What one kind of run of a scope logged; `runs` is the number of runs with these keys.

    finished: whether they ran to completion, shown by `Method::execute` if scopes are logged.
    """

    scope: int
    runs: int
    identities: LoggedIdentities
    finished: bool = True


def scope_identities(trace: Trace, scopes: Collection[int] | None = None) -> list[LoggedIdentities]:
    """Return the identities of every scope over all its runs; empty for scopes not selected."""
    compared = _compared_keys(trace)
    if scopes is not None:
        compared &= np.isin(trace.keys.scope, np.array(sorted(scopes), np.int64))
    keys = np.flatnonzero(compared)
    keys = keys[np.argsort(trace.keys.scope[keys], kind="stable")]
    bounds = np.searchsorted(trace.keys.scope[keys], np.arange(len(trace.scopes) + 1))
    return [_collected(trace, keys[lo:hi]) for lo, hi in pairwise(bounds.tolist())]


def signatures(trace: Trace) -> list[Signature]:
    """Return the distinct sets of keys that runs logged; a scope without runs is one signature."""
    collected: list[Signature] = []
    kinds = _kinds_of_runs(trace)
    executes = execute_keys(trace)
    has_scopes = bool((trace.keys.kind == KeyKind.FRAMEWORK).any())
    for scope in range(len(trace.scopes)):
        kinds_of_scope = [(count, keys) for (s, keys), count in kinds.items() if s == scope]
        kinds_of_scope.sort(key=lambda kind: -kind[0])
        for count, packed in kinds_of_scope[:MOST_KINDS]:
            keys = np.frombuffer(packed, np.int64)
            finished = not has_scopes or bool(executes[keys].any())
            collected.append(Signature(scope, count, _collected(trace, keys), finished))
    alone = set(range(len(trace.scopes))) - {signature.scope for signature in collected}
    logged = scope_identities(trace, alone)
    return collected + [Signature(scope, 1, logged[scope]) for scope in sorted(alone)]


def _kinds_of_runs(trace: Trace) -> dict[tuple[int, bytes], int]:
    """Count inferences by (scope, packed keys), in order of first appearance."""
    keys, runs = trace.keys, trace.runs
    compared = _compared_keys(trace) | execute_keys(trace)
    is_inference = np.array([*(r.kind is RunKind.INFERENCE for r in runs), False])
    scope = np.array([*(r.scope for r in runs), 0])
    key, run = trace.slices.key, run_of_slices(trace)
    selected = compared[key] & is_inference[run] & (scope[run] == keys.scope[key])
    pair = np.sort(run[selected] * len(keys) + key[selected])
    pair = pair[np.append(True, np.diff(pair) > 0)[: len(pair)]]
    bounds = np.searchsorted(pair, np.arange(len(runs) + 1) * len(keys))
    logged = pair % max(len(keys), 1)
    kinds: dict[tuple[int, bytes], int] = {}
    for i in np.flatnonzero(is_inference).tolist():
        kind = (int(scope[i]), logged[bounds[i] : bounds[i + 1]].tobytes())
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def _compared_keys(trace: Trace) -> Bools:
    """Return a mask of the keys to compare; of control instructions, only the jumps."""
    keys = trace.keys
    jump = np.array([text == JUMP for text in trace.strings], np.bool_)
    jumps = (keys.kind == KeyKind.CONTROL) & jump[keys.name]
    compared: Bools = np.isin(keys.kind, _COMPARED) | jumps
    return compared


def _collected(trace: Trace, logged: Ints) -> LoggedIdentities:
    """Collect what some keys are; kernels and calls without an instruction are left out."""
    keys = trace.keys
    kind, instruction = keys.kind[logged], keys.instruction[logged]

    def ids(of: KeyKind) -> list[int]:
        numbers: list[int] = instruction[(kind == of) & (instruction >= 0)].tolist()
        return numbers

    codes = keys.name[logged[(kind == KeyKind.KERNEL) & (instruction >= 0)]]
    names = {
        code: base_name(kernel_operator(trace.strings[code])) for code in np.unique(codes).tolist()
    }
    kernels: dict[int, set[str]] = {}
    for number, code in zip(ids(KeyKind.KERNEL), codes.tolist(), strict=True):
        kernels.setdefault(number, set()).add(names[code])
    identifiers: dict[int, set[Identifier]] = {}
    for key in logged[kind == KeyKind.DELEGATE_EVENT].tolist():
        if not is_outside_calls(trace, key):
            identifiers.setdefault(int(keys.instruction[key]), set()).add(keys.identifier[key])
    return LoggedIdentities(
        kernels,
        set(ids(KeyKind.OPERATOR_CALL)),
        set(ids(KeyKind.DELEGATE_CALL)),
        identifiers,
        set(ids(KeyKind.CONTROL)),
    )


def is_outside_calls(trace: Trace, key: int) -> bool:
    """Return whether a delegate event was logged outside any call, such as during init.

    ETDumps give such events chain index -1 and so no instruction. A plain table may also have
    identifiers without instructions, which are looked up in the whole method; there a row is
    outside only if other rows name their method and this one does not. Identifiers from a column
    were not logged by a runtime, so they are never outside.
    """
    if int(trace.keys.instruction[key]) >= 0 or trace.identifier_column:
        return False
    if any(scope.method for scope in trace.scopes):
        return trace.scopes[int(trace.keys.scope[key])].method is None
    return bool(trace.runs)


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
        self._used_by = lists_by_key(
            (tensor.name, node) for node in nodes for tensor in node.inputs
        )

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
