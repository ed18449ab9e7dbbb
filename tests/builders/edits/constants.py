"""What the parameters of a model contain: bytes that depend on their layer, size and training."""

from __future__ import annotations

import hashlib
from math import prod

from tests.builders.edits.operators import Shape
from tests.builders.edits.source import Model

FOLDED = "=folded "  # before the name of a layer into which another one was folded
_ONE = {"f32": b"\0\0\x80?", "f16": b"\0<", "bf16": b"\x80?"}


def contents(model: Model, path: str, weights: tuple[str, ...], role: str, shape: Shape) -> bytes:
    """Return the bytes of a parameter. weights: what they are drawn from, one part from each."""
    width = len(_ONE[model.dtype])
    if model.fresh and role != "weight" and not weights[0].startswith(FOLDED):
        return (_ONE[model.dtype] if role == "ones" else bytes(width)) * prod(shape)
    size = prod(shape) * width // len(weights)
    data = b""
    for source in weights:
        text = f"{source}/{path.rpartition('.')[2]}/{size}/{model.dtype}/{model.training}"
        digest = hashlib.sha256(text.encode()).digest()
        data += (digest * (size // len(digest) + 1))[:size]
    return data


def is_trivial(data: bytes) -> bool:
    """Whether constants are as before training: only zeros, or only ones."""
    ones = next((value for value in _ONE.values() if data.startswith(value)), b"\0")
    return not data.strip(b"\0") or data == ones * (len(data) // len(ones))
