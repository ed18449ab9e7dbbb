"""The Inspector's table with correct values: the same columns and order, exact numbers and links.

It differs from the official tool only where that is wrong: every occurrence counts; every run is
linked to its own method (so loads of two methods are separate blocks); identifiers are looked up by
their exact text; runtime scopes are not operators; a pair that does not match is not linked; and a
duration is a difference of integer ticks, scaled once. Rows are events with a time; debug events
that only hold a value have no row.

A delegate's own clock that does not count time (cycles, ticks) does not fit a column of
milliseconds. Those cells stay empty, and the numbers are in columns after the official ones,
`native_p10` to `native_max` and `native_unit`, which exist only if the ETDump has such events.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.events import EventStatistics
from viewer.arrays import Bools, Floats
from viewer.compat.inspector.table import METADATA, NUMBERS, AnswerTable, shown_ops
from viewer.compat.inspector.time_scales import CYCLES, PER_SECOND, ratio
from viewer.model.trace import Column, KeyKind


class InspectorAnswers:
    """The rows of a linked ETDump in the requested time scales; see `time_scales`."""

    def __init__(
        self, event_statistics: EventStatistics, source: str = "ns", target: str = "ms"
    ) -> None:
        self._found = event_statistics
        self._target = target
        self._table = event_statistics.table
        # Per row the number of target units per tick, as numerator and denominator. A row on the
        # ETDump's own clock has unit -1, which selects the last entry.
        scales = [_scale(unit, target) for unit in event_statistics.units]
        scales.append(ratio(source, target))
        self._is_native: Bools = np.array([scale is None for scale in scales])[
            event_statistics.unit
        ]
        ratios = [scale or ratio("s", "s") for scale in scales]
        self._up = np.array([float(scale.numerator) for scale in ratios])[event_statistics.unit]
        self._down = np.array([float(scale.denominator) for scale in ratios])[event_statistics.unit]
        keys = self._table.trace.keys
        self._ops = _ops_of_links(self._table)
        self._is_delegated: Bools = keys.kind[event_statistics.key] == KeyKind.DELEGATE_EVENT

    def sheet(self, include_metadata: bool = False) -> AnswerTable:
        """Return the visible table: all rows except OPERATOR_CALL, as in the official tool."""
        event_statistics, links = self._found, self._table.links
        kind = self._table.trace.keys.kind[event_statistics.key]
        rows = np.flatnonzero(kind != KeyKind.OPERATOR_CALL)
        titles = event_statistics.block_titles
        listed, keys = rows.tolist(), event_statistics.key[rows].tolist()
        scaled = self._scaled
        columns: dict[str, Sequence[object]] = {
            "event_block_name": [titles[b] for b in event_statistics.block[rows].tolist()],
            "event_name": self._names(keys),
        }
        for name in NUMBERS:
            columns[f"{name} ({self._target})"] = _blanked(scaled[name], self._is_native, rows)
        op_texts = {ops: shown_ops(ops) for ops in set(self._ops)}
        columns |= {
            "op_types": [op_texts[self._ops[k]] for k in keys],
            "is_delegated_op": self._is_delegated[rows].tolist(),
            "delegate_backend_name": [links[k].backend or None for k in keys],
            "start_time": self._starts(listed),
        }
        if include_metadata and self._metadata is not None:
            columns[METADATA] = [m if any(m) else None for m in map(self._logged, listed)]
        if self._is_native.any():
            for name in NUMBERS:
                columns[f"native_{name}"] = _blanked(self._native[name], ~self._is_native, rows)
            columns["native_unit"] = [self._unit(row) for row in listed]
        return AnswerTable(columns)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the blocks with all rows, including OPERATOR_CALL, and every field of each."""
        event_statistics, links = self._found, self._table.links
        runs = self._table.trace.runs
        keys = event_statistics.key.tolist()
        names, starts = self._names(keys), self._starts(list(range(len(event_statistics))))
        raw = self._raw
        scaled = {n: _blanked(v, self._is_native) for n, v in self._scaled.items()}
        native = {n: _blanked(v, ~self._is_native) for n, v in self._native.items()}
        count = event_statistics.statistics.count.tolist()

        def row(i: int) -> dict[str, Any]:
            key, link = keys[i], links[keys[i]]
            occurrences = event_statistics.occurrences(i)
            values = raw[occurrences].tolist()
            identifier = self._table.trace.keys.identifier[key]
            fields: dict[str, Any] = {
                "event_name": names[i],
                "count": count[i],
                "raw": None if self._is_native[i] else values,
                **{name: scaled[name][i] for name in NUMBERS},
                "op_types": list(self._ops[key]),
                "operators": [operator.label for operator in self._table.operators(key)],
                "debug_handles": list(link.handles),
                "link_reason": link.reason.text,
                "delegate_debug_identifier": identifier,
                "is_delegated_op": bool(self._is_delegated[i]),
                "delegate_backend_name": link.backend or None,
                "start_time": starts[i],
            }
            if self._metadata is not None and any(logged := self._logged(i)):
                fields[METADATA] = logged
            if self._is_native[i]:
                fields["native_raw"] = values
                fields |= {f"native_{name}": native[name][i] for name in NUMBERS}
                fields["native_unit"] = self._unit(i)
            return fields

        return [
            {
                "event_block_name": title,
                "name": block.name,
                "method": block.method,
                "kind": block.kind.name.lower() if block.kind is not None else None,
                "runs": [{"index": n, "number": runs[n].number} for n in block.runs],
                "rows": [row(i) for i in block.rows],
            }
            for title, block in zip(
                event_statistics.block_titles, event_statistics.blocks, strict=True
            )
        ]

    # -- numbers -----------------------------------------------------------------------------

    @cached_property
    def _exact(self) -> dict[str, tuple[Floats, Floats]]:
        """Every number in ticks as (integer, divisor), so that scaling rounds only once.

        A percentile of integer ticks is a multiple of a tenth of a tick: it interpolates (n - 1) q
        / 100 of the way between two values, and q is 10, 50 or 90.
        """
        s = self._found.statistics
        ones, ten = np.ones(len(self._found)), np.full(len(self._found), 10.0)
        return {
            **{name: (np.rint(getattr(s, name) * 10), ten) for name in ("p10", "p50", "p90")},
            "avg": (s.total.astype(np.float64), s.count.astype(np.float64)),
            "min": (s.min.astype(np.float64), ones),
            "max": (s.max.astype(np.float64), ones),
        }

    @cached_property
    def _scaled(self) -> dict[str, Floats]:
        return {
            name: whole * self._up / (parts * self._down)
            for name, (whole, parts) in self._exact.items()
        }

    @cached_property
    def _native(self) -> dict[str, Floats]:
        return {name: whole / parts for name, (whole, parts) in self._exact.items()}

    @property
    def _raw(self) -> NDArray[Any]:
        """Every duration in the target scale; native ones in their own unit."""
        event_statistics = self._found
        row = np.repeat(np.arange(len(event_statistics)), np.diff(event_statistics.row_ptr))
        native = self._is_native[row]
        up = np.where(native, 1.0, self._up[row])
        down = np.where(native, 1.0, self._down[row])
        raw: NDArray[Any] = event_statistics.duration * up / down
        return raw

    # -- other cells -------------------------------------------------------------------------

    def _names(self, keys: Sequence[int]) -> list[str]:
        trace = self._table.trace
        return [trace.strings[n] for n in trace.keys.name[keys].tolist()]

    def _starts(self, rows: Sequence[int]) -> list[list[int]]:
        start, cut = self._found.start.tolist(), self._found.row_ptr.tolist()
        return [start[cut[i] : cut[i + 1]] for i in rows]

    def _unit(self, row: int) -> str | None:
        return self._found.unit_name(row) if self._is_native[row] else None

    @property
    def _metadata(self) -> Column | None:
        return self._table.trace.slices.columns.get("metadata")

    def _logged(self, row: int) -> list[str]:
        """Return the metadata of every occurrence as text, "" if it has none."""
        column = self._metadata
        slices = self._found.slices[self._found.occurrences(row)].tolist()
        return [str(column.value(i) or "") if column is not None else "" for i in slices]


def _scale(unit: str, target: str) -> Fraction | None:
    """Return the ratio of a native unit to the target, None if the rate is unknown."""
    timed = unit in PER_SECOND and CYCLES not in (unit, target)
    return ratio(unit, target) if timed else None


def _blanked(values: Floats, blank: Bools, rows: Any = slice(None)) -> list[float | None]:
    cells = values[rows].astype(object)
    cells[blank[rows]] = None
    cell_list: list[float | None] = cells.tolist()
    return cell_list


def _ops_of_links(table: LinkTable) -> list[tuple[str, ...]]:
    """Return per key the ops of its graph nodes, by debug handle in the ETRecord's order."""
    if table.program is None:
        return [()] * len(table.links)
    ops: list[tuple[str, ...]] = []
    for key, link in enumerate(table.links):
        if not link.operators:
            ops.append(())
            continue
        name = table.method_of_scope(int(table.trace.keys.scope[key]))
        method = table.program.method(name or "")
        by_handle = method.by_handle if method is not None else {}
        operators = [by_handle[h] for h in link.handles if h in by_handle]
        ops.append(tuple(node.op for operator in operators for node in operator.nodes))
    return ops
