"""The output of `opscope stats`: statistics of the open profiles by one key, as data and text.

The data is a stable contract for scripts. Every profile is reported in ticks of its own clock, and
in nanoseconds (rounded down, at the workspace's rate); nothing is summed over files. No Qt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from viewer.analysis.findings.finding import joined
from viewer.analysis.links.labels import run_label
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import KEYS, keys_named
from viewer.analysis.statistics.group_table import GroupTable, clock_title
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import (
    PivotTable,
    cell_medians,
    medians_per_inference,
    pivot,
    refused,
)
from viewer.arrays import lists_by_key
from viewer.dataclasses import replace
from viewer.model import figures
from viewer.model.figures import STEADY, FigureBase, LeftOut, figure_base, left_out
from viewer.model.inference_views import only_inferences
from viewer.model.text import name_text, one_line
from viewer.model.times import (
    NARROW_SPACE,
    WEIGHTS,
    counted,
    format_time,
    group_digits,
    ns_to_tick,
    plain_spaces,
    tick_to_ns,
)
from viewer.model.trace import Run, Trace
from viewer.model.trace_attributes import INFERENCE, WorkUnit, common_unit
from viewer.program.source_files import short_names
from viewer.reports.info import HEAD, Facts, clock_facts, format_words
from viewer.reports.parts import (
    aligned_times,
    column_lines,
    linked_phase,
    numbered_inferences,
    phase_names,
)
from viewer.tables.statistics import (
    DELEGATE_NS,
    LENGTHS,
    ROUNDED_TO_NS,
    UNGROUPED,
    group_row,
    in_ticks_and_ns,
    is_below_rounding,
    median_of,
    per_inference_row,
    pivot_rows,
    time_text,
    titled_columns,
    wall_times,
)
from viewer.workspace.workspace import Workspace

WHOLE = "whole"
SUM_NS, MEDIAN_NS = "sum_ns", "median_ns"  # in rows of the text
PHASE = "phase"  # of `opscope stats` alone: its groups are no slices
# Units for the text, as options have them: the name on screen, and its ns.
UNITS = {"ns": ("ns", 1), "us": ("µs", 1_000), "ms": ("ms", 1_000_000), "s": ("s", 1_000_000_000)}
AUTO = "auto"
# The first columns of the text.
_FIRST = ("total_ns", "self_ns", "wall_ns", "share", DELEGATE_NS, "clock_share")
_MEANS = ("total", "self", "wall")
_CHARGED = ("total_ns", "self_ns", "wall_ns", "share")


class NoSuchGroups(Exception):
    """No open profile has groups for the requested key; the message lists the available keys."""


def stats(
    workspace: Workspace,
    key: str,
    span: tuple[int, int] | None = None,
    inference: int | None = None,
    phase: str = "",
    *,
    per_inference: bool = False,
) -> Facts:
    """Return the statistics by a key, or by two such as "operator,inference": `opscope stats`.

    span: ns from the start of each clock; None: everything. inference: only while inferences of
    this number ran, each of which has its own file and rows. phase: only inferences of this method
    or phase, as by `phase` they are called. `files` has for each profile its
    clock, the ticks of the span, the total that shares are relative to (`whole`), its time in no
    group (`ungrouped`), how many slices have no wall time because it is that of what they enclose
    (`scopes`), the groups that have only such slices (`not_counted`), how many inferences are left
    out because they did not finish (`unfinished`), and why it has no such groups (`missing`).
    per_inference: only the inferences after the warm-up, and rows also have the mean of them.
    `rows` are the groups of all profiles, file by file; those with slices whose rate the user
    stated have lengths in ns alone, and `delegate_ns`. By `kernel`, rows on another clock name it,
    and `clocks` of the file has what each timed: no part of the whole. By two keys, the rows are
    those of the first one divided by the second (`then`), and `totals` has those of the first.
    Raises NoSuchGroups, `NoSuchRun` of `viewer.reports.parts`, also for a phase, and
    ValueError for what is no key.
    """
    if not workspace.traces:
        raise NoSuchGroups("no profile is open")
    tables = {trace.path: linked_phase(workspace, trace, phase) for trace in workspace.traces}
    rates = {trace.path: workspace.clocks.ns_per_tick(trace) for trace in workspace.traces}
    bases: dict[str, FigureBase] = {}
    without_mean: dict[str, str] = {}
    for path, table in tables.items() if per_inference else ():
        bases[path] = figure_base(table.trace, STEADY, rates[path])
        without_mean[path] = _why_no_mean(table, bases[path])
        tables[path] = replace(table, trace=only_inferences(table.trace))
    groupings = [
        (
            trace,
            Grouping(tables[trace.path], rates[trace.path], warm_up=not per_inference),
        )
        for trace in workspace.traces
    ]
    keys = ("inference",) if key == PHASE else keys_named(key)
    missing = {
        trace.path: without_mean.get(trace.path)
        or _missing(grouping, keys, per_inference=per_inference)
        for trace, grouping in groupings
    }
    if all(missing.values()):
        known = [k for k in KEYS if any(not grouping.missing(k) for _, grouping in groupings)]
        why = "; ".join(dict.fromkeys(missing.values()))
        available = f". The keys are {', '.join(known)}" if known else ""
        raise NoSuchGroups(f"no statistics by {key}: {why}{available}")
    scopes: list[tuple[Trace, Run | None]] = [(trace, None) for trace, _ in groupings]
    if inference is not None:
        scopes = [*numbered_inferences(workspace.traces, inference)]
    by_trace = dict(groupings)
    files, rows, totals = [], list[Facts](), list[Facts]()
    for trace, run in scopes:
        rate = workspace.clocks.ns_per_tick(trace)
        ticks = ticks_within(workspace, trace, span) if span is not None else None
        also: Facts = {}
        if run is not None:
            ticks = run.start, run.end
            also = {"inference": plain_spaces(run_label(workspace.links(trace), run))}
        grouping, within = by_trace[trace], ticks or (None, None)
        grouped, pivoted, slices = None, None, tables[trace.path].trace.slices
        if not missing[trace.path] and len(keys) == 2:
            pivoted = pivot(grouping, slices, (keys[0], keys[1]), *within)
            grouped = pivoted.table
        elif not missing[trace.path]:
            grouped = grouping.by_phase(*within) if key == PHASE else grouping.by(keys[0], *within)
        wall = wall_times(grouped, rate) if grouped else {}
        absent, has_kernels = missing[trace.path], not by_trace[trace].missing("kernel")
        facts = _file_facts(workspace, trace, ticks, grouped, wall, absent, has_kernels=has_kernels)
        base = bases.get(trace.path)
        per: Facts = {}
        if base is not None and grouped:
            each = wall_times(grouped, rate / base.divisor)
            per = {
                "per_inferences": base.count,
                "whole_per_inference_ns": tick_to_ns(grouped.whole, rate / base.divisor),
                "ungrouped_per_inference_ns": each[UNGROUPED],
            }
        facts["unit"] = trace.unit.noun
        files.append(facts | also | ({"phase": phase} if phase else {}) | per)
        if grouped:
            also = {**also, "share_of": grouped.share_of}
            if pivoted is None:
                of_file = [group_row(trace.path, rate, group, wall) for group in grouped.groups]
            else:
                first, of_file = pivot_rows(trace.path, rate, pivoted, wall)
                new = [{**row, **also} for row in first]
                totals += new if base is None else _mean_rows(grouping, grouped, base, new)
            new = [{**row, **also} for row in of_file]
            if base is not None and pivoted is not None:
                cells = cell_medians(grouping, slices, (keys[0], keys[1]))
                new = _mean_cells(pivoted, base, new, cells)
            elif base is not None:
                new = _mean_rows(grouping, grouped, base, new)
            rows += new
    return {
        **HEAD,
        "by": key,
        "range_ns": list(span) if span else None,
        "files": files,
        "rows": rows,
        **({"totals": totals} if len(keys) == 2 else {}),
    }


def _why_no_mean(table: LinkTable, base: FigureBase) -> str:
    """Return why no figure is the mean of the inferences of a trace, "" if there is one."""
    if base.is_mean:
        return ""
    if not base.is_of_several:
        return "The profile has fewer than two inferences after the warm-up"
    phases = joined(phase_names(table)) or "several methods"
    return f"Inferences belong to {phases}: choose one of these with --phase"


def _mean_rows(
    grouping: Grouping, table: GroupTable, base: FigureBase, rows: list[Facts]
) -> list[Facts]:
    """Return rows with their means per inference, rounded down so that wall times add up."""
    wall = wall_times(table, base.rate / base.divisor)
    medians = medians_per_inference(grouping, table.key)
    return [
        row
        | per_inference_row(
            row,
            base,
            wall[group.key or group.number] if "wall_ns" in row else None,
            median_of(group, medians.get(group.number)),
        )
        for group, row in zip(table.groups, rows, strict=True)
    ]


def _missing(grouping: Grouping, keys: tuple[str, ...], *, per_inference: bool) -> str:
    if len(keys) == 1:
        why_no_mean = grouping.why_no_mean(keys[0]) if per_inference else ""
        return grouping.missing(keys[0]) or why_no_mean
    if per_inference and "inference" in keys:
        return "Rows that are inferences have no mean per inference"
    why_no_mean = grouping.why_no_mean(keys[0]) if per_inference else ""
    return why_no_mean or refused(grouping, (keys[0], keys[1]))


def _mean_cells(
    table: PivotTable, base: FigureBase, rows: list[Facts], medians: Mapping[tuple[int, int], float]
) -> list[Facts]:
    """Return the rows of cells with their means per inference, which add up to those above them.

    What another clock timed has a sum alone; the rest of a place has no median.
    """
    means = pivot_rows("", base.rate / base.divisor, table, wall_times(table.table, base.rate))[1]
    cells = [(row.group.number, cell) for row in table.rows for cell in row.cells]
    return [
        row
        | per_inference_row(row, base, None, median_of(cell, medians.get((group, cell.number))))
        | {
            f"{name}_per_inference_ns": mean[f"{name}_ns"]
            for name in _MEANS
            if f"{name}_ns" in row and (name != "total" or row["total_ticks"] is not None)
        }
        for (group, cell), row, mean in zip(cells, rows, means, strict=True)
    ]


def ticks_within(workspace: Workspace, trace: Trace, span: tuple[int, int]) -> tuple[int, int]:
    """Return the ticks of a range of the axis of its clock within a trace; empty if outside.

    A range after the trace starts one tick after its end, because a slice that starts exactly at
    the end is not in it.
    """
    rate, offset = workspace.clocks.ns_per_tick(trace), workspace.clocks.offset_ns(trace)
    first, last = (ns_to_tick(ns - offset, rate) for ns in span)
    first = min(max(first, trace.start), trace.end + 1)
    return first, max(min(last, trace.end), first)


def _file_facts(
    workspace: Workspace,
    trace: Trace,
    ticks: tuple[int, int] | None,
    found: GroupTable | None,
    wall: Mapping[str | int, int],
    missing: str,
    *,
    has_kernels: bool,
) -> Facts:
    rate = workspace.clocks.ns_per_tick(trace)
    amounts: Facts = {"ungrouped_label": found.ungrouped_label} if found else {}
    if found:
        amounts |= in_ticks_and_ns(WHOLE, found.whole, rate)
        amounts |= {
            "ungrouped_ticks": found.ungrouped,
            "ungrouped_ns": wall[UNGROUPED],
            "not_counted": list(found.not_counted),
        }
    return {
        "path": trace.path,
        "format": trace.format,
        "generation": trace.generation,
        "clock": clock_facts(workspace, trace),
        "range_ticks": list(ticks or (trace.start, trace.end)),
        **amounts,
        "scopes": found.scopes if found else 0,
        "foreign": found.foreign if found else 0,
        "values": found.values if found else 0,
        "clocks": [
            {"clock": one.clock, "unit": one.unit, "total": one.total, "slices": one.slices}
            for one in (found.clocks if found else ())
        ],
        "has_kernels": has_kernels,
        "unfinished": left_out(trace).unfinished if found and not ticks else 0,
        "warm_up": left_out(trace, STEADY).warm_up if found and not ticks else 0,
        "initialization": left_out(trace).loads if found and not ticks else 0,
        "missing": missing or None,
        **({"phases": names} if (names := phase_names(workspace.links(trace))) else {}),
    }


# -- text ------------------------------------------------------------------------------------------


def stats_text(facts: Facts, unit: str = AUTO) -> str:
    """Format the facts for people: one or two lines per profile, and one table for all.

    unit: one of `UNITS`, of all times; by default every time has the unit that suits it, in its
    cell. The group is the last column, since a location can be longer than any terminal is wide.
    """
    answered = [file for file in facts["files"] if file["missing"] is None]
    several = len(facts["files"]) > 1
    heads, rows = list[str](), list[Facts]()
    for file in answered:
        of_file = [
            row
            for row in _listed(facts)
            if row["file"] == file["path"] and row.get("inference") == file.get("inference")
        ]
        if "per_inferences" in file:
            of_file = [_as_mean(row, file) for row in of_file]
        heads += file_lines(file)
        if file.get("inference"):
            heads.append(f"  {one_line(file['inference'])}")
        heads += _clock_lines(file)
        if not file["clocks"] and any(DELEGATE_NS in row for row in of_file):
            heads.append(
                "  slices on a delegate's clock have a duration, but no total and no share"
            )
        rows += [_without_total(row) for row in of_file]
        if not any(row["share_of"] == "range" for row in of_file):  # units, which overlap
            rows += _sums(file)
        if "per_inferences" not in file:
            rows += _clock_sums(file)
    if not facts["rows"]:
        return "\n".join([*heads, "nothing in this range"])
    names = short_names(row["file"] for row in rows)
    noun = common_unit(WorkUnit(file["unit"]) for file in answered)
    columns = [
        *_number_columns(rows, unit, noun),
        *([("File", [one_line(names[row["file"]]) for row in rows])] if several else []),
        (
            noun.worded(_title(str(facts["by"]))),
            ["  " * row["label"].startswith("  ") + name_text(row["label"]) for row in rows],
        ),
    ]
    return "\n".join([*heads, "", *column_lines(columns, right=len(columns) - 1 - several)])


def _listed(facts: Facts) -> list[Facts]:
    """Return the rows of a table: by two keys, each of the first, and those of its cells below."""
    if "totals" not in facts:
        return list(facts["rows"])

    def of(row: Facts) -> tuple[str, str, str]:
        return row["file"], row.get("inference", ""), row["key"]

    cells = lists_by_key((of(row), {**row, "label": f"  {row['then']}"}) for row in facts["rows"])
    return [row for total in facts["totals"] for row in (total, *cells.get(of(total), ()))]


def _title(keys: str) -> str:
    """Return the title of the groups: "Operator, then arg:Input Dims"."""
    title = keys if keys == PHASE else ", then ".join(keys_named(keys))
    return title[:1].upper() + title[1:]


def file_lines(file: Facts) -> list[str]:
    """Return what a profile is, its clock, and which of its slices the figures leave out."""
    clock = file["clock"]
    tick = clock["unit"] if clock["unit"] in ("cycle", *WEIGHTS) else "tick"
    length = f"{clock['ns_per_tick']:g} ns"
    if tick in WEIGHTS:
        length = plain_spaces(format_time(clock["ns_per_tick"]))
    rate = f"1 {tick} = {length} ({clock['origin']})"
    what = format_words(file["format"], file["generation"])
    lines = [f"{one_line(file['path'])}: {what}, clock {rate}"]
    if file.get("scopes"):
        only = "encloses others and has" if file["scopes"] == 1 else "enclose others and have"
        lines.append(f"  {counted(file['scopes'], 'slice')} only {only} no wall time")
    if file["foreign"]:
        hint = "; see --by kernel" if file.get("has_kernels") else ""
        lines.append(f"  {counted(file['foreign'], 'slice')} with separate clocks left out{hint}")
    if file.get("values"):
        lines.append(f"  {counted(file['values'], 'value')} without a time left out")
    if file.get("phases") and not file.get("phase"):
        lines.append(f"  covers {joined(file['phases'])}; --phase shows one")
    noun = WorkUnit(file.get("unit", INFERENCE.noun))
    is_mean = "per_inferences" in file
    if file["warm_up"] and not is_mean:
        lines.append(f"  includes {counted(file['warm_up'], f'warm-up {noun.noun}')}")
    excluded = LeftOut(
        file["unfinished"],
        file["warm_up"] if is_mean else 0,
        loads=file["initialization"],
        open_slices=file.get("without_end", 0),
        unit=noun,
    )
    if excluded.text:
        lines.append(f"  {excluded.text}")
    return lines


def _as_mean(row: Facts, file: Facts) -> Facts:
    """Return a row of the text whose times are the mean per inference; the sum has another name."""
    of, rate = file["per_inferences"], Fraction(file["clock"]["ns_per_tick"])
    means = {
        f"{name}_ns": float(row[f"{name}_ticks"] * rate / of)
        for name in ("total", "self", "wall")
        if row.get(f"{name}_ticks") is not None
    }
    # Of slices, too: one per inference has the same mean and median in both columns.
    means |= {
        f"{name}_ns": float(Fraction(row[f"{name}_ticks"]) * rate)
        for name in LENGTHS
        if f"{name}_ticks" in row
    }
    if (median := row.get("p50_per_inference_ticks")) is not None:
        means[MEDIAN_NS] = float(Fraction(median) * rate)
    cut = {ROUNDED_TO_NS: Fraction(row[ROUNDED_TO_NS], of)} if ROUNDED_TO_NS in row else {}
    return {**row, **means, **cut, SUM_NS: row["total_ns"], "per_inferences": of}


def _without_total(row: Facts) -> Facts:
    """Return a row without its total of 0, if only a delegate's own clock timed its slices."""
    if not (DELEGATE_NS in row or "clock" in row) or row["total_ticks"] or row["self_ticks"]:
        return row
    return {name: value for name, value in row.items() if name not in _CHARGED}


