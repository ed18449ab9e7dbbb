"""What a delegate's metadata says about a slice, in words. No Qt."""

from __future__ import annotations

import json
from collections.abc import Mapping

from viewer.codecs.json_values import sequence
from viewer.formats.executorch.etdump.metadata import FELL_BACK, METADATA, values_of
from viewer.model.trace import Column

_PREFERRED, _SUPPORTED = "preferredComputeUnit", "supportedComputeUnits"
_TITLES = {"operatorName": "Operation", "outputNames": "Outputs", "estimatedCost": "Cost (est.)"}
_UNITS = {"NE": "Neural Engine"}  # CPU and GPU are known by these names


def metadata_rows(columns: Mapping[str, Column], i: int) -> tuple[dict[str, str], set[str]]:
    """Return rows in words for slice i, and the columns that need no row of their own.

    The metadata itself needs none if every value in it is in a column.
    """
    rows, said = _core_ml(columns, i)
    column = columns.get(METADATA)
    raw = column.value(i) if column is not None else None
    values = values_of(raw.encode("utf-8", "surrogatepass")) if isinstance(raw, str) else None
    if values and all(name in columns or f"{METADATA}.{name}" in columns for name in values):
        said.add(METADATA)
    return rows, said


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
    said = {_PREFERRED, _SUPPORTED, FELL_BACK}
    for name, title in _TITLES.items():
        value = _value(columns, name, i)
        if value is not None:
            rows[title] = ", ".join(_texts(value)) or str(value)
            said.add(name)
    return rows, said


def _value(columns: Mapping[str, Column], name: str, i: int) -> int | float | bool | str | None:
    return columns[name].value(i) if name in columns else None


def _texts(value: object) -> list[str]:
    """Return the texts in a list that is JSON text, none for other values."""
    try:
        return [text for text in sequence(json.loads(str(value))) if isinstance(text, str)]
    except ValueError:
        return []
