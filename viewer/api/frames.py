"""Makes DataFrames of rows, columns, slices, counters and flows, and Arrow tables of these.

The columns of slices are views: numbers are the arrays of the trace, texts are categories over the
codes that it has, and what is a property of an identity or a row takes memory only when it is used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from viewer import SCHEMA, __version__
from viewer.analysis.torq.unit_counters import unit_counters
from viewer.api.spread_arrays import Spread, SpreadCategorical, SpreadInts, by_code, by_row
from viewer.arrays import Ints
from viewer.codecs.atomic_file import replacing
from viewer.export.perfetto.source import flows_among
from viewer.export.table_files import storable
from viewer.model.times import ticks_to_ns
from viewer.model.trace import Column
from viewer.reports.info import Facts
from viewer.tables.columns import SharedColumn, TableSpec, joined_shared
from viewer.tables.command_rows import COUNTERS, FLOWS
from viewer.tables.slices import SLICES, Per, SliceTable
from viewer.workspace.exports import common_offsets
from viewer.workspace.snapshot import LinkedTrace, process_name
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    import pyarrow as pa


_STRING = pd.StringDtype("python")
_UNKNOWN = TableSpec("", ())


def frame_of_rows(rows: Sequence[Mapping[str, Any]], spec: TableSpec = _UNKNOWN) -> pd.DataFrame:
    """Return rows of plain values as a table; None, and what a row lacks, is missing.

    spec: the columns that come first, with their dtypes; the types of others follow from values.
    """
    names = dict.fromkeys((*spec.names, *(name for row in rows for name in row)))
    return frame_of_columns({name: [row.get(name) for row in rows] for name in names}, spec)


def frame_of_columns(
    columns: Mapping[str, Sequence[Any]], spec: TableSpec = _UNKNOWN
) -> pd.DataFrame:
    """Return columns of plain values as a table; the dtypes of those not in `spec` follow."""
    dtypes = {column.name: column.dtype for column in spec.columns}
    return pd.DataFrame(
        {name: _typed(values, dtypes.get(name)) for name, values in columns.items()}
    )


def _typed(values: Sequence[Any], dtype: str | None) -> Any:
    """Return values as an array of a dtype, by default of that of the values."""
    if dtype is None:
        dtype = _dtype_of(values)
    if dtype == "category":
        return pd.Categorical(pd.array(values, dtype=object))
    if dtype == "string":
        return pd.array(values, dtype=_STRING)
    if dtype == "float64":
        return np.array([np.nan if value is None else value for value in values], np.float64)
    if dtype == "object":
        objects = np.empty(len(values), object)
        objects[:] = list(values)
        return objects
    if dtype in ("int64", "bool"):
        return np.array(values, dtype)
    nullable = [pd.NA if value is None else value for value in values]
    return pd.array(nullable, dtype="Int64" if dtype == "Int64" else "boolean")


def _dtype_of(values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "Int64"
    return "float64" if kinds and kinds <= {int, float} else "object"


# -- slices ----------------------------------------------------------------------------------------


def frame_of_slices(
    tables: Sequence[SliceTable], names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return the slices of traces, one after another, in the order in which these have them.

    names: the columns; all of the contract and of the files by default. One trace is not copied.
    """
    if not tables:
        return frame_of_columns(dict.fromkeys(SLICES.names if names is None else names, ()), SLICES)
    if len(tables) == 1:
        (table,) = tables
        slices = table.source.table.trace.slices
        spreads = {
            Per.KEY: by_code(slices.key),
            Per.ROW: by_row(slices.row_ptr),
            # Which inference a slice belongs to is found when it is first needed.
            Per.RUN: Spread(len(slices), lambda index: table.runs[index]),
            Per.SLICE: Spread(len(slices), lambda index: index),
        }
        columns = {
            name: _view(name, *table.column(name), spreads)
            for name in (table.names if names is None else names)
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(slices)), copy=False)
    chosen = dict.fromkeys(name for table in tables for name in table.names)
    chosen = chosen if names is None else dict.fromkeys(names)
    # The first name is in all tables: each has its rows from it.
    joined = joined_shared([
        table.shared(np.arange(len(table)), [n for n in table.names if n in chosen or n == _FIRST])
        for table in tables
    ])  # fmt: skip
    return pd.DataFrame({name: _spread(name, joined[name]) for name in chosen}, copy=False)


def _spread(name: str, column: SharedColumn) -> Any:
    """Return a column of several traces: spread when it is used, if slices share its values."""
    values, places = column.values, column.places
    is_number = values.values.dtype.kind in "iu" and not _is_plain(name, values)
    if not column.is_shared or (values.strings is None and not is_number):
        return _whole(name, column.taken())
    spread = Spread(places.rows, lambda index: places.block(slice(None))[index])
    return _view(name, Per.KEY, values, {Per.KEY: spread})