def _clock_lines(file: Facts) -> list[str]:
    """Return what other clocks timed of the kernels, and why it is no part of the whole."""
    lines = [
        f"  {counted(one['slices'], 'slice')} on {clock_title(one['clock'], one['unit'])} took "
        f"{_amount(one['total'], one['unit'])}"
        for one in file["clocks"]
    ]
    if lines:
        lines.append(
            "  this is no part of the whole: the calls around these slices are in it already, and "
            "can be shorter than their sum"
        )
    return lines


def _amount(total: float, unit: str) -> str:
    """Return a length on another clock: "22.320 ms", "50,000 cycles"."""
    if unit == "ns":
        return format_time(total)
    number = f"{total:,.1f}".removesuffix(".0").replace(",", NARROW_SPACE)
    return f"{number}{NARROW_SPACE}{unit}"


def _clock_sums(file: Facts) -> list[Facts]:
    """Return what each other clock timed, as rows after the whole."""
    return [
        {
            "file": file["path"],
            "label": f"{clock_title(one['clock'], one['unit'])}: no part of the whole",
            "clock_total": one["total"],
            "clock_unit": one["unit"],
            "count": one["slices"],
            **({DELEGATE_NS: one["total"]} if one["unit"] == "ns" else {}),
        }
        for one in file["clocks"]
    ]


