"""What flatbuffers of ExecuTorch share: the element types of tensors, and how texts are decoded.

The types are those of schema/scalar_type.fbs.
"""

from __future__ import annotations

from collections.abc import Callable

# Scalar type -> (dtype, bytes per element; 0 if elements are packed).
SCALAR_TYPES = {
    0: ("u8", 1), 1: ("i8", 1), 2: ("i16", 2), 3: ("i32", 4), 4: ("i64", 8), 5: ("f16", 2),
    6: ("f32", 4), 7: ("f64", 8), 8: ("c32", 4), 9: ("c64", 8), 10: ("c128", 16), 11: ("bool", 1),
    12: ("qi8", 1), 13: ("qu8", 1), 14: ("qi32", 4), 15: ("bf16", 2), 16: ("qu4x2", 0),
    17: ("qu2x4", 0), 18: ("bits1x8", 0), 19: ("bits2x4", 0), 20: ("bits4x2", 0), 21: ("bits8", 1),
    22: ("bits16", 2), 23: ("f8e5m2", 1), 24: ("f8e4m3fn", 1), 25: ("f8e5m2fnuz", 1),
    26: ("f8e4m3fnuz", 1), 27: ("u16", 2), 28: ("u32", 4), 29: ("u64", 8),
}  # fmt: skip
MOST_DIMENSIONS = 16  # the runtime's limit


def scalar_type(number: int) -> tuple[str, int]:
    """The dtype and the bytes per element of a scalar type, 0 bytes if unknown or packed."""
    return SCALAR_TYPES.get(number, (f"scalar type {number}", 0))


CountProblem = Callable[[str, int, str], None]
"""Called with a kind of problem, how often it occurs, and its first place."""


def decoded(texts: list[bytes], count_problem: CountProblem) -> list[str]:
    """Decode the texts of a file; texts that are not UTF-8 are counted."""
    decoded = [text.decode("utf-8", "replace") for text in texts]
    bad = [t for t, raw in zip(decoded, texts, strict=True) if "\ufffd" in t and t.encode() != raw]
    if bad:
        count_problem("text is not UTF-8: shown with \ufffd", len(bad), repr(bad[0]))
    return decoded
