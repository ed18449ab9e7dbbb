"""What a delegate's metadata and PyTorch's arguments say about a slice, in words. No Qt."""

from __future__ import annotations

import json
from collections.abc import Mapping

from viewer.codecs.json_values import sequence
from viewer.formats.executorch.etdump.metadata import FELL_BACK, METADATA, values_of
from viewer.model.text import one_line
from viewer.model.trace import Column

_PREFERRED, _SUPPORTED = "preferredComputeUnit", "supportedComputeUnits"
_TITLES = {"operatorName": "Operation", "outputNames": "Outputs", "estimatedCost": "Cost (est.)"}
# Parallel lists in PyTorch's traces: dtype, shape, and value as text of every argument.
_INPUTS, _CONCRETE = ("Input type", "Input Dims"), "Concrete Inputs"
_NO_TYPE = "–"
_LONGEST_ARGUMENT = 200  # characters; a trace may state an argument of any length
_UNITS = {"NE": "Neural Engine"}  # CPU and GPU are known by these names


def metadata_rows(columns: Mapping[str, Column], i: int) -> tuple[dict[str, str], set[str]]:
    """Return rows in words for slice i, and the columns that need no row of their own.

    The metadata itself needs none if every value in it is in a column.
    """
    rows, covered = _core_ml(columns, i)
    inputs = _inputs(columns, i)
    if inputs:
        rows["Inputs"] = inputs
        covered |= {*_INPUTS, _CONCRETE}
    column = columns.get(METADATA)
    raw = column.value(i) if column is not None else None
    values = values_of(raw.encode("utf-8", "surrogatepass")) if isinstance(raw, str) else None
    if values and all(name in columns or f"{METADATA}.{name}" in columns for name in values):
        covered.add(METADATA)
    return rows, covered


def _inputs(columns: Mapping[str, Column], i: int) -> str:
    """Return one line per argument of a PyTorch operator: "float [8, 4]" or "Scalar 1".

    "" if the lists do not state the same number of arguments.
    """
    types, shapes = (_list(columns, name, i) for name in _INPUTS)
    values = _list(columns, _CONCRETE, i)
    if not types or len(shapes) != len(types) or not all(isinstance(t, str) for t in types):
        return ""
    if _value(columns, _CONCRETE, i) is None:
        values = [""] * len(types)
    elif len(values) != len(types) or not all(isinstance(v, str) for v in values):
        return ""
    return "\n".join(
        _short(f"{type_ or _NO_TYPE} {value or (json.dumps(shape) if type_ else '')}").rstrip()
        for type_, shape, value in zip(types, shapes, values, strict=True)
    )


def _short(argument: str) -> str:
    """Return an argument on one line, cut at `_LONGEST_ARGUMENT` characters."""
    text = one_line(argument[: _LONGEST_ARGUMENT + 1])
    return text if len(text) <= _LONGEST_ARGUMENT else f"{text[:_LONGEST_ARGUMENT]}…"


def _core_ml(columns: Mapping[str, Column], i: int) -> tuple[dict[str, str], set[str]]:
    """Return the rows about an operator of Core ML's plan; none for other metadata."""
    preferred, units = _value(columns, _PREFERRED, i), _texts(_value(columns, _SUPPORTED, i))
    if not isinstance(preferred, str) or not units:
        return {}, set()
    others = [_UNITS.get(unit, unit) for unit in units if unit != preferred]
    note = ""
    if _value(columns, FELL_BACK, i) is True:
        note = f" ({_UNITS['NE']} is supported)"
    elif others:
        are = "is" if len(others) == 1 else "are"
        note = f" ({' and '.join(others)} {are} supported too)"
    rows = {"Compute unit": _UNITS.get(preferred, preferred) + note}
    covered = {_PREFERRED, _SUPPORTED, FELL_BACK}
    for name, title in _TITLES.items():
        value = _value(columns, name, i)
        if value is not None:
            rows[title] = ", ".join(_texts(value)) or str(value)
            covered.add(name)
    return rows, covered


def _value(columns: Mapping[str, Column], name: str, i: int) -> int | float | bool | str | None:
    return columns[name].value(i) if name in columns else None


def _texts(value: object) -> list[str]:
    """Return the texts in a list that is JSON text, none for other values."""
    return [text for text in _elements(value) if isinstance(text, str)]


def _list(columns: Mapping[str, Column], name: str, i: int) -> list[object]:
    return _elements(_value(columns, name, i))


def _elements(value: object) -> list[object]:
    """Return the elements of a list that is JSON text, none for other values."""
    try:
        return list(sequence(json.loads(str(value))))
    except (ValueError, RecursionError):
        return []
