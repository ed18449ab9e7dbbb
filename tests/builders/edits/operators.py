"""The operators of the models: how the source calls them, what export makes of them, and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

Shape = tuple[int, ...]
Settings = Mapping[str, int | str]


@dataclass(frozen=True)
class Kind:
    """An operator.

    source: the ATen call. text: how the source calls it, with its arguments. edge: what it becomes
    in the edge dialect. shapes: of its results. layer: the class of torch that runs it, its file
    and the text of the line there; "" if the source calls it. cost: time per element of the result.
    """

    source: str
    text: str
    edge: tuple[str, ...]
    shapes: Callable[[list[Shape], Settings], tuple[Shape, ...]]
    layer: str = ""
    cost: float = 1


def _same(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return (inputs[0],)


def _wider(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    size = max(len(shape) for shape in inputs)
    padded = [(1,) * (size - len(shape)) + shape for shape in inputs]
    return (tuple(max(sizes) for sizes in zip(*padded, strict=True)),)


def _convolution(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    n, _, *space = inputs[0]
    stride = int(settings.get("stride", 1))
    return ((n, int(settings["out"]), *(max(s // stride, 1) for s in space)),)


def _last(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((*inputs[0][:-1], int(settings["out"])),)


def _matmul(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((*inputs[0][:-1], inputs[1][-1]),)


def _transposed(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((*inputs[0][:-2], inputs[0][-1], inputs[0][-2]),)


def _flat(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((inputs[0][0], prod(inputs[0][1:])),)


def _pooled(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return (inputs[0][:2],)


def _averaged(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((inputs[0][0], *inputs[0][2:]),)


def _halved(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((*inputs[0][:2], *(max(s // 2, 1) for s in inputs[0][2:])),)


def _doubled(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((*inputs[0][:2], *(2 * s for s in inputs[0][2:])),)


def _joined(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    (n, _, *rest) = inputs[0]
    return ((n, sum(shape[1] for shape in inputs), *rest),)


def _embedded(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((*inputs[0], int(settings["out"])),)


def _selected(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((inputs[0][0], *inputs[0][2:]),)


def _column(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    return ((*inputs[0][:-1], 1),)


def _parts(inputs: list[Shape], settings: Settings) -> tuple[Shape, ...]:
    count = int(settings["parts"])
    return ((*inputs[0][:-1], inputs[0][-1] // count),) * count


_ATTENTION = tuple(
    f"aten.{name}"
    for name in (
        "mul.Scalar", "permute_copy.default", "mul.Scalar", "expand_copy.default",
        "view_copy.default", "bmm.default", "_softmax.default", "bmm.default", "view_copy.default",
    )
)  # fmt: skip
_MATMUL = tuple(f"aten.{name}.default" for name in ("expand_copy", "view_copy", "bmm", "view_copy"))


def _plain(
    name: str, overload: str = "default", call: str = "", cost: float = 1, edge: str = ""
) -> Kind:
    return Kind(
        name, f"{call or f'torch.{name}'}({{0}})", (f"aten.{edge or name}.{overload}",),
        _same, cost=cost,
    )  # fmt: skip


KINDS: dict[str, Kind] = {
    "conv": Kind(
        "conv2d", "", ("aten.convolution.default",), _convolution,
        "torch.nn.modules.conv.Conv2d", 40,
    ),
    "linear": Kind(
        "linear", "", ("aten.linear.default",), _last, "torch.nn.modules.linear.Linear", 20
    ),
    "batch_norm": Kind(
        "batch_norm", "", ("aten._native_batch_norm_legit_no_training.default",), _same,
        "torch.nn.modules.batchnorm.BatchNorm2d", 3,
    ),
    "layer_norm": Kind(
        "layer_norm", "", ("aten.native_layer_norm.default",), _same,
        "torch.nn.modules.normalization.LayerNorm", 4,
    ),
    "embedding": Kind(
        "embedding", "", ("aten.embedding.default",), _embedded,
        "torch.nn.modules.sparse.Embedding", 2,
    ),
    "relu": _plain("relu", call="F.relu"),
    "relu6": _plain("relu6", call="F.relu6", edge="hardtanh"),
    "gelu": _plain("gelu", call="F.gelu", cost=6),
    "silu": Kind(
        "silu", "F.silu({0})", ("aten.sigmoid.default", "aten.mul.Tensor"), _same, cost=5
    ),
    "hardswish": _plain("hardswish", call="F.hardswish", cost=3),
    "sigmoid": _plain("sigmoid", cost=4),
    "tanh": _plain("tanh", cost=4),
    "abs": _plain("abs"),
    "neg": _plain("neg"),
    "rsqrt": _plain("rsqrt"),
    "exp": _plain("exp", cost=4),
    "softmax": Kind(
        "softmax", "torch.softmax({0}, -1)", ("aten._softmax.default",), _same, cost=5
    ),
    "square": Kind("pow", "{0}.pow(2)", ("aten.pow.Tensor_Scalar",), _same),
    "scale": Kind("mul", "{0} * {factor}", ("aten.mul.Scalar",), _same),
    "shift": Kind("add", "{0} + {value}", ("aten.add.Scalar",), _same),
    "add": Kind("add", "{0} + {1}", ("aten.add.Tensor",), _wider),
    "skip": Kind(
        "add", "{0} + {1} if self.use_skip else {1}", ("aten.add.Tensor",), _wider
    ),
    "mul": Kind("mul", "{0} * {1}", ("aten.mul.Tensor",), _wider),
    "matmul": Kind("matmul", "{0} @ {1}", _MATMUL, _matmul, cost=16),
    "transpose": Kind(
        "transpose", "{0}.transpose(-2, -1)", ("aten.permute_copy.default",), _transposed
    ),
    "attention": Kind(
        "scaled_dot_product_attention", "F.scaled_dot_product_attention({0}, {1}, {2})",
        _ATTENTION, _same, cost=40,
    ),
    "flatten": Kind("flatten", "{0}.flatten(1)", ("aten.view_copy.default",), _flat),
    "pool": Kind("mean", "{0}.mean((2, 3))", ("aten.mean.dim",), _pooled, cost=3),
    "average": Kind("mean", "{0}.mean(1)", ("aten.mean.dim",), _averaged, cost=3),
    "last_mean": Kind("mean", "{0}.mean(-1, keepdim=True)", ("aten.mean.dim",), _column, cost=3),
    "max_pool": Kind(
        "max_pool2d", "F.max_pool2d({0}, 2)", ("aten.max_pool2d_with_indices.default",), _halved,
        cost=4,
    ),
    "upsample": Kind(
        "upsample_nearest2d", "F.interpolate({0}, scale_factor=2.0)",
        ("aten.upsample_nearest2d.vec",), _doubled, cost=2,
    ),
    "cat": Kind("cat", "torch.cat([{0}, {1}], 1)", ("aten.cat.default",), _joined),
    "select": Kind("select", "{0}[:, t]", ("aten.select_copy.int",), _selected),
    "weight": Kind("select", "{0}[..., i]", ("aten.select_copy.int",), _column),
    "chunk": Kind(
        "chunk", "{0}.chunk({parts}, -1)", ("aten.split_with_sizes_copy.default",), _parts
    ),
    "quantize": Kind(
        "quantize_per_tensor", "",
        ("quantized_decomposed.quantize_per_tensor.default",), _same,
    ),
    "dequantize": Kind(
        "dequantize_per_tensor", "",
        ("quantized_decomposed.dequantize_per_tensor.default",), _same,
    ),
}  # fmt: skip

# Elementwise operators that a call of a module can replace, and the class of that.
MODULES = {
    "relu": "torch.nn.modules.activation.ReLU",
    "relu6": "torch.nn.modules.activation.ReLU6",
    "gelu": "torch.nn.modules.activation.GELU",
    "silu": "torch.nn.modules.activation.SiLU",
    "tanh": "torch.nn.modules.activation.Tanh",
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
}
# What the partitions delegate.
DELEGATED = {
    "portable": frozenset[str](),
    "xnnpack": frozenset((
        "conv", "linear", "batch_norm", "relu", "relu6", "sigmoid", "tanh", "softmax", "scale",
        "add", "skip", "mul", "matmul",
    )),
    "layers": frozenset(("conv", "linear")),
}  # fmt: skip
_OF_TORCH = "/opt/venv/lib/python3.11/site-packages/torch/nn/modules"
TORCH_LINES = {
    "conv": (f"{_OF_TORCH}/conv.py", 565, "return self._conv_forward(input, self.weight)"),
    "linear": (f"{_OF_TORCH}/linear.py", 134, "return F.linear(input, self.weight, self.bias)"),
    "batch_norm": (f"{_OF_TORCH}/batchnorm.py", 210, "return F.batch_norm("),
    "layer_norm": (f"{_OF_TORCH}/normalization.py", 228, "return F.layer_norm("),
    "embedding": (f"{_OF_TORCH}/sparse.py", 192, "return F.embedding("),
}


def parameters(
    kind: str, taken: int, settings: Settings
) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    """Return name, role and shape of what a layer keeps. taken: the size that it takes."""
    out = int(settings.get("out", taken))
    if kind == "conv":
        size = int(settings.get("kernel", 3))
        groups = int(settings.get("groups", 1))
        kernel = (out, taken // groups, size, size)
        return ("weight", "weight", kernel), ("bias", "bias", (out,))
    if kind == "linear":
        return ("weight", "weight", (out, taken)), ("bias", "bias", (out,))
    if kind == "batch_norm":
        return (
            ("weight", "ones", (taken,)), ("bias", "zeros", (taken,)),
            ("running_mean", "zeros", (taken,)), ("running_var", "ones", (taken,)),
        )  # fmt: skip
    if kind == "layer_norm":
        return ("weight", "ones", (taken,)), ("bias", "zeros", (taken,))
    if kind == "embedding":
        return (("weight", "weight", (int(settings["count"]), out)),)
    return ()


def edge_of(kind: str, rank: int, partition: str) -> tuple[str, ...]:
    """Return the edge dialect operators of a call: a linear layer stays whole for a backend."""
    if kind == "linear" and partition == "portable":
        flat = ("aten.permute_copy.default", "aten.addmm.default")
        view = "aten.view_copy.default"
        return flat if rank == 2 else (view, *flat, view)
    return KINDS[kind].edge
