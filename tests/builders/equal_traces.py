"""Whether two traces are equal in every field, with the types and dtypes of their values."""

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum

import numpy as np


def differences(first: object, second: object, place: str = "trace") -> Iterator[str]:
    """Yield where two values differ."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        if list(first) != list(second):
            yield f"{place}: other names"
        for name in first:
            yield from differences(first[name], second[name], f"{place}[{name!r}]")
    elif type(first) is not type(second):
        yield f"{place}: {type(first)} is {type(second)}"
    elif dataclasses.is_dataclass(first):
        for field in dataclasses.fields(first):
            name = field.name
            yield from differences(getattr(first, name), getattr(second, name), f"{place}.{name}")
    elif isinstance(first, np.ndarray):
        if first.dtype != second.dtype or first.shape != second.shape:
            yield f"{place}: {first.dtype} {first.shape} is {second.dtype} {second.shape}"
        elif first.dtype == object:
            pairs = zip(first.tolist(), second.tolist(), strict=True)
            if any(type(a) is not type(b) or a != b for a, b in pairs):
                yield f"{place}: other objects"
        elif first.tobytes() != second.tobytes():
            yield f"{place}: other numbers"
    elif isinstance(first, tuple):
        if len(first) != len(second):
            yield f"{place}: {len(first)} is {len(second)}"
        for number, pair in enumerate(zip(first, second, strict=False)):
            yield from differences(*pair, f"{place}[{number}]")
    elif isinstance(first, Enum):
        if first is not second:
            yield f"{place}: {first} is {second}"
    elif repr(first) != repr(second):  # nan is nan
        yield f"{place}: {first!r} is {second!r}"
