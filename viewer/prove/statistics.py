"""Checks `opscope stats` and `opscope calls`: times, shares and durations of groups and paths.

In the call tree, top-down and bottom-up, a slice *opens* a path below the one around it, unless it
is left out, as others account for its time, or merged: by operator, module and type, a slice
without a group, or of the same group as the nearest one around it that has a group, is a part of
this.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from viewer.arrays import Bools, Ints, lists_by_key
from viewer.dataclasses import dataclass
from viewer.model.recorded_names import START_PROGRAM, WAIT_PROGRAM
from viewer.model.trace import Unit
from viewer.prove.raw import (
    MICRO,
    MILLI,
    OVERLAPS,
    Derived,
    Raw,
    Verdict,
    Window,
    add_durations,
    add_medians,
    figures_in,
    length,
    starts,
    union_of,
)

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
    waiting = lists_by_key((labels[g], listed[g]) for g in order)
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
    verdict.same_time(raw, name, file, "whole", whole)
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
        verdict.same_time(raw, figure, row, name, ticks)
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
    for name, each in zip(_LENGTHS, figures.lengths, strict=True):
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
        for name, each in zip(_LENGTHS, figures.lengths, strict=True):
            verdict.near(f"{figure}: {name}_ticks", row[f"{name}_ticks"], each, MILLI)


def threads(
    raw: Raw, counts: str, window: Window | None = None, inferences: int = 0
) -> dict[int, Derived]:
    """Return the figures of tracks: their outermost slices; the table `scope` is none of them.

    Inside a scope, the outermost of its slices count as occurrences. Foreign ones count nowhere.
    counts, window, inferences: as in `viewer.prove.raw.Grouping`.
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


Figures = tuple[int, ...]  # total, self, count, zeros
LEVELS = 3  # of a bottom-up tree that are checked

# The path of each slice as a hash of that around it and its label.
_PATHS = """
CREATE OR REPLACE TABLE pathed AS WITH RECURSIVE walk AS (
    SELECT s.*, l.g, l.text, hash('thread ' || s.track) AS around, NULL::BIGINT AS near,
        NULL::BIGINT AS inside
    FROM slices s JOIN labeled l USING (id) WHERE s.parent IS NULL
    UNION ALL
    SELECT s.*, l.g, l.text,
        CASE WHEN {opens} THEN hash(w.around, {label}) ELSE w.around END,
        CASE WHEN w.g IS NOT NULL AND {taken} THEN w.g ELSE w.near END,
        CASE WHEN {opens} THEN w.id ELSE w.inside END
    FROM walk w JOIN slices s ON s.parent = w.id JOIN labeled l ON l.id = s.id
)
SELECT id, parent, place, track, began, ended, counts, is_open, is_zero, samples,
    id IN (FROM left_out) AS is_out, around AS upper, inside, {opens} AS opens,
    CASE WHEN {opens} THEN hash(around, {label}) END AS path, {label} AS label FROM walk w"""

# A slice that does not count covers what counts in it.
_COVERED = """
CREATE OR REPLACE TABLE covered AS WITH RECURSIVE rising AS (
    SELECT p.id, p.ended - p.began AS long, u.id AS up, u.parent AS above,
        u.counts AND NOT u.is_out AS stops
    FROM pathed p JOIN pathed u ON u.id = p.parent WHERE p.counts AND NOT p.is_out
    UNION ALL
    SELECT r.id, r.long, u.id, u.parent, u.counts AND NOT u.is_out
    FROM rising r JOIN pathed u ON u.id = r.above WHERE NOT r.stops
), inner_time AS (SELECT up AS id, sum(long) AS long FROM rising WHERE NOT stops GROUP BY up)
SELECT p.*, CASE WHEN counts THEN ended - began ELSE coalesce(i.long, 0) END AS long
FROM pathed p LEFT JOIN inner_time i USING (id) WHERE opens"""