def _sums(file: Facts) -> list[Facts]:
    """Return the ungrouped time, if any, and the whole, as rows."""
    of = file.get("per_inferences", 0)
    rate = Fraction(file["clock"]["ns_per_tick"])

    def ns(name: str) -> float:
        ticks: int = file[f"{name}_ticks"]
        return float(ticks * rate / of) if of else file[f"{name}_ns"]

    return [
        {
            "file": file["path"],
            "label": label,
            **({"self_ns": ns(name)} if name == UNGROUPED else {}),
            "wall_ns": ns(name),
            "share": file[f"{name}_ticks"] / max(file[f"{WHOLE}_ticks"], 1),
        }
        for name, label in ((UNGROUPED, file["ungrouped_label"]), (WHOLE, WHOLE))
        if file[f"{name}_ticks"]
    ]


def _number_columns(rows: list[Facts], chosen: str, noun: WorkUnit) -> list[tuple[str, list[str]]]:
    """Return the columns of numbers, without empty ones.

    chosen: a unit of `UNITS`, or `AUTO`. noun: of what the means are per.
    """

    def cells(name: str, text: Callable[[Any], str]) -> list[str]:
        return [text(row[name]) if name in row else "" for row in rows]

    def times(title: str, name: str, native: str = "") -> tuple[str, list[str]]:
        """Return a column of times; native: what has them of a clock of unknown rate."""
        own = {
            at: _amount(row[native], row["clock_unit"])
            for at, row in enumerate(rows)
            if native in row and row["clock_unit"] != "ns"
        }
        unit, factor = ("", 0) if chosen == AUTO else UNITS[chosen]
        texts = [
            own.get(at, time_text(row, name, factor) if name in row else "")
            for at, row in enumerate(rows)
        ]
        if not factor:
            return title, [plain_spaces(text) for text in aligned_times(texts)]
        return f"{title}, {unit}", texts

    # Only where lanes overlap, or scopes enclose others, do the two differ by more than rounding.
    has_overlap = any(row["self_ticks"] != row["wall_ticks"] for row in rows if "self_ticks" in row)
    if not has_overlap:  # the whole is in the column of the figure that adds up
        rows = [
            {**row, "self_ns": row["wall_ns"]} if "key" not in row and "wall_ns" in row else row
            for row in rows
        ]
    per = {row["per_inferences"] for row in rows if "per_inferences" in row}
    base = FigureBase(Fraction(1), max(per, default=0), 1, bool(per), unit=noun)
    is_of_one = any("inference" in row for row in rows)
    columns = []
    for column in titled_columns(_FIRST, () if has_overlap else ("wall_ns",)):
        name = column.name
        if name == "share":
            columns.append(
                (_share_title(rows, noun, is_of_one=is_of_one), [_share_text(row) for row in rows])
            )
            columns += [times(base.median_title, MEDIAN_NS)] if per else []
        elif column.unit == "ns":
            native = "clock_total" if name == DELEGATE_NS else f"clock_{name.removesuffix('_ns')}"
            is_mean = name in ("total_ns", "self_ns", "wall_ns")
            title = base.titled(column.title) if is_mean else column.title
            columns.append(times(title, name, native))
        elif column.dtype == "float64":
            columns.append((column.title, cells(name, lambda share: f"{100 * share:.1f}")))
        else:
            title = base.summed(column.title) if name == "count" else column.title
            columns.append((title, cells(name, group_digits)))
    if per:
        columns.append(times(base.summed(figures.TOTAL.title), SUM_NS))
    return [(title, texts) for title, texts in columns if any(texts)]


def _share_text(row: Facts) -> str:
    if "share" not in row or is_below_rounding(row):
        return ""
    return f"{100 * row['share']:.1f}"


def _share_title(rows: list[Facts], noun: WorkUnit, *, is_of_one: bool) -> str:
    bases = {row["share_of"] for row in rows if "share_of" in row}
    of = FigureBase(Fraction(1), int(is_of_one), unit=noun)
    return figures.share(bases.pop(), of=of).title if len(bases) == 1 else "Share, %"
