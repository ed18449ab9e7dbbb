"""Checks the rows of `opscope stats`: times, shares and durations of groups."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from viewer.model.names.torq import START_PROGRAM, WAIT_PROGRAM
from viewer.model.trace import Unit
from viewer.prove.charge import (
    OVERLAPS,
    Derived,
    Window,
    add_durations,
    add_medians,
    length,
    starts,
    union_of,
)
from viewer.prove.raw import Raw
from viewer.prove.verdict import MICRO, MILLI, Verdict, figures_in

Facts = Mapping[str, Any]
OWN_CLOCK = "a clock of their own timed some of the slices"
_LENGTHS = ("mean", "min", "max", "p50", "p90")


def check_rows(
    verdict: Verdict,
    raw: Raw,
    name: str,
    facts: Facts,
    labels: Sequence[str],
    derived: Mapping[int, Derived],
    rest: int | None,
    *,
    in_order: bool,
    divisor: int = 0,
) -> None:
    """Check the rows of one profile by one key, with the whole and the rest in its head.

    facts: `rows` and `file`, as in the report. labels: of the groups. in_order: whether rows are in
    the order of the groups, rather than by their time. divisor: of how many inferences there are
    means, 0 for none.
    """
    rows: Sequence[Facts] = facts["rows"]
    listed = {
        g: figures
        for g, figures in derived.items()
        if figures.total or figures.self_ticks or figures.count
    }
    is_known = rest is not None and all(figures.wall is not None for figures in derived.values())
    walls = sum(figures.wall or 0 for figures in derived.values())
    whole = walls + (rest or 0) if is_known else None
    # Groups of one label are in the order of the report.
    order = sorted(listed)
    if not in_order:
        order.sort(key=lambda g: (-(listed[g].wall or 0), -listed[g].self_ticks, -listed[g].total))
    waiting: dict[str, list[Derived]] = {}
    for g in order:
        waiting.setdefault(labels[g], []).append(listed[g])
    before = 0  # the wall time of the rows above
    for row in rows:
        figure = f"{name}: {row['label']}"
        same = waiting.get(label_on(row["label"], row.get("clock", "")))
        figures = same.pop(0) if same else None
        is_apart = "clock" in row or "delegate_ns" in row
        if is_apart and figures is None:
            figures = Derived()  # nothing is charged to it
        if figures is None:
            verdict.same(f"{figure}: row", "listed", "not listed")
        else:
            before = _check_row(verdict, raw, figure, row, figures, whole, before, divisor)
    for label, others in waiting.items():
        for _ in others:
            verdict.same(f"{name}: {label}: row", "not listed", "listed")
    _check_head(verdict, raw, name, facts["file"], whole, rest, before, divisor)


def label_on(label: str, clock: str) -> str:
    """Return the label of a group on a clock; "" is that of the file."""
    return f"{label} on {clock}" if clock else label


def _check_head(
    verdict: Verdict, raw: Raw, name: str, file: Facts, whole: int | None, rest: int | None,
    before: int, divisor: int,
) -> None:  # fmt: skip
    if whole is None or rest is None:
        verdict.skip(f"{name}: whole, ungrouped", OVERLAPS, 4)
        return
    verdict.same(f"{name}: whole_ticks", file["whole_ticks"], whole)
    verdict.same(f"{name}: whole_ns", file["whole_ns"], raw.ns(whole))
    verdict.same(f"{name}: ungrouped_ticks", file["ungrouped_ticks"], rest)
    verdict.same(f"{name}: ungrouped_ns", file["ungrouped_ns"], raw.ns(whole) - raw.ns(before))
    if divisor:
        mean, listed = (raw.ns(Fraction(ticks, divisor)) for ticks in (whole, before))
        verdict.same(f"{name}: inferences", file["per_inferences"], divisor)
        verdict.same(f"{name}: mean whole", file["whole_per_inference_ns"], mean)
        verdict.same(f"{name}: mean ungrouped", file["ungrouped_per_inference_ns"], mean - listed)


def _check_row(
    verdict: Verdict, raw: Raw, figure: str, row: Facts, figures: Derived, whole: int | None,
    before: int, divisor: int,
) -> int:  # fmt: skip
    """Check a row, and return the wall time up to it. Rounded wall times add up to the whole."""
    times = {"total": figures.total, "self": figures.self_ticks}
    if row["total_ticks"] is None:  # only another clock timed it
        verdict.same(f"{figure}: ticks of the file", 0, times.pop("total"))
    for name, ticks in times.items():
        verdict.same(f"{figure}: {name}_ticks", row[f"{name}_ticks"], ticks)
        verdict.same(f"{figure}: {name}_ns", row[f"{name}_ns"], raw.ns(ticks))
    if figures.wall is None or whole is None:
        verdict.skip(f"{figure.partition(':')[0]}: wall, share", OVERLAPS, 3)
    else:
        verdict.same(f"{figure}: wall_ticks", row["wall_ticks"], figures.wall)
        after = before + figures.wall
        verdict.same(f"{figure}: wall_ns", row["wall_ns"], raw.ns(after) - raw.ns(before))
        verdict.near(f"{figure}: share", row["share"], Fraction(figures.wall, whole or 1), MICRO)
        if divisor:
            mean = raw.ns(Fraction(after, divisor)) - raw.ns(Fraction(before, divisor))
            verdict.same(f"{figure}: mean wall", row["wall_per_inference_ns"], mean)
        before = after
    if divisor:
        for name, ticks in times.items():
            mean = raw.ns(Fraction(ticks, divisor))
            verdict.same(f"{figure}: mean {name}", row[f"{name}_per_inference_ns"], mean)
        if "p50_per_inference_ns" in row:
            middle = Fraction(figures.twice_each, 2)
            verdict.same(f"{figure}: median self", row["p50_per_inference_ticks"], middle)
            verdict.same(f"{figure}: median self ns", row["p50_per_inference_ns"], raw.ns(middle))
    if "clock" in row or "delegate_ns" in row:
        clocks = [value for name, value in row.items()
                  if name.startswith(("count", "clock_", "delegate_", *_LENGTHS))]  # fmt: skip
        verdict.skip(f"{figure.partition(': stats')[0]}: durations", OWN_CLOCK, figures_in(clocks))
        return before
    verdict.same(f"{figure}: count", row["count"], figures.count)
    lengths = (
        Fraction(figures.sum, figures.count or 1), Fraction(figures.min), Fraction(figures.max),
        Fraction(figures.twice_p50, 2), Fraction(figures.ten_p90, 10),
    )  # fmt: skip
    for name, each in zip(_LENGTHS, lengths, strict=True):
        verdict.near(f"{figure}: {name}_ticks", row[f"{name}_ticks"], each, MILLI)
        verdict.floor(f"{figure}: {name}_ns", row[f"{name}_ns"], each * raw.rate)
    if figures.zeros or "rounded_zeros" in row:
        verdict.same(f"{figure}: rounded_zeros", row.get("rounded_zeros", 0), figures.zeros)
    return before


def check_cells(
    verdict: Verdict, raw: Raw, name: str, rows: Sequence[Facts],
    cells: Mapping[tuple[str, str], Sequence[Derived]], whole: int | None,
) -> None:  # fmt: skip
    """Check the rows by two keys; cells: by the labels of both. Rounded times of a group add up."""
    waiting = {
        pair: [each for each in listed if each.total or each.self_ticks or each.wall or each.count]
        for pair, listed in cells.items()
    }
    for row in rows:
        figure = f"{name}: {row['label']}: {row['then']}"
        pair = label_on(row["label"], row.get("clock", "")), row["then"]
        if pair not in waiting:
            pair = row["label"], label_on(row["then"], row.get("clock", ""))
        same = waiting.get(pair, [])
        is_apart = "clock" in row or "delegate_ns" in row
        if not same and not is_apart:
            verdict.same(f"{figure}: row", "listed", "not listed")
            continue
        # Groups of one label: the one that is the same, if there is any.
        stated = row["total_ticks"], row["self_ticks"], row.get("count")
        order = sorted(same, key=lambda each: stated != (each.total, each.self_ticks, each.count))
        figures = order[0] if order else Derived()
        if order:
            same.remove(figures)
        _check_cell(verdict, raw, figure, row, figures, whole)
        if is_apart:
            verdict.skip(f"{name}: durations", OWN_CLOCK, len(_LENGTHS))
    for pair, others in waiting.items():
        for _ in others:
            verdict.same(f"{name}: {': '.join(pair)}: row", "not listed", "listed")


def _check_cell(
    verdict: Verdict, raw: Raw, figure: str, row: Facts, figures: Derived, whole: int | None
) -> None:
    times = {"total": figures.total, "self": figures.self_ticks, "wall": figures.wall}
    for name, ticks in times.items():
        if ticks is None or whole is None:
            verdict.skip(f"{figure.partition(':')[0]}: wall, share", OVERLAPS, 3)
        elif row[f"{name}_ticks"] is not None or ticks:
            verdict.same(f"{figure}: {name}_ticks", row[f"{name}_ticks"], ticks)
            verdict.near(f"{figure}: {name}_ns", row[f"{name}_ns"], ticks * raw.rate, 1)
    if figures.wall is not None and whole is not None:
        verdict.near(f"{figure}: share", row["share"], Fraction(figures.wall, whole or 1), MICRO)
    if "count" not in row:  # the rest of a place
        verdict.same(f"{figure}: count", 0, figures.count)
    elif "clock" not in row and "delegate_ns" not in row:
        verdict.same(f"{figure}: count", row["count"], figures.count)
        lengths = (
            Fraction(figures.sum, figures.count or 1), Fraction(figures.min),
            Fraction(figures.max), Fraction(figures.twice_p50, 2), Fraction(figures.ten_p90, 10),
        )  # fmt: skip
        for name, each in zip(_LENGTHS, lengths, strict=True):
            verdict.near(f"{figure}: {name}_ticks", row[f"{name}_ticks"], each, MILLI)


def threads(
    raw: Raw, counts: str, window: Window | None = None, inferences: int = 0
) -> dict[int, Derived]:
    """Return the figures of tracks: their outermost slices; the table `scope` is none of them.

    Inside a scope, the outermost of its slices count as occurrences. Foreign ones count nowhere.
    counts, window, inferences: as in `viewer.prove.charge.Grouping`.
    """
    raw.run(
        f"""CREATE OR REPLACE TABLE outer_slice AS WITH RECURSIVE down AS (
            SELECT *, id IN (FROM scope) AS is_scope FROM slices WHERE parent IS NULL AND NOT native
            UNION ALL SELECT s.*, s.id IN (FROM scope) FROM slices s JOIN down d ON s.parent = d.id
            WHERE d.is_scope
        ) SELECT * EXCLUDE (counts), {counts} AS counts FROM down"""
    )
    derived: dict[int, Derived] = {}
    outer = "(SELECT *, began AS a, ended AS b FROM outer_slice WHERE parent IS NULL AND counts)"
    for g, ticks in raw.run(f"SELECT track, sum({length(window)}) FROM {outer} GROUP BY track"):
        derived[g] = Derived(int(ticks), int(ticks))
    if inferences:
        sums = f"SELECT track, n, sum(b - a) FROM {outer} JOIN in_inference USING (id) GROUP BY ALL"
        add_medians(derived, raw.run(sums), inferences)
    busy = union_of(
        within("outer_slice WHERE NOT is_scope AND counts", window), "thread, any_value(track)"
    )
    for _, g, ticks in raw.run(busy):
        figures = derived.setdefault(g, Derived())
        figures.wall = (figures.wall or 0) + int(ticks)
    raw.run(
        "CREATE OR REPLACE TABLE occurrence AS SELECT track AS g, ended - began AS long, is_zero "
        f"FROM outer_slice WHERE NOT is_scope AND counts AND NOT is_open AND {starts(window)}"
    )
    add_durations(raw, derived)
    return derived


def within(source: str, window: Window | None) -> str:
    """Return a source of intervals, cut at a window."""
    if window is None:
        return source
    return (f"(SELECT * REPLACE (greatest(began, {window.first}) AS began, "
            f"least(ended, {window.last}) AS ended) FROM {source})")  # fmt: skip


def inferences(raw: Raw, group: Sequence[int], window: Window | None = None) -> dict[int, Derived]:
    """Return the figures of groups of inferences; group: of each, in the order of the file.

    One that is left out, as it did not finish, has a total and a duration, but no wall time, except
    in a range.
    """
    runs = list(raw.trace.inferences())
    counted = [run.counts and run.finished for run in runs]
    if not any(run.finished for run in runs):
        counted = [run.counts for run in runs]
    raw.register("inference", {
        "g": list(group), "a": [run.start for run in runs], "b": [run.end for run in runs],
        "is_counted": [window is not None or counts for counts in counted],
    })  # fmt: skip
    raw.run("CREATE OR REPLACE TABLE occurrence AS SELECT g, b - a AS long, false AS is_zero "
            f"FROM inference WHERE {starts(window, 'a')}")  # fmt: skip
    long = length(window)
    sums = f"SELECT g, sum({long}), sum({long}) FILTER (is_counted) FROM inference GROUP BY g"
    derived = {
        g: Derived(int(total), int(total), int(wall or 0)) for g, total, wall in raw.run(sums)
    }
    add_durations(raw, derived)
    return derived


# -- units of an NPU -------------------------------------------------------------------------------

_UNITS = {
    "dma_in": (Unit.DMA_IN,), "dma_out": (Unit.DMA_OUT,), "dma": (Unit.DMA_IN, Unit.DMA_OUT),
    "cdma": (Unit.CDMA,), "dma_cdma": (Unit.DMA_IN, Unit.DMA_OUT, Unit.CDMA),
    "slice": (Unit.SLICE,), "css": (Unit.CSS,), "compute": (Unit.SLICE, Unit.CSS),
    "nss": (Unit.NSS,),
    "either": (Unit.DMA_IN, Unit.DMA_OUT, Unit.CDMA, Unit.SLICE, Unit.CSS),
    "busy": (Unit.DMA_IN, Unit.DMA_OUT, Unit.CDMA, Unit.SLICE, Unit.CSS, Unit.NSS),
}  # fmt: skip
# Work of the processor: innermost, no wait, and of the HAL, no call of dispatches.
_WORK = f"""
SELECT s.*, n.name FROM slices s JOIN slice_name n USING (id)
WHERE unit IN ({Unit.HOST:d}, {Unit.HAL:d})
    AND id NOT IN (SELECT parent FROM slices WHERE parent IS NOT NULL)
    AND NOT (unit = {Unit.HAL:d} AND EXISTS (SELECT 1 FROM slices h WHERE h.unit = {Unit.HOST:d}
        AND h.ended > h.began AND h.began >= s.began AND h.began < s.ended))
    AND NOT ends_with(n.name, '_WAIT') AND NOT ends_with(n.name, '{WAIT_PROGRAM}')"""
_PROGRAMS = f"('HOST_START', 'HOST_PROGRAM', '{START_PROGRAM} (host)')"


def check_units(
    verdict: Verdict, raw: Raw, name: str, facts: Facts, window: Window | None = None
) -> None:
    """Check how long each unit of an NPU was busy, alone and with others."""
    trace = raw.trace
    strings = np.array(trace.strings, object)
    threads = np.array(
        [re.sub(r"\W+", "_", track.thread.lower()) for track in trace.tracks], object
    )
    raw.register("slice_name", {
        "id": np.arange(len(trace.slices)), "name": strings[trace.slices.name],
        "of_track": threads[trace.slices.row_track[trace.slices.rows()]],
    })  # fmt: skip
    raw.run(f"CREATE OR REPLACE TABLE working_unit AS {_WORK}")
    sets = [
        f"SELECT '{key}' AS thread, began, ended FROM slices "
        f"WHERE unit IN ({', '.join(str(int(unit)) for unit in units)})"
        for key, units in _UNITS.items()
    ]
    sets += [
        f"SELECT of_track, began, ended FROM slices JOIN slice_name USING (id) "
        f"WHERE unit = {Unit.SLICE:d}",
        "SELECT 'busy', began, ended FROM working_unit",
        f"SELECT 'host', began, ended FROM working_unit WHERE unit = {Unit.HOST:d}",
        f"SELECT 'hal', began, ended FROM working_unit WHERE unit = {Unit.HAL:d}",
        f"SELECT 'host_programs', began, ended FROM working_unit WHERE unit = {Unit.HOST:d} "
        f"AND name IN {_PROGRAMS}",
        f"SELECT 'host_copy', began, ended FROM working_unit WHERE unit = {Unit.HOST:d} "
        "AND name IN ('HOST_COPY', 'torq_hl.host_copy')",
    ]
    raw.run(f"CREATE OR REPLACE TABLE of_unit AS {' UNION ALL '.join(sets)}")
    ticks = {key: int(length) for key, length in raw.run(union_of(within("of_unit", window)))}
    dma, compute, either = (ticks.get(key, 0) for key in ("dma_cdma", "compute", "either"))
    ends = within("(SELECT min(began) AS began, max(ended) AS ended FROM slices)", window)
    overall = raw.number(f"SELECT greatest(ended - began, 0) FROM {ends}")
    ticks |= {
        "only_dma": either - compute, "only_compute": either - dma,
        "overlap": dma + compute - either, "overall": overall,
        "idle": overall - ticks.get("busy", 0),
    }  # fmt: skip
    before = 0
    for row in facts["rows"]:
        figure, length = f"{name}: {row['label']}", ticks.get(row["key"], 0)
        verdict.same(f"{figure}: total_ticks", row["total_ticks"], length)
        verdict.same(f"{figure}: total_ns", row["total_ns"], raw.ns(length))
        verdict.near(f"{figure}: share", row["share"], Fraction(length, overall or 1), MICRO)
        if row["key"] in ("busy", "idle"):
            after = before + length
            verdict.same(f"{figure}: wall_ticks", row["wall_ticks"], length)
            verdict.same(f"{figure}: wall_ns", row["wall_ns"], raw.ns(after) - raw.ns(before))
            before = after
    verdict.same(f"{name}: whole_ticks", facts["file"]["whole_ticks"], overall)
