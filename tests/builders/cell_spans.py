"""Texts for the readers of JSON columns, which read values by their places in bytes."""

import numpy as np

from viewer.codecs.json_pieces import PADDING


def padded(text: bytes) -> np.ndarray:
    """A text as bytes, with what may be read behind it."""
    data = np.zeros(len(text) + PADDING, np.uint8)
    data[: len(text)] = np.frombuffer(text, np.uint8)
    return data


def spans_of(cells: list[bytes]) -> tuple[bytes, np.ndarray, np.ndarray]:
    """A text with the cells in it, and where they are."""
    end = 8 + np.cumsum([len(cell) + 1 for cell in cells]) - 1
    return b"        " + b",".join(cells), end - [len(cell) for cell in cells], end
