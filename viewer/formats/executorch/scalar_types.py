"""The element types of tensors in the flatbuffers of ExecuTorch: schema/scalar_type.fbs."""

from __future__ import annotations

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
