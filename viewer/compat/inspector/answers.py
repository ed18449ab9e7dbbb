"""The Inspector's table with correct values, and the two formats of all its tables.

The columns and their order are the official ones. The table differs from the official tool only
where that is wrong: every occurrence counts; every run is linked to its own method (so loads of two
methods are separate blocks); identifiers are looked up by their exact text; runtime scopes are not
operators; a pair that does not match is not linked; and a duration is a difference of integer
ticks, scaled once. Debug events that only hold a value have no row.

A delegate's own clock that does not count time (cycles, ticks) does not fit a column of
milliseconds: its numbers are in columns after the official ones, `native_p10` to `native_max` and
`native_unit`, which exist only if the ETDump has such events.

The formats match the official tool byte for byte: lists in Python syntax, nothing for an absent
value, numbers in full in the tab-separated text and with six digits in the boxed grid. The official
tool uses pandas and tabulate ("fancy_grid"), whose few rules that matter are reimplemented here.

The metrics of `--compare_results` are the official ones (SNR in dB, MSE, cosine similarity, in
float32, rounded to two decimals), printed as without a plot. Reference outputs come from an .npz
with the keys output_0, output_1 and so on, or from the expected outputs of a bundled program; those
of an ETRecord are a pickle, which is never loaded.
"""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.numbers.logged_values import METHOD, LoggedInference, Value
from viewer.analysis.statistics.events import EventStatistics
from viewer.arrays import Bools, Floats
from viewer.codecs.reading import UnreadableFile
from viewer.formats.executorch.logged_profile import (
    LoggedProfile,
    array_values,
    case_of,
    expected_values,
    logged_profile,
)
from viewer.formats.executorch.pte.bundled_outputs import is_bundled, read_bundled_cases
from viewer.formats.npz import NpzFile
from viewer.model.trace import Column, KeyKind

NUMBERS = ("p10", "p50", "p90", "avg", "min", "max")
METADATA = "delegate_debug_metadata"
FULL_LIST = 5  # from this many operators on, a cell names the first two and the last


class AnswerTable:
    """Named columns of equal length; cells are None, bool, int, float, str or lists of those."""

    def __init__(self, columns: dict[str, Sequence[object]]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def write_tsv(self, file: BinaryIO) -> None:
        """Write a header, and the rows with their numbers in the first column."""
        text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="", write_through=False)
        writer = csv.writer(text, delimiter="\t", lineterminator="\n")
        writer.writerow(["", *self.columns])
        writer.writerows(zip(range(len(self)), *self.columns.values(), strict=True))
        text.detach()

    def grid(self) -> Iterator[str]:
        numbers = [str(i) for i in range(len(self))]
        columns = [("", numbers, True)]
        columns += [(name, *_cells(values)) for name, values in self.columns.items()]
        widths = [
            max(_width(name) + 2, max(map(_width, cells), default=0)) for name, cells, _ in columns
        ]
        right = [is_right for _, _, is_right in columns]

        def rule(left: str, between: str, end: str, line: str) -> str:
            return left + between.join(line * (width + 2) for width in widths) + end

        def row(cells: Sequence[str]) -> str:
            padded = (
                _padded(cell, width, is_right)
                for cell, width, is_right in zip(cells, widths, right, strict=True)
            )
            return f"│ {' │ '.join(padded)} │"

        yield rule("╒", "╤", "╕", "═")
        yield row([name for name, _, _ in columns])
        for i, cells in enumerate(zip(*(cells for _, cells, _ in columns), strict=True)):
            yield rule("├", "┼", "┤", "─") if i else rule("╞", "╪", "╡", "═")
            yield row(cells)
        yield rule("╘", "╧", "╛", "═")


def shown_ops(ops: Sequence[str]) -> list[str] | str:
    """Return a cell's operators: a list, or from five on a text with the first two and the last."""
    if len(ops) < FULL_LIST:
        return list(ops)
    return f"['{ops[0]}', '{ops[1]}' ... '{ops[-1]}'] ({len(ops)} total)"


def _cells(values: Sequence[object]) -> tuple[list[str], bool]:
    """Return a column's texts, aligned at the decimal point, and whether it is right-aligned."""
    if not any(isinstance(v, float) for v in values):
        return ["" if v is None else _one_line(str(v)) for v in values], False
    texts = ["" if v is None else format(v, "g") for v in values]
    after = [_after_point(text) for text in texts]
    most = max(after)
    return [t + " " * (most - n) for t, n in zip(texts, after, strict=True)], True