def _view(name: str, per: Per, column: Column, spreads: Mapping[Per, Spread]) -> Any:
    """Return a column of slices as an array of pandas that shares the memory of the trace."""
    spread, values = spreads[per], column.values
    if column.strings is not None:
        codes, texts = _distinct(column.strings)
        if per is not Per.SLICE:
            return SpreadCategorical.of(_small_codes(column, codes, len(texts)), spread, texts)
        return SpreadCategorical.of(_small(codes, len(texts)), by_code(values, column.valid), texts)
    if values.dtype.kind == "b" and per is not Per.SLICE:
        is_one = len(values) > 0 and bool((values == values[0]).all())
        return _fixed(
            np.broadcast_to(values[0], spread.length) if is_one else spread.of(values, False)
        )
    if values.dtype.kind in "fb" or _is_plain(name, column):
        return _whole(name, column)
    return SpreadInts.of(values, column.valid, spread)


def _whole(name: str, column: Column) -> Any:
    """Return a column with a value per slice, of one trace or of several."""
    values = column.values
    if column.strings is not None:
        codes, texts = _distinct(column.strings)
        return pd.Categorical.from_codes(
            _small_codes(column, codes, len(texts)), dtype=pd.CategoricalDtype(texts)
        )
    null = None if column.valid is None else ~column.valid
    if values.dtype.kind == "f":
        return _fixed(values if null is None else np.where(null, np.nan, values))
    if values.dtype.kind == "b":
        return _fixed(values) if null is None else pd.arrays.BooleanArray(values, null)
    if _is_plain(name, column):
        return _fixed(values)
    none = np.broadcast_to(np.False_, values.shape) if null is None else null
    return pd.arrays.IntegerArray(_fixed(values), none)


def _is_plain(name: str, column: Column) -> bool:
    """Whether a column is int64 without nulls in every profile: by its contract, not its values."""
    return column.valid is None and name in _INTS


_FIRST = SLICES.names[0]
_INTS = {column.name for column in SLICES.columns if column.dtype == "int64"}


