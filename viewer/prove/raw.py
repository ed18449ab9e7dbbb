"""The slices of a profile as a table of DuckDB: ticks, places, parents and identities."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.arrays import Ints
from viewer.model.inferences.inference_views import thread_of_rows
from viewer.model.names.profilers import SAMPLES
from viewer.model.queries import counted_slices, execute_keys, foreign, tree, unfinished
from viewer.model.timing import Timing, rounded_zeros
from viewer.model.trace import Trace
from viewer.query.engine import package

if TYPE_CHECKING:
    import duckdb

# More would take minutes and gigabytes.
MOST_SLICES = 300_000
TOO_MANY = f"it has more than {MOST_SLICES:,} slices"


class Raw:
    """A connection of DuckDB with the table `slices` of one profile.

    id: the number of the slice. place, reach: its rank in preorder, and that of the last slice
    inside it. parent: the slice around it. began, ended: its ticks. thread: as in
    `viewer.model.inferences.inference_views.thread_of_rows`. native: a clock of its own timed it.
    computed: made of other slices; derived: and there are others. counts, steady: whether the whole
    trace counts it, with and without the warm-up; everything: always, as in a range. is_open: it
    has no end. is_zero: the file cut it to 0. samples: how many it is made of, 1 for others.
    """

    def __init__(self, trace: Trace, ns_per_tick: Fraction) -> None:
        """ns_per_tick: the rate of the figures."""
        self.trace, self.rate = trace, ns_per_tick
        self.connection: duckdb.DuckDBPyConnection = package().connect()
        self.connection.execute("SET enable_progress_bar = false")
        slices, count = trace.slices, len(trace.slices)
        shape, row = tree(slices), slices.rows()
        place, parent, reach = np.empty(count, np.int64), np.full(count, -1), np.arange(count)
        place[shape.index] = np.arange(count)
        inner = np.flatnonzero(shape.parent >= 0)
        parent[shape.index[inner]] = shape.index[shape.parent[inner]]
        for i in inner[::-1].tolist():  # a parent is before what is inside it
            up = shape.parent[i]
            reach[up] = max(reach[up], reach[i])
        native, is_zero = np.zeros((2, count), np.bool_)
        native[foreign(slices)], is_zero[rounded_zeros(slices)] = True, True
        all_of_them, none = np.ones(count, np.bool_), np.zeros(count, np.bool_)
        computed = none if slices.derived is None else slices.derived
        counts = [counted_slices(trace, warm_up=warm_up) for warm_up in (True, False)]
        is_open = unfinished(slices)
        unit = np.array([int(track.unit) for track in trace.tracks], np.int64)
        track = slices.row_track[row].astype(np.int64)
        self.register("slices", {
            "id": np.arange(count),
            "place": place, "reach": reach[place], "parent": parent,
            "began": slices.start, "ended": slices.end,
            "track": track, "thread": thread_of_rows(trace)[0][row], "unit": unit[track],
            "key": slices.key.astype(np.int64),
            "kind": trace.keys.kind[slices.key].astype(np.int64),
            "is_execute": execute_keys(trace)[slices.key],
            "native": native, "computed": computed, "derived": none if computed.all() else computed,
            "counts": all_of_them if counts[0] is None else counts[0],
            "steady": all_of_them if counts[1] is None else counts[1],
            "everything": all_of_them,
            "is_open": none if is_open is None else is_open,
            "is_zero": is_zero, "samples": _samples(trace),
        })  # fmt: skip
        self.run("UPDATE slices SET parent = NULL WHERE parent < 0")

    def register(self, name: str, columns: Mapping[str, Any]) -> None:
        """Make a table of some arrays of one length."""
        import pyarrow as pa

        arrow = pa.table({column: pa.array(values) for column, values in columns.items()})
        self.connection.register("columns_of_table", arrow)
        self.run(f"CREATE OR REPLACE TABLE {name} AS FROM columns_of_table")
        self.connection.unregister("columns_of_table")

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        return self.connection.execute(sql).fetchall()

    def number(self, sql: str) -> int:
        """Return the only value of a query, 0 for none."""
        return int(self.run(sql)[0][0] or 0)

    def ns(self, ticks: int | Fraction) -> int:
        """Return a time in ns, rounded down."""
        return ticks * self.rate.numerator // self.rate.denominator

    def give(self, group: Ints) -> None:
        """Make the table `given`: the group of each slice that has one, -1 for none."""
        self.register("given", {"id": np.arange(len(group)), "g": group.astype(np.int64)})
        self.run("DELETE FROM given WHERE g < 0")


def _samples(trace: Trace) -> Ints:
    slices, ones = trace.slices, np.ones(len(trace.slices), np.int64)
    column = slices.columns.get(SAMPLES)
    if slices.timing is None or column is None or column.values.dtype.kind != "i":
        return ones
    return np.where(slices.timing & np.uint8(Timing.SAMPLED) > 0, column.values, ones)
