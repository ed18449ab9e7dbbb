"""Turns what delegates log with their events into columns: metadata, and JSON in identifiers.

The column `metadata` has all metadata as logged: as text if printable, else in hexadecimal. In
addition, every value in it becomes a column:

* A JSON object: one column per key. Nested objects are flattened (`tile.width`), lists and what is
  nested more than three levels deep are JSON text.
* Other metadata: the values that a parser of `viewer.formats.metadata_parsers` returns.
* Core ML states the preferred and the supported compute units of an operator. `fell_back_to_cpu` is
  derived from them: the CPU is preferred although the Neural Engine is supported.
* Arm VGF's `executorch.vgf.neural_statistics`, versions 1 and 2: the segments become columns too
  (`segments.0.statistics_info.text`). What only Arm's tools can decode is left in `metadata`.
* Vulkan logs no metadata, but the shader in the identifier: `kernel` and `dispatch_id`.

A column has the type of its values: int, float, bool, or text if they differ in type. Null, "" and
numbers that are not finite are missing values. A name that Opscope or the file uses for something
else gets the prefix "metadata."; names that differ only in case count as the same.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from viewer.arrays import Ints, flags_at
from viewer.codecs.json_values import InvalidJson, Parsed
from viewer.codecs.reading import Cancelled, ReadCancelled
from viewer.formats.executorch.etdump.events import Codes32, ProfileEvents, filled
from viewer.formats.metadata_parsers import MetadataParsers, MetadataValue
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Column
from viewer.program.debug_handles import shader_of

METADATA = "metadata"
FELL_BACK = "fell_back_to_cpu"
KERNEL, DISPATCH = "kernel", "dispatch_id"
MOST_COLUMNS = 64
# Columns of other tables and arguments of exports; another column of that name would be lost there.
RESERVED = frozenset(
    (
        "process", "thread", "depth", "name", "start_ns", "dur_ns", "start_ticks", "dur_ticks",
        "identifier", "method", "instruction_id", "debug_handles", "operators", "source",
        "called_from", "caller", "link_reason", "derived", "event", "operator", "node", "op_type",
        "module", "location", "run", "inference", "estimate_ticks", "estimate_ns", "type", "line",
        "unit", "delegate", "timing", "chain", "rank", "category", "native_start", "native_dur",
        "native_unit", "native_ns", "cumulative_dur", METADATA,
    )
)  # fmt: skip
# About a gigabyte for all columns of a file; with ten million events, that is 13 columns.
_MOST_CELLS = 1 << 27
_DEEPEST = 3
_CHUNK = 4096  # distinct metadata between two checks for cancellation
_EXACT = 1 << 53  # whole numbers up to here are exact as floats
_INT64 = 1 << 63
_VGF = "executorch.vgf.neural_statistics"
_VGF_VERSIONS = (1, 2)
_VGF_BLOBS = ("debug_database", "statistics_info", "statistics_memory")

Values = dict[str, MetadataValue]


def metadata_column(events: ProfileEvents) -> dict[str, Column]:
    """The column with all metadata as text; none if no event has any."""
    stated = filled(events.metadata, events.metadatas)
    if not stated.any():
        return {}
    codes = np.where(stated, events.metadata, 0).astype(np.uint32)
    texts = [_shown(raw) for raw in events.metadatas]
    return {METADATA: Column.of_codes(codes, texts, stated)}


def value_columns(
    events: ProfileEvents, others: Mapping[str, Column], builder: TraceBuilder, cancelled: Cancelled
) -> dict[str, Column]:
    """Columns with the values in the events' metadata and identifiers. Raises ReadCancelled.

    others: the columns of the events that exist already. Faulty parsers and keys without a column
    are counted as problems of the builder.
    """
    taken = {name.casefold() for name in (*RESERVED, *others)}
    shaders = [_shader(text) for text in events.texts]
    columns = _columns(events.text, shaders, taken, builder)
    parsed = _parsed(events, builder, cancelled)
    return columns | _columns(events.metadata, parsed, taken, builder)


def values_of(raw: bytes) -> Values | None:
    """The values in a JSON object by column name, None for other metadata."""
    if not raw.lstrip().startswith(b"{"):
        return None
    try:
        # Some delegates log the NUL at the end of the text too.
        metadata = Parsed(raw.rstrip(b"\0").decode()).value
    except (UnicodeDecodeError, InvalidJson):
        return None
    if not isinstance(metadata, dict):
        return None
    if metadata.get("schema") == _VGF and metadata.get("schema_version") in _VGF_VERSIONS:
        metadata = _vgf(metadata)
    flat = {name: value for name, value in _flat(metadata) if _is_value(value)}
    preferred, supported = (
        metadata.get("preferredComputeUnit"),
        metadata.get("supportedComputeUnits"),
    )
    if isinstance(preferred, str) and isinstance(supported, list):
        flat.setdefault(FELL_BACK, preferred == "CPU" and "NE" in supported)
    return flat


def _parsed(
    events: ProfileEvents, builder: TraceBuilder, cancelled: Cancelled
) -> list[Values | None]:
    """The values of every distinct metadata; None for those without any."""
    parsers: MetadataParsers | None = None
    parsed: list[Values | None] = []
    for number, raw in enumerate(events.metadatas):
        if number % _CHUNK == 0 and cancelled():
            raise ReadCancelled
        values = values_of(raw) if raw else None
        if raw and values is None:
            parsers = parsers or MetadataParsers()
            parsed_values = parsers.values(raw)
            values = parsed_values and {n: v for n, v in parsed_values.items() if _is_value(v)}
        parsed.append(values)
    for fault, where in (parsers.faults if parsers else {}).items():
        raw = where[0]
        first = ""
        if raw:
            rows = np.flatnonzero(events.metadata == events.metadatas.index(raw))
            first = f"event {events.row[rows[0]]}"
        builder.problem(fault, len(where), first)
    return parsed


def _flat(value: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """The values of an object with the names of their columns; lists as JSON text."""
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, dict) and depth < _DEEPEST:
            yield from _flat(inner, f"{name}.", depth + 1)
        else:
            yield name, _json(inner) if isinstance(inner, dict | list) else inner


def _is_value(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    return value is not None and value != ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _vgf(fields: dict[str, Any]) -> dict[str, Any]:
    """VGF statistics with the segments as columns, and without the data of binary blobs."""
    segments = fields.get("segments")
    if not isinstance(segments, list):
        return fields
    flat: dict[str, Any] = {**fields, "segments": len(segments)}
    for i, segment in enumerate(s for s in segments if isinstance(s, dict)):
        for key, value in segment.items():
            if key not in _VGF_BLOBS or not isinstance(value, dict):
                flat[f"segments.{i}.{key}"] = value
                continue
            for part in ("available", "vulkan_result", "size", "reason"):
                flat[f"segments.{i}.{key}.{part}"] = value.get(part)
            if value.get("is_text"):
                flat[f"segments.{i}.{key}.text"] = _blob_text(value.get("data"))
    return flat


def _blob_text(data: Any) -> str | None:
    """The text in base64, None if it is not one."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except (TypeError, ValueError, binascii.Error):
        return None