_NODES = """
SELECT c.path, any_value(c.upper), any_value(c.label), any_value(c.track), sum(c.long),
    sum(c.long - coalesce(i.long, 0)),
    coalesce(sum(c.samples) FILTER (c.counts AND NOT c.is_open), 0),
    count(*) FILTER (c.counts AND NOT c.is_open AND c.is_zero)
FROM covered c LEFT JOIN (SELECT inside AS id, sum(long) AS long FROM covered GROUP BY inside) i
    USING (id) GROUP BY c.path"""

# The same names, and callers, at the end of paths. A path below another such path adds no total.
_BOTTOM_UP = """
WITH suffixes AS (SELECT node, reach, {key} AS suffix, total, own, many, zeros FROM nodes)
SELECT suffix, sum(CASE WHEN is_outer THEN total ELSE 0 END), sum(own), sum(many), sum(zeros) FROM (
    SELECT *, coalesce(max(reach) OVER (PARTITION BY suffix ORDER BY node
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) < node, true) AS is_outer FROM suffixes
) GROUP BY suffix"""


@dataclass(slots=True)
class _Node:
    """A path. upper: that around it, or the hash of its track. place, reach: as of slices."""

    path: int
    upper: int
    label: int
    track: int
    figures: Figures
    above: _Node | None = None
    place: int = 0
    reach: int = 0
    is_listed: bool = False


@dataclass(frozen=True, slots=True)
class CallNames:
    """What slices are called: the label of each, and the names of tracks.

    group: of each slice the number of its label, -1 for none. text: of each the number of its name.
    texts: those of all numbers, each once. merges: whether nested slices of one label are one.
    """

    group: Ints
    text: Ints
    texts: Sequence[str]
    merges: bool
    left_out: Bools | None
    threads: Sequence[str]


def check_calls(
    verdict: Verdict, raw: Raw, name: str, names: CallNames, top_down: Facts, bottom_up: Facts
) -> None:
    """Check the rows of one profile in both directions; facts: `file` and `rows`."""
    nodes = _tree(raw, names)
    derived = defaultdict[tuple[str, ...], list[Figures]](list)
    of_tracks: dict[int, int] = {}
    paths: dict[int, tuple[str, ...]] = {}
    for node in nodes:
        head = raw.trace.tracks[node.track].process, names.threads[node.track]
        paths[node.path] = (*paths.get(node.upper, head), names.texts[node.label])
        derived[paths[node.path]].append(node.figures)
        total = node.figures[0] if node.above is None else 0
        of_tracks[node.track] = of_tracks.get(node.track, 0) + total
    of_threads = [
        (raw.trace.tracks[track].process, names.threads[track], total)
        for track, total in of_tracks.items()
    ]
    _compare(verdict, raw, f"{name}: top-down", top_down["rows"], derived)
    reported = [(t["process"], t["thread"], t["total_ticks"]) for t in top_down["file"]["threads"]]
    for figure, of_file, of_sql in zip(
        ("threads",) * len(reported), sorted(reported), sorted(of_threads), strict=False
    ):
        verdict.same(f"{name}: {figure}", of_file, of_sql)
    verdict.same(f"{name}: number of threads", len(reported), len(of_threads))
    whole = sum(total for *_, total in of_threads)
    verdict.same(f"{name}: total_ticks", top_down["file"]["total_ticks"], whole)
    verdict.same(f"{name}: total_ns", top_down["file"]["total_ns"], raw.ns(whole))
    callers = _bottom_up(raw, names, nodes)
    rows = [row for row in bottom_up["rows"] if len(row["path"]) <= LEVELS]
    _compare(verdict, raw, f"{name}: bottom-up", rows, callers)


