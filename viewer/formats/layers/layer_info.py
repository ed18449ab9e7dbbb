"""Reads what TensorRT knows of the layers of an engine: `trtexec --exportLayerInfo`.

`IEngineInspector` writes an object with the arrays `Layers` and `Bindings`. With
`--profilingVerbosity=detailed`, a layer is an object with `Name`, `LayerType`, `TacticName`, and
`Inputs` and `Outputs` with `Name`, `Dimensions` and `Format/Datatype`; without, it is only a name.
A profile of the engine is linked by the names. Sources: TensorRT's documentation, and parsers such
as https://github.com/NVIDIA/TensorRT/tree/main/tools/experimental/trt-engine-explorer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from viewer.codecs.json_values import InvalidJson, Parsed, mapping, memory_needed, sequence, text
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.formats import format_of
from viewer.model.trace import Problem
from viewer.program.module_tree import nodes_of_layer
from viewer.program.program import Method, Operator, Program, Tensor

_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"Layers"\s*:\s*\[')
# Of "Half", "FP16 NC/2HW2", "Channel major FP16 format where channel % 8 == 0".
_DTYPES = (
    (re.compile(r"BF(?:loat)?16", re.IGNORECASE), "bf16"),
    (re.compile(r"FP16|Half", re.IGNORECASE), "f16"),
    (re.compile(r"FP8", re.IGNORECASE), "f8"),
    (re.compile(r"FP32|Float", re.IGNORECASE), "f32"),
    (re.compile(r"Int8", re.IGNORECASE), "i8"),
    (re.compile(r"Int32", re.IGNORECASE), "i32"),
    (re.compile(r"Int64", re.IGNORECASE), "i64"),
    (re.compile(r"Bool", re.IGNORECASE), "bool"),
)
NO_LAYER = "layer without a name: left out"


def sniff(head: bytes) -> bool:
    """Whether it is an object that starts with its layers."""
    return _START.match(head) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Program:
    """An operator for each layer. Raises UnreadableFile, ReadCancelled."""
    with open(path, "rb") as file:
        raw = file.read()
    allowance().take(len(raw) + memory_needed(raw))
    stop_if(cancelled)
    try:
        layers = sequence(mapping(Parsed(raw.removeprefix(b"\xef\xbb\xbf")).value).get("Layers"))
    except InvalidJson as error:
        raise UnreadableFile(
            path, "it is not valid JSON", where=str(error), remedy="Export it again"
        ) from error
    progress(len(raw), len(raw))
    operators: list[Operator] = []
    for layer in layers:
        facts = {"Name": layer} if isinstance(layer, str) else mapping(layer)
        if name := text(facts.get("Name")):
            inputs, outputs = (_tensors(facts, which) for which in ("Inputs", "Outputs"))
            nodes = nodes_of_layer(name, text(facts.get("LayerType")), inputs, outputs)
            operators.append(Operator(len(operators), "model", -1, nodes))
    if not operators:
        raise UnreadableFile(path, "it has no layer with a name", remedy="Export it again")
    left_out = len(layers) - len(operators)
    problems = (Problem(NO_LAYER, left_out, ""),) if left_out else ()
    methods = (Method("model", tuple(operators)),)
    return Program(path, FORMAT.name, "", methods, problems, is_of_layers=True)


def _tensors(layer: Mapping[str, Any], which: str) -> tuple[Tensor, ...]:
    tensors = []
    for tensor in map(mapping, sequence(layer.get(which))):
        sizes = sequence(tensor.get("Dimensions"))
        is_shape = "Dimensions" in tensor and all(type(size) is int for size in sizes)
        stated = text(tensor.get("Format/Datatype")) or text(tensor.get("Format"))
        dtype = next((dtype for pattern, dtype in _DTYPES if pattern.search(stated)), "")
        tensors.append(Tensor(text(tensor.get("Name")), dtype, tuple(sizes) if is_shape else None))
    return tuple(tensors)


FORMAT = format_of("layers.layer_info")
