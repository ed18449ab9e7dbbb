"""Keys whose groups are properties of single slices: places, arguments and categories.

Slices of one identity (`Trace.keys`) can differ in them, so a group is stated per slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from viewer.analysis.links.labels import run_label, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Ints
from viewer.model.queries import foreign, run_of_slices
from viewer.model.trace import Column, Trace

ARGUMENT = "arg:"
CATEGORY = "category"
# Each instant of a slice is in one place, whatever else it is a part of.
PLACES = ("thread", "process", "rank", "unit", "inference")
SLICE_KEYS = ("process", "rank", CATEGORY)


def argument_names(trace: Trace) -> tuple[str, ...]:
    """Return the arguments that slices of a trace have, by name."""
    return tuple(sorted(trace.slices.columns, key=str.casefold))


def argument(trace: Trace, name: str) -> Column | None:
    """Return an argument of the slices; a name in another case is the same one if only one is."""
    columns = trace.slices.columns
    if name in columns:
        return columns[name]
    alike = [other for other in columns if other.casefold() == name.casefold()]
    return columns[alike[0]] if len(alike) == 1 else None


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the most similar of some names, "" if none is similar."""
    from difflib import get_close_matches  # of a complaint only

    by_fold = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), by_fold, 1, 0.6)
    return by_fold[close[0]] if close else ""


def missing_of_slices(trace: Trace, key: str) -> str:
    """Return why a trace has no groups by a key of slices, as a sentence, or ""."""
    if key == "rank":
        return "" if trace.rank is not None else "The file states no rank"
    if key == CATEGORY:
        return "" if CATEGORY in trace.slices.columns else "No slice has a category"
    name = key.removeprefix(ARGUMENT)
    if not key.startswith(ARGUMENT) or argument(trace, name) is not None:
        return ""
    similar = nearest(name, trace.slices.columns)
    return f"No slice has the argument {name}" + (f"; {similar} is similar" if similar else "")


def slice_groups(table: LinkTable, key: str) -> tuple[tuple[str, ...], Ints]:
    """Return the labels of the groups by a place or key of slices, and per slice its group.

    A slice is -1 if it has none. Slices on other clocks are in no place of this one.
    """
    trace = table.trace
    slices = trace.slices
    if key == CATEGORY or key.startswith(ARGUMENT):
        column = argument(trace, key.removeprefix(ARGUMENT))
        assert column is not None  # `missing_of_slices` has said so
        return values_of(column)
    if key == "inference":
        runs, inferences = list(trace.runs), list(trace.inferences())
        number = {id(run): i for i, run in enumerate(inferences)}
        of_run = np.array([*(number.get(id(run), -1) for run in runs), -1], np.int64)
        return tuple(run_label(table, run) for run in inferences), of_run[run_of_slices(trace)]
    if key == "rank":
        assert trace.rank is not None
        return (f"rank {trace.rank.text}",), np.zeros(len(slices), np.int64)
    texts: Sequence[str] = [track.process for track in trace.tracks]
    if key == "unit":
        texts = [track.unit.name.replace("_", " ").lower() for track in trace.tracks]
    elif key == "thread":
        texts = [f"{t.process} > {track_name(table, i)}" for i, t in enumerate(trace.tracks)]
        return tuple(texts), slices.row_track[slices.rows()].astype(np.int64)
    number_of: dict[str, int] = {}
    of_track = np.array([number_of.setdefault(t, len(number_of)) for t in texts], np.int64)
    codes = of_track[slices.row_track[slices.rows()]]
    codes[foreign(slices)] = -1
    return tuple(text or "(no name)" for text in number_of), codes


def values_of(column: Column) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct values of a column as texts, and per slice the number of its value."""
    has = np.ones(len(column.values), np.bool_) if column.valid is None else column.valid
    values, of_slice = np.unique(column.values[has], return_inverse=True)
    codes = np.full(len(has), -1, np.int64)
    if column.strings is None:
        codes[has] = of_slice
        return tuple(str(value) for value in values.tolist()), codes
    number: dict[str, int] = {}
    texts = [column.strings[int(value)] for value in values.tolist()]
    number_of_value = np.array([number.setdefault(text, len(number)) for text in texts], np.int64)
    codes[has] = number_of_value[of_slice] if len(number) else of_slice
    return tuple(number), codes