def _compare(
    verdict: Verdict, raw: Raw, name: str, rows: Sequence[Facts],
    derived: Mapping[tuple[str, ...], list[Figures]],
) -> None:  # fmt: skip
    """Compare the rows of each path; two threads can have one name."""
    reported = defaultdict[tuple[str, ...], list[Figures]](list)
    for row in rows:
        ticks, zeros = (row["total_ticks"], row["self_ticks"]), row.get("rounded_zeros", 0)
        reported[tuple(row["path"])].append((*ticks, row["count"], zeros))
        for kind, of_row in zip(("total", "self"), ticks, strict=True):
            verdict.same(f"{name}: {row['path'][-1]}: {kind}_ns", row[f"{kind}_ns"], raw.ns(of_row))
    for path in dict.fromkeys((*reported, *derived)):
        others = sorted(
            (total, self_ticks, count, 0 if total else zeros)
            for total, self_ticks, count, zeros in derived.get(path, ())
        )
        same = sorted(reported.get(path, ()))
        figure = f"{name}: {' > '.join(path)}"
        verdict.same(f"{figure}: number of rows", len(same), len(others))
        for of_row, of_sql in zip(same, others, strict=False):
            for kind, value, exact in zip(
                ("total_ticks", "self_ticks", "count"), of_row, of_sql, strict=False
            ):
                verdict.same(f"{figure}: {kind}", value, exact)


def _tree(raw: Raw, names: CallNames) -> list[_Node]:
    """Return the nodes with any time or slice, and those around them, in preorder."""
    raw.give(names.group)
    left_out = np.zeros(0, np.bool_) if names.left_out is None else names.left_out
    raw.register("left_out", {"id": np.flatnonzero(left_out)})
    raw.register("texts", {"id": np.arange(len(names.text)), "text": names.text})
    raw.run("CREATE OR REPLACE TABLE labeled AS "
            "SELECT id, g, text FROM texts LEFT JOIN given USING (id)")  # fmt: skip
    taken = "w.id NOT IN (FROM left_out)"
    opens, label = taken, "coalesce(w.g, w.text)"
    if names.merges:
        opens += (
            " AND CASE WHEN w.g IS NULL THEN w.near IS NULL ELSE w.g IS DISTINCT FROM w.near END"
        )
    raw.run(_PATHS.format(opens=f"({opens})", label=label, taken=taken))
    raw.run(_COVERED)
    rows = raw.run(_NODES)
    inside = defaultdict[int, list[_Node]](list)
    nodes: dict[int, _Node] = {}
    for path, upper, number, track, total, *others in rows:
        nodes[path] = _Node(path, upper, int(number), int(track), tuple(map(int, (total, *others))))
        inside[upper].append(nodes[path])
    ordered: list[_Node] = []
    waiting = [node for node in nodes.values() if node.upper not in nodes]
    while waiting:
        node = waiting.pop()
        node.place = len(ordered)
        node.above = nodes.get(node.upper)
        ordered.append(node)
        waiting += inside[node.path]
    for node in reversed(ordered):
        total, _, count, _ = node.figures
        node.is_listed |= total > 0 or count > 0
        if node.above is not None:
            node.above.is_listed |= node.is_listed
            node.above.reach = max(node.above.reach, node.reach, node.place)
    return [node for node in ordered if node.is_listed]


def _bottom_up(
    raw: Raw, names: CallNames, nodes: Sequence[_Node]
) -> dict[tuple[str, ...], list[Figures]]:
    """Return the figures of names, and of their callers."""
    texts = list(names.texts)
    of_track = {track: len(texts) + 2 * track for track in range(len(names.threads))}
    processes: dict[str, int] = {}
    for track, thread in enumerate(names.threads):
        process = raw.trace.tracks[track].process
        processes.setdefault(process, len(texts) + 1)
        texts += [thread, process]

    def callers(node: _Node) -> tuple[int, int | None]:
        thread = of_track[node.track]
        if node.above is not None:
            above = node.above.above
            return node.above.label, thread if above is None else above.label
        return thread, processes[raw.trace.tracks[node.track].process]

    columns = zip(
        *(
            (node.place, max(node.reach, node.place), node.label, *callers(node), *node.figures)
            for node in nodes
        ),
        strict=True,
    )
    keys = ("node", "reach", "label", "up", "upper", "total", "own", "many", "zeros")
    derived = defaultdict[tuple[str, ...], list[Figures]](list)
    if not nodes:
        return derived
    raw.register("nodes", dict(zip(keys, map(list, columns), strict=True)))
    for key in ("[label]", "[label, up]", "[label, up, upper]"):
        for suffix, *figures in raw.run(_BOTTOM_UP.format(key=key)):
            derived[tuple(texts[i] for i in suffix)].append(tuple(map(int, figures)))
    return derived
