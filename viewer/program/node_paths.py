"""The graph nodes in the name of a runtime's layer.

Exporters to ONNX name nodes by their module, "/stem/conv/Conv". Runtimes name layers after the
nodes that they fuse: TensorRT's "/stem/conv/Conv + /stem/act/Relu" is two nodes,
"{ForeignNode[/attn/q/MatMul.../attn/Softmax]}" all from the first to the last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, takewhile

from viewer.program.program import GraphNode, Tensor

_PATH = re.compile(r"(?:/[\w.\-]*\w)+")
_ONNX_TYPE = re.compile(r"/([A-Z][A-Za-z0-9]*)(?:_[0-9]+)?\Z")
_LAYER = "layer"
# Limits of nested modules and of the letters of their paths. A path repeats those of the modules
# around, so without limits the paths of a small file could need all memory.
MOST_MODULES, MOST_PATH = 64, 2048


def paths_in(name: str) -> list[str]:
    """Return the paths of nodes in the name of a layer."""
    return _PATH.findall(name)


def nodes_of_layer(
    name: str,
    stated: str,
    inputs: Sequence[Tensor] = (),
    outputs: Sequence[Tensor] = (),
) -> tuple[GraphNode, ...]:
    """Return the nodes that a layer runs, of which the first one has the name of the layer.

    stated: the type of the layer, "" if none is. inputs, outputs: of the layer.
    """
    paths = paths_in(name) or [name]
    nodes = []
    for position, path in enumerate(paths):
        match = _ONNX_TYPE.search(path)
        of_path = match[1] if match else ""
        type_ = stated or of_path or _LAYER
        node = GraphNode(
            path if position else name,
            f"{_LAYER}::{type_}",
            -1,
            modules=path_modules(path, of_path or type_),
            source_op=type_,
            inputs=tuple(inputs) if position == 0 else (),
            outputs=tuple(outputs) if position == len(paths) - 1 else (),
        )
        nodes.append(node)
    return tuple(nodes)


def path_modules(name: str, type_: str) -> tuple[tuple[str, str], ...]:
    """Return the modules of a node that is named by its path.

    Exporters add the op type, "/layer1/conv/Conv_2"; any other last part is the node's own name.
    """
    parts = [part for part in name.split("/") if part]
    if parts and re.fullmatch(re.escape(type_) + r"(_\d+)?", parts[-1]):
        parts.pop()
    parts = parts[:MOST_MODULES]
    paths = takewhile(lambda path: len(path) < MOST_PATH, accumulate(parts, "{}.{}".format))
    return tuple((path, "") for path in paths)
