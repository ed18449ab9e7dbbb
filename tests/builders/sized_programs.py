"""Program files with many parts, and with copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.builders.pte_writer import KERNEL, Method, write_program


def write_constants(path: Path, sizes: list[int], copies: int = 0, seed: int = 0) -> Path:
    """Write a program whose instruction i uses constant i of `sizes[i]` bytes (multiples of 16).

    copies: the last ones have the bytes of the first one, and should have its size.
    """
    dice = np.random.default_rng(seed)
    blobs = [dice.integers(0, 256, size, np.uint8).tobytes() for size in sizes]
    for i in range(len(blobs) - copies, len(blobs)):
        blobs[i] = blobs[0]
    method = Method(
        instructions=[(KERNEL, i % 2, [i]) for i in range(len(sizes))],
        operators=[("aten::add", "out"), ("aten::mul", "out")],
        tensors=[(6, [size // 4], None, i + 1) for i, size in enumerate(sizes)],
    )
    starts = np.cumsum([0, *sizes]).tolist()
    return write_program(
        path, method, segments=[b"".join(blobs)], constant_segment=(0, [0, *starts[:-1]])
    )