def _fixed(values: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written, so that no table changes a trace."""
    view = values.view()
    view.flags.writeable = False
    return view


def _distinct(strings: Sequence[str]) -> tuple[Ints, pd.Index[Any]]:
    """Return texts as categories, each once, and the category of each text."""
    number = {text: i for i, text in enumerate(dict.fromkeys(strings))}
    codes = np.array([number[text] for text in strings], np.int64)
    return codes, pd.Index(list(number), dtype=_TEXT)


def _small_codes(column: Column, codes: Ints, count: int) -> NDArray[Any]:
    """Return the category of each value of a text column, -1 for null. codes: of its texts."""
    small_codes = np.full(len(column.values), -1, np.int64)
    has = slice(None) if column.valid is None else column.valid
    small_codes[has] = codes[column.values[has]]
    return _small(small_codes, count)


def _small(codes: Ints, count: int) -> NDArray[Any]:
    """Return codes of `count` categories in the type that pandas uses for so many."""
    small = next(t for t in (np.int8, np.int16, np.int32) if count < np.iinfo(t).max)
    return codes.astype(small)


# What pandas makes of texts by itself: `str` since version 3, which is not StringDtype("python").
_TEXT = pd.Index(["text"]).dtype


# Tables of what traces have besides slices: the values of counters, and flows.


def frame_of_counters(workspace: Workspace, traces: Sequence[LinkedTrace]) -> pd.DataFrame:
    """Return the values of all counters, counter by counter."""
    heads: list[tuple[str | None, ...]] = []
    counts, derived = list[int](), list[bool]()
    ticks, ns, values = [], [], []
    for linked_trace, offset in zip(traces, common_offsets(traces), strict=True):
        stated = len(linked_trace.trace.counters)
        rate = linked_trace.rate.ns_per_tick
        for number, counter in enumerate(unit_counters(linked_trace.trace)):
            process = process_name(workspace.traces, linked_trace.trace, counter.process)
            heads.append((linked_trace.trace.path, process, counter.name, counter.unit or None))
            counts.append(len(counter.tick))
            derived.append(number >= stated)
            ticks.append(counter.tick)
            ns.append(ticks_to_ns(counter.tick, rate) + offset)
            values.append(counter.value.astype(np.float64) * counter.scale(rate))
    of_row = np.repeat(np.arange(len(heads)), counts)
    columns: dict[str, Any] = {
        name: pd.Categorical([head[part] for head in heads]).take(of_row)
        for part, name in enumerate(("file", "process", "name", "unit"))
    }
    columns["start_ns"] = np.concatenate([np.empty(0, np.int64), *ns])
    columns["start_ticks"] = np.concatenate([np.empty(0, np.int64), *ticks])
    columns["value"] = np.concatenate([np.empty(0), *values])
    columns["derived"] = np.array(derived, np.bool_)[of_row]
    return pd.DataFrame({name: columns[name] for name in COUNTERS.names}, copy=False)


def frame_of_flows(traces: Sequence[LinkedTrace]) -> pd.DataFrame:
    """Return the flows of all traces; slices are numbered over all of them, as in their table."""
    files, kinds, first = [], [], 0
    ends: list[list[Any]] = [[], []]
    for linked_trace in traces:
        edges = flows_among(linked_trace.table, None)
        stated = len(linked_trace.trace.flows)
        ends[0].append(edges.producer + first)
        ends[1].append(edges.consumer + first)
        files += [linked_trace.trace.path] * len(edges.producer)
        kinds += ["stated"] * stated + ["proven"] * (len(edges.producer) - stated)
        first += len(linked_trace.trace.slices)
    producer, consumer = (np.concatenate([np.empty(0, np.int64), *end]) for end in ends)
    columns = {
        "file": pd.Categorical(files),
        "producer": producer,
        "consumer": consumer,
        "kind": pd.Categorical(kinds, categories=["stated", "proven"]),
    }
    return pd.DataFrame({name: columns[name] for name in FLOWS.names}, copy=False)


# The answers of commands that are more than one table.


class Answer:
    """What a command answers: `facts`, as its `--json` prints them, and its lists as tables.

    A table is an attribute with the name of its list. It has the rows of all files, with the file
    (and the method) in front.

    Attributes:
        facts: What the command prints with `--json`, as dicts and lists.
        tables: The lists as DataFrames, by name.
    """

    def __init__(self, facts: Facts, tables: Mapping[str, pd.DataFrame]) -> None:
        self.facts = facts
        self.tables = dict(tables)

    def __getattr__(self, name: str) -> pd.DataFrame:
        try:
            return self.__dict__["tables"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    def __repr__(self) -> str:
        sizes = (f"{name}: {len(table)} rows" for name, table in self.tables.items())
        return f"<Answer with {', '.join(sizes)}>"

    def to_json(self) -> str:
        """Return the answer as the command prints it with `--json`.

        Returns:
            JSON.
        """
        return json.dumps(self.facts, indent=1)


def nested_answer(facts: Facts, name: str, lists: Sequence[str], head: Mapping[str, str]) -> Answer:
    """Return the answer for a list of files (or methods) that have lists of their own.

    name: of the list in the facts, and of its table, which has what is not a list. lists: become
    tables of all of them, with the values of `head` in front: key -> column.
    """
    rows = facts[name]
    plain_rows = [{key: value for key, value in row.items() if key not in lists} for row in rows]
    tables = {name: frame_of_rows(plain_rows)}
    for part in lists:
        tables[part] = frame_of_rows(
            [
                {**{column: row[key] for key, column in head.items()}, **part_row}
                for row in rows
                for part_row in row.get(part, ())
            ]
        )
    return Answer(facts, tables)


def flat_answer(facts: Facts, lists: Sequence[str]) -> Answer:
    """Return the answer for some lists of rows."""
    return Answer(facts, {name: frame_of_rows(facts[name]) for name in lists})


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """Return a table with the columns of a DataFrame.

    Numbers without nulls and categories share their memory with the frame, also the codes that
    several columns have; lists and dicts become JSON.
    """
    import pyarrow

    columns = [_array(pyarrow, frame[name]) for name in frame.columns]
    metadata = {"opscope": __version__, "schema": str(SCHEMA)}
    return pyarrow.Table.from_arrays(columns, names=list(frame.columns), metadata=metadata)


def write_parquet(table: pa.Table, path: str) -> None:
    """Write a table as a Parquet file, completely or not at all."""
    from pyarrow import parquet

    with replacing(path) as out:
        parquet.write_table(table, out, compression="zstd")


def _array(pa: Any, column: pd.Series[Any]) -> Any:
    values = column.array
    if isinstance(values, pd.Categorical):
        codes = values.codes
        null = codes < 0
        mask = null if null.any() else None
        texts = pa.array([storable(str(text)) for text in values.categories], pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(_stored(codes), mask=mask), texts)
    if isinstance(values, pd.arrays.IntegerArray):
        mask, numbers = column.isna().to_numpy(), values.to_numpy(np.int64, na_value=0)
        return pa.array(_stored(numbers), mask=mask if mask.any() else None)
    if column.dtype == object:
        texts = [None if value is None else json.dumps(value) for value in column]
        return pa.array(texts, pa.string())
    if isinstance(column.dtype, np.dtype):
        stored_values = _stored(column.to_numpy())
        mask = np.isnan(stored_values) if stored_values.dtype.kind == "f" else None
        return pa.array(stored_values, mask=mask if mask is not None and mask.any() else None)
    return pa.array(column, from_pandas=True)


def _stored(values: NDArray[Any]) -> NDArray[Any]:
    """Return values that Arrow can use as they are: one after another in memory."""
    return np.ascontiguousarray(values)