def _shader(text: str) -> Values | None:
    """The kernel and dispatch in the identifier of a Vulkan shader, None for other identifiers."""
    shader = shader_of(text)
    if shader is None or not shader.kernel:
        return None
    return {KERNEL: shader.kernel} | (
        {} if shader.dispatch is None else {DISPATCH: shader.dispatch}
    )


def _columns(
    codes: Codes32, parsed: Sequence[Values | None], taken: set[str], builder: TraceBuilder
) -> dict[str, Column]:
    """One column per name in the values; codes: the position of each event's values, -1 if none."""
    most = min(MOST_COLUMNS, max(_MOST_CELLS // max(len(codes), 1), 8))
    cells: dict[str, dict[int, MetadataValue]] = {}
    left_out: dict[str, None] = {}
    for number, values in enumerate(parsed):
        for name, value in (values or {}).items():
            if name in cells or len(cells) < most:
                cells.setdefault(name, {})[number] = value
            else:
                left_out[name] = None
    builder.problem(
        f"keys of metadata beyond the first {most}: only in the column metadata",
        len(left_out),
        next(iter(left_out), ""),
    )
    columns = {}
    for name, of_number in cells.items():
        label = name
        while label.casefold() in taken:
            label = f"{METADATA}.{label}"
        taken.add(label.casefold())
        columns[label] = _column(codes, np.array(list(of_number)), list(of_number.values()))
    return columns


def _column(codes: Codes32, rows: Ints, values: list[MetadataValue]) -> Column:
    """The column in which the events with the codes `rows` have these values, and others none."""
    most = int(max(codes.max(initial=0), rows.max())) + 1
    number = np.zeros(most + 1, np.int64)  # the last entry is for events with the code -1
    number[rows] = np.arange(len(rows))
    has = flags_at(most + 1, rows)
    of_event, valid = number[codes], has[codes]
    types = {type(value) for value in values}
    whole = [v for v in values if isinstance(v, int)]
    largest = max(map(abs, whole), default=0)
    if types == {bool}:
        typed = np.array(values, np.bool_)
    elif types == {int} and all(-_INT64 <= v < _INT64 for v in whole):
        typed = np.array(values, np.int64)
    elif types == {float} or (types == {int, float} and largest <= _EXACT):
        typed = np.array(values, np.float64)
    else:
        strings: dict[str, int] = {}
        texts = (v if isinstance(v, str) else _json(v) for v in values)
        code = [strings.setdefault(text, len(strings)) for text in texts]
        return Column.of_codes(np.array(code, np.uint32)[of_event], tuple(strings), valid)
    return Column(typed[of_event], None if valid.all() else valid)


def _shown(metadata: bytes) -> str:
    """Metadata as text if printable, else in hexadecimal."""
    try:
        text = metadata.decode()
    except UnicodeDecodeError:
        return metadata.hex()
    return text if text.replace("\n", "").replace("\t", "").isprintable() else metadata.hex()