def _after_point(number: str) -> int:
    """Return the number of characters after the point, else after the "e"; -1 for integers."""
    position = max(number.rfind("."), -1)
    position = position if position >= 0 else number.rfind("e")
    return len(number) - position - 1 if position >= 0 else -1


def _one_line(text: str) -> str:
    """Return a cell as one line, with unprintable text escaped."""
    return text.strip() if text.isprintable() else text.encode("unicode_escape").decode().strip()


def _padded(text: str, width: int, is_right: bool) -> str:
    fill = " " * (width - _width(text))
    return fill + text if is_right else text + fill


def _width(text: str) -> int:
    """Return the width in terminal columns: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1, "cycles": 1}
CYCLES = "cycles"
MIXED = "For TimeScale in cycles both the source and target time scale have to be in cycles."


def is_mixed(source: str, target: str) -> bool:
    """Return whether one is a time and the other cycles, which cannot be converted."""
    return (source == CYCLES) != (target == CYCLES)


def ratio(source: str, target: str) -> Fraction:
    """Return the exact number of target units per source unit: 1/1000000 for ns to ms."""
    return Fraction(PER_SECOND[target], PER_SECOND[source])


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


NO_REFERENCE = (
    "--compare_results needs --reference_outputs FILE, an .npz or a bundled program (.bpte): the "
    "reference outputs in an ETRecord are a pickle, which is never loaded"
)
Metrics = Mapping[str, Sequence[float]]


def compared_results(table: LinkTable, buffer: str | None, reference: str) -> list[Metrics]:
    """Return the metrics of the outputs of each method's first inference.

    buffer, reference: paths of the debug buffer and of the reference outputs. Raises
    UnreadableFile.
    """
    profile = logged_profile(table, () if buffer is None else (buffer,))
    return [
        _metrics(reference, _outputs(profile, inference), _references(reference, inference))
        for inference in profile.chosen(None)
    ]


def metric_lines(metrics: Metrics) -> list[str]:
    """Return the lines that the official library prints."""
    lines = []
    for name, values in metrics.items():
        lines += [name, "-" * 20]
        lines += [f"{i:<5}{value:>8.5f}" for i, value in enumerate(values)]
        lines += ["", ""]
    return lines


def metrics_as_json(metrics: Metrics) -> dict[str, list[float | None]]:
    """Return the metrics with null in place of what is not finite."""
    return {
        name: [value if math.isfinite(value) else None for value in values]
        for name, values in metrics.items()
    }


def _outputs(profile: LoggedProfile, inference: LoggedInference) -> list[Value]:
    logged = profile.side(inference).logged
    return next((values for call, values in logged if call.instruction == METHOD), [])


def _references(path: str, inference: LoggedInference) -> list[Value]:
    if is_bundled(path):
        bundle = read_bundled_cases(path)
        return expected_values(bundle, case_of(bundle, inference, None))
    arrays = array_values(NpzFile(path))
    values: list[Value] = []
    while (key := f"output_{len(values)}") in arrays:
        values.append(arrays[key])
    if not values:
        raise UnreadableFile(path, "it has no array output_0")
    return values


def _metrics(path: str, outputs: Sequence[Value], references: Sequence[Value]) -> Metrics:
    metrics: dict[str, list[float]] = {"snr": [], "mse": [], "cosine_similarity": []}
    for i, (output, reference) in enumerate(zip(outputs, references, strict=False)):
        if output.layout.sizes != reference.layout.sizes:
            raise UnreadableFile(
                path,
                f"output {i} is {output.layout.text}, its reference {reference.layout.text}",
            )
        try:
            for name, value in _of_pair(output, reference).items():
                metrics[name].append(value)
        except ValueError as error:
            raise UnreadableFile(path, f"output {i} cannot be compared ({error})") from error
    return metrics


def _of_pair(output: Value, reference: Value) -> dict[str, float]:
    """The metrics of one output: values in float32, sums in float64."""
    noise = signal = power_a = product = 0.0
    tensor, other = output.open(), reference.open()
    with np.errstate(over="ignore", invalid="ignore"):
        for x, y in zip(tensor.blocks(), other.blocks(), strict=True):
            a, b = x.astype(np.float32), y.astype(np.float32)
            noise += _squares(b - a)
            signal += _squares(b)
            power_a += _squares(a)
            product += float(np.multiply(a, b, dtype=np.float64).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        count, power = np.float64(tensor.count), np.float64(signal)
        return {
            "snr": round(float(10 * np.log10(power / noise)), 2),
            "mse": round(float(noise / count), 2),
            "cosine_similarity": round(float(product / np.sqrt(power * power_a)), 2),
        }


def _squares(values: Floats | np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> float:
    return float(np.square(values, dtype=np.float64).sum())
