"""Checks the Summary and `opscope delegation`: inferences, the parts of the whole, delegates.

Of the Summary: medians of inferences, the wall time, the whole, and what takes most time. Of
delegation: the parts of the whole, delegates, links and handle maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.model.times import plain_spaces
from viewer.model.trace import KeyKind, RunKind
from viewer.prove.raw import (
    MICRO,
    OVERLAPS,
    Raw,
    Verdict,
    assign_owners,
    figures_in,
    moments,
    prepare,
    rest_of,
    union_of,
)

Keys = Sequence[int]
_LINKABLE, _LINKED = 1, 2

_COUNTS = f"""
SELECT g, count(*), count(*) FILTER (kind = {KeyKind.KERNEL:d}), count(*) FILTER (native)
FROM slices JOIN given USING (id) WHERE {{counts}} AND NOT derived GROUP BY g"""


@dataclass(frozen=True, slots=True)
class Identities:
    """Which identities of slices each row of a report covers.

    delegates: of calls, and of events in them. outside: what ran in no delegate. unlinked: without
    a link, for each reason. maps: rows of handle maps. states: of each identity, 2 if it is linked,
    1 if it could be.
    """

    delegates: Sequence[tuple[Keys, Keys]]
    outside: Sequence[Keys]
    unlinked: Sequence[Keys]
    maps: Sequence[Keys]
    states: Ints


def check_delegation(
    verdict: Verdict, raw: Raw, name: str, file: Facts, identities: Identities
) -> None:
    """Check what a report says of one profile."""
    parts = check_totals(verdict, raw, name, file, identities)
    if parts is not None:
        whole, *_ = parts.ticks
        _check_delegates(verdict, raw, name, file, identities, parts.walls, whole)
        _check_outside(verdict, raw, name, file, identities, parts.walls, whole)
    _check_links(verdict, raw, name, file, identities)
    _check_maps(verdict, raw, name, file["handle_map"], identities.maps)


@dataclass(frozen=True, slots=True)
class Parts:
    """Ticks of the whole, of delegates, of what ran outside, and of neither; walls: of each group.

    The calls and events of delegate n are the groups 2n and 2n + 1; what ran outside follows.
    """

    ticks: tuple[int, int, int, int]
    walls: Mapping[int, int]


def totals(raw: Raw, identities: Identities) -> Parts | None:
    """Return the parts of the whole; None if too many slices overlap."""
    groups = [keys for both in identities.delegates for keys in both]
    _give(raw, (*groups, *identities.outside))
    prepare(raw)
    assign_owners(raw, "charged", "charged IS NOT NULL", "steady")
    if not moments(raw):
        return None
    walls = {
        int(g): int(ticks)
        for g, ticks in raw.run("SELECT g, sum(b - a) FROM moments WHERE counts GROUP BY g")
    }
    rest = rest_of(raw, of_calls=True, counts="steady")
    delegated = sum(ticks for g, ticks in walls.items() if g < len(groups))
    charged = sum(walls.values())
    return Parts((charged + rest, delegated, charged - delegated, rest), walls)


def check_totals(
    verdict: Verdict, raw: Raw, name: str, file: Facts, identities: Identities
) -> Parts | None:
    """Check the parts of the whole, and return them."""
    parts = totals(raw, identities)
    if parts is None:
        tables = [file[table] for table in ("delegates", "stayed_outside") if table in file]
        verdict.skip(f"{name}: times", OVERLAPS, figures_in(tables) + 8)
        return None
    for part, ticks in zip(("whole", "delegated", "outside", "neither"), parts.ticks, strict=True):
        verdict.same_time(raw, name, file, part, ticks)
    return parts


def _check_delegates(
    verdict: Verdict, raw: Raw, name: str, file: Facts, identities: Identities,
    walls: Mapping[int, int], whole: int,
) -> None:  # fmt: skip
    counts = _counts(raw, [keys for both in identities.delegates for keys in both], "steady")
    for n, row in enumerate(file["delegates"]):
        figure = f"{name}: {row['label']}"
        inside = walls.get(2 * n + 1, 0)
        ticks = walls.get(2 * n, 0) + inside
        verdict.same_time(raw, figure, row, "time", ticks)
        verdict.same(f"{figure}: calls", row["calls"], counts[2 * n][0])
        events, _, native = counts[2 * n + 1]
        verdict.same(f"{figure}: events", row["events"], events)
        if row["share"] is not None:
            verdict.near(f"{figure}: share", row["share"], Fraction(ticks, whole or 1), MICRO)
        is_known = bool(identities.delegates[n][0]) and events > native
        verdict.same_time(raw, figure, row, "unattributed", ticks - inside if is_known else None)


def _check_outside(
    verdict: Verdict, raw: Raw, name: str, file: Facts, identities: Identities,
    walls: Mapping[int, int], whole: int,
) -> None:  # fmt: skip
    first = 2 * len(identities.delegates)
    counts = _counts(raw, identities.outside, "steady")
    for n, row in enumerate(file["stayed_outside"]):
        figure, ticks = f"{name}: {row['label']}", walls.get(first + n, 0)
        every, kernels, _ = counts[n]
        verdict.same_time(raw, figure, row, "time", ticks)
        # A kernel in its call is no other slice.
        slices = every - kernels if every > kernels else every
        verdict.same(f"{figure}: slices", row["slices"], slices)
        if row["share"] is not None:
            verdict.near(f"{figure}: share", row["share"], Fraction(ticks, whole or 1), MICRO)


def _check_links(
    verdict: Verdict, raw: Raw, name: str, file: Facts, identities: Identities
) -> None:
    coverage, states = file["coverage"], identities.states
    linked = [np.flatnonzero(states >= state).tolist() for state in (_LINKABLE, _LINKED)]
    counts, times = zip(*(_stated(raw, keys) for keys in linked), strict=True)
    verdict.same(f"{name}: linkable", coverage["linkable"], counts[0])
    verdict.same(f"{name}: linked", coverage["linked"], counts[1])
    for key, (whole, part) in (("of_slices", counts), ("of_time", times)):
        figure = f"{name}: coverage {key}"
        if whole:
            verdict.near(figure, coverage[key], Fraction(part, whole), MICRO)
        else:
            verdict.same(figure, coverage[key], None)
    for row, keys in zip(file["unlinked"], identities.unlinked, strict=True):
        figure = f"{name}: {row['reason']}"
        count, ticks = _stated(raw, keys)
        verdict.same(f"{figure}: slices", row["slices"], count)
        verdict.same_time(raw, figure, row, "time", ticks)


def _check_maps(
    verdict: Verdict, raw: Raw, name: str, rows: Sequence[Facts], maps: Sequence[Keys]
) -> None:
    """Check the rows of handle maps, which cover all inferences, and add up what lanes have."""
    _give(raw, maps)
    prepare(raw)
    assign_owners(raw, "charged", "charged IS NOT NULL", "counts")
    times = dict(raw.run("SELECT g, sum(b - a) FROM owned WHERE counts GROUP BY g"))
    counts = _counts(raw, maps, "counts")
    for n, row in enumerate(rows):
        figure = f"{name}: identifier {row['identifier']}"
        every, _, native = counts[n]
        verdict.same(f"{figure}: slices", row["slices"], every)
        verdict.same(f"{figure}: on_own_clock", row["on_own_clock"], native)
        if row["time_ticks"] is not None:
            verdict.same_time(raw, figure, row, "time", int(times.get(n, 0)))


def _give(raw: Raw, groups: Sequence[Keys]) -> None:
    """Give each slice the number of the group that has its identity."""
    of_key = np.full(len(raw.trace.keys), -1)
    for number, keys in enumerate(groups):
        of_key[np.array(keys, np.int64)] = number
    raw.give(of_key[raw.trace.slices.key])


def _counts(raw: Raw, groups: Sequence[Keys], counts: str) -> list[tuple[int, int, int]]:
    """Return of each group the number of slices, of kernels, and of those on another clock."""
    _give(raw, groups)
    by_group = {int(g): tuple(row) for g, *row in raw.run(_COUNTS.format(counts=counts))}
    return [by_group.get(number, (0, 0, 0)) for number in range(len(groups))]


def _stated(raw: Raw, keys: Keys) -> tuple[int, int]:
    """Return how many slices of the file have some identities, and the ticks in which any runs."""
    _give(raw, [keys])
    source = "slices WHERE id IN (SELECT id FROM given) AND steady"
    count = raw.number(f"SELECT count(*) FROM {source} AND NOT computed")
    return count, sum(int(ticks) for _, ticks in raw.run(union_of(f"{source} AND NOT native")))


Facts = Mapping[str, Any]
_TOKENS = "rates of tokens are derived only once"
_LEVELS = "where a level begins is the result of a test"
_FINDINGS = "a finding has a rule of its own, not a definition"
_MODULES = "times of modules are added up only once"
_RATE_DIGITS = 1e-9

# Each inference that counts with its rank by duration in its method or phase, without warm-up.
_RANKED = """
CREATE OR REPLACE TABLE ranked AS
SELECT *, row_number() OVER (PARTITION BY series ORDER BY long, number) - 1 AS nth,
    count(*) OVER (PARTITION BY series) AS many
FROM run WHERE is_counted AND NOT warms_up"""
_MEDIANS = """
SELECT series, any_value(many), sum(CASE WHEN nth = (many - 1) // 2 THEN long ELSE 0 END
        + CASE WHEN nth = many // 2 THEN long ELSE 0 END),
    max(long) FILTER (nth = (many - 1) // 2), max(shown) FILTER (nth = (many - 1) // 2), sum(long)
FROM ranked GROUP BY series"""

# Idle time before each inference that another one of its process precedes, less what loads take.
_GAPS = """
CREATE OR REPLACE TABLE gap AS WITH ordered AS (
    SELECT *, max(CASE WHEN is_load THEN NULL ELSE ended END) OVER before AS busy,
        sum(CASE WHEN is_load THEN 0 ELSE 1 END) OVER before AS preceding
    FROM run WINDOW before AS (PARTITION BY process ORDER BY began, number
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), loads AS (
    SELECT process, preceding, sum(greatest(ended - greatest(began, coalesce(busy, began)), 0)) AS t
    FROM ordered WHERE is_load GROUP BY ALL
)
SELECT o.*, CASE WHEN NOT is_load AND o.preceding > 0
    THEN greatest(o.began - o.busy - coalesce(l.t, 0), 0) END AS idle
FROM ordered o LEFT JOIN loads l USING (process, preceding)"""


@dataclass(frozen=True, slots=True)
class SummaryNames:
    """What inferences and slices are called, and which slices are work.

    series: of each run the number of its method and phase, -1 for a load. names: of each series.
    is_open: which methods some ran is open. starts_known: the file states when they started.
    threads: whether the whole is the busy time of threads. sets: of each slice its set of
    operators. labels: of these sets. work: of each slice its event, -1 for none. events: their
    labels. is_span: slices that cover a whole thread; the scopes among them have no time.
    delegation: what is delegated, None without calls.
    """

    series: Sequence[int]
    names: Sequence[str]
    is_open: bool
    starts_known: bool
    threads: bool
    sets: Ints
    labels: Sequence[str]
    work: Ints
    events: Sequence[str]
    spans: Ints
    scopes: Ints
    delegation: Identities | None


def check_summary(
    verdict: Verdict, raw: Raw, view: Raw, name: str, file: Facts, names: SummaryNames
) -> None:
    """Check the figures of one profile. view: covers only the phase that the whole is of."""
    span = raw.number("SELECT max(ended) - min(began) FROM slices")
    verdict.same(f"{name}: span_ns", file["span_ns"], raw.ns(span))
    register_runs(raw, names.series)
    _check_medians(verdict, raw, name, file, names)
    if file["slowest"] is not None:
        _check_slowest(verdict, raw, name, file["slowest"])
    _check_wall_time(verdict, raw, name, file["wall_time"], names)
    divisor = _check_base(verdict, raw, name, file, names)
    _check_work(verdict, view, name, file, names, divisor)
    _check_delegation(verdict, view, name, file["delegation"], names)
    verdict.skip(f"{name}: findings", _FINDINGS, figures_in(file["findings"]))
    verdict.skip(f"{name}: modules", _MODULES, figures_in([file["modules"], file["directions"]]))


# -- inferences ------------------------------------------------------------------------------------


def register_runs(raw: Raw, series: Sequence[int]) -> None:
    """Make the tables of runs and of the gaps before them; series: of each run, -1 for a load."""
    runs, tracks = raw.trace.runs, raw.trace.tracks
    is_load = [run.kind is RunKind.LOAD for run in runs]
    any_finished = any(run.finished and not load for run, load in zip(runs, is_load, strict=True))
    columns: dict[str, list[Any]] = {
        "number": list(range(len(runs))),
        "shown": [run.number for run in runs],
        "series": list(series),
        "process": [tracks[run.track].process for run in runs],
        "began": [run.start for run in runs],
        "ended": [run.end for run in runs],
        "long": [run.end - run.start for run in runs],
        "is_load": is_load,
        "is_apart": [run.is_apart for run in runs],
        "is_single": [run.count == 1 for run in runs],
        "inferences": [run.count for run in runs],
        "is_finished": [run.finished for run in runs],
        "is_counted": [
            not load and run.counts and (run.finished or not any_finished)
            for run, load in zip(runs, is_load, strict=True)
        ],
        "warms_up": [run.warms_up for run in runs],
        "sampling": [run.sampling for run in runs],
        "tokens": [run.tokens for run in runs],
    }
    kinds = {"process": "VARCHAR", **{key: "BOOLEAN" for key in columns if key.startswith("is_")}}
    raw.run("CREATE OR REPLACE TABLE run (" + ", ".join(
        f"{key} {kinds.get(key, 'BOOLEAN' if key == 'warms_up' else 'BIGINT')}" for key in columns
    ) + ")")  # fmt: skip
    if runs:
        raw.register("rows_of_runs", columns)
        raw.run("INSERT INTO run FROM rows_of_runs")
    raw.run(_RANKED)
    raw.run(_GAPS)


def _check_medians(verdict: Verdict, raw: Raw, name: str, file: Facts, names: SummaryNames) -> None:
    """Check the median of the only method, or those of several, the largest total first."""
    medians = {int(series): tuple(map(int, row)) for series, *row in raw.run(_MEDIANS)}
    order = sorted(medians, key=lambda series: -medians[series][-1])
    is_one = len(medians) == 1 and medians[order[0]][0] > 1
    several = order if len(medians) > 1 and not names.is_open else []
    expected = [(file["median"], order[0])] if is_one and file["median"] is not None else []
    verdict.same(f"{name}: has a median", file["median"] is not None, is_one)
    verdict.same(f"{name}: number of methods", len(file["methods"]), len(several))
    by_name = {names.names[series]: series for series in several}
    expected += [(row, by_name.get(row["method"], -1)) for row in file["methods"]]
    for row, series in expected:
        count, twice, typical, number, _ = medians.get(series, (0, 0, 0, 0, 0))
        figure = f"{name}: median {row.get('method', '')}"
        verdict.same(f"{figure}: inferences", row["inferences"], count)
        verdict.same(f"{figure}: ns", row["ns"], raw.ns(Fraction(twice, 2)))
        verdict.same(f"{figure}: typical_ns", row["typical_ns"], raw.ns(typical))
        verdict.same(f"{figure}: inference", row["inference"], number)
    for row in file["phases"]:
        series = order[0] if is_one else by_name.get(row["phase"] or "", -1)
        count, twice, *_ = medians.get(series, (0, 0))
        figure = f"{name}: phase {row['phase'] or ''}"
        verdict.same(f"{figure}: inferences", row["inferences"], count)
        verdict.same(f"{figure}: p50_ns", row["p50_ns"], raw.ns(Fraction(twice, 2)))
        verdict.skip(f"{figure}: levels", _LEVELS, figures_in(row["levels"]))
        tokens = [row[key] for key in ("tokens", "tokens_per_second") if row[key] is not None]
        verdict.skip(f"{figure}: tokens", _TOKENS, len(tokens))
        if row["per_second"] is not None:
            _check_rate(verdict, raw, figure, row, series)


def _check_rate(verdict: Verdict, raw: Raw, figure: str, row: Facts, series: int) -> None:
    """Check how inferences of a phase fill the wall time: with the idle time before them."""
    count, ticks, idle = raw.run(
        "SELECT count(*), coalesce(sum(long), 0), coalesce(sum(idle), 0) FROM gap "
        f"WHERE series = {series} AND is_finished AND is_single AND long > 0"
    )[0]
    wall = int(ticks) + int(idle)
    verdict.same(f"{figure}: idle_ns", row["idle_ns"], raw.ns(int(idle)))
    verdict.near(f"{figure}: idle_share", row["idle_share"], Fraction(int(idle), wall or 1), MICRO)
    per_second = count * 10**9 / (wall * raw.rate) if wall else Fraction(0)
    verdict.near(f"{figure}: per_second", row["per_second"], per_second, _RATE_DIGITS)


def _check_slowest(verdict: Verdict, raw: Raw, name: str, row: Facts) -> None:
    """Check the longest inference, and the median of those of its method after the warm-up."""
    longest = raw.run(
        "SELECT long, series, shown FROM run WHERE NOT is_load AND is_single AND long > 0 "
        f"AND shown = {row['inference']} ORDER BY long DESC, number LIMIT 1"
    )[0]
    most = raw.number("SELECT max(long) FROM run WHERE NOT is_load AND is_single AND is_counted")
    verdict.same(f"{name}: slowest: ns", row["ns"], raw.ns(most))
    candidates = (f"SELECT long FROM run WHERE NOT is_load AND is_single AND long > 0 "
                  f"AND is_finished AND series = {longest[1]}")  # fmt: skip
    lengths = sorted(raw.run(f"{candidates} AND NOT warms_up") or raw.run(candidates))
    middle = (lengths[(len(lengths) - 1) // 2][0] + lengths[len(lengths) // 2][0],)
    verdict.same(f"{name}: slowest: median_ns", row["median_ns"], raw.ns(Fraction(middle[0], 2)))


def _check_wall_time(
    verdict: Verdict, raw: Raw, name: str, rows: Sequence[Facts], names: SummaryNames
) -> None:
    """Check the parts of the wall time, by their sums: loads, inferences, sampling, idle time."""
    idle = raw.number("SELECT sum(idle) FROM gap") if names.starts_known else 0
    before = raw.number(
        """WITH first AS (SELECT * FROM run WHERE NOT is_load ORDER BY began, number LIMIT 1)
        SELECT any_value(first.began) - max(run.ended) FROM run, first WHERE run.is_load
        AND NOT run.is_apart AND run.process = first.process AND run.ended <= first.began"""
    )
    sums = {
        "Load": raw.number("SELECT sum(long) FROM run WHERE is_load AND NOT is_apart"),
        "Sampling": raw.number("SELECT sum(sampling) FROM run WHERE NOT is_load"),
        raw.trace.unit.worded("Between inferences"): idle,
        raw.trace.unit.worded("Before the first inference"): before if names.starts_known else 0,
    }
    for row in rows:
        if row["part"] in sums:
            ticks = sums.pop(row["part"])
            verdict.same(f"{name}: wall_time: {row['part']}", row["ns"], raw.ns(ticks))
    for part, ticks in sums.items():
        verdict.same(f"{name}: wall_time: {part}", 0, ticks)
    _check_inferences(verdict, raw, name, rows, names)


def _check_inferences(
    verdict: Verdict, raw: Raw, name: str, rows: Sequence[Facts], names: SummaryNames
) -> None:
    sums = raw.run(
        """WITH placed AS (
            SELECT *, row_number() OVER (ORDER BY began, number) = 1 AND warms_up AS is_first,
                max(sampling) OVER (PARTITION BY series) > 0 AS is_sampled
            FROM run WHERE NOT is_load
        ) SELECT is_first, series, any_value(is_sampled), sum(long - sampling) FROM placed
        GROUP BY is_first, series"""
    )
    are_many, worded = len({series for _, series, *_ in sums}) > 6, raw.trace.unit.worded
    parts: dict[str, int] = {}
    for is_first, series, is_sampled, ticks in sums:
        of_series = worded("Inferences of several methods") if are_many else names.names[series]
        part = worded("First inference") if is_first else of_series or worded("Inferences")
        part += " without sampling" if is_sampled else ""
        parts[part] = parts.get(part, 0) + int(ticks)
    reported = {row["part"]: row["ns"] for row in rows}
    for part, ticks in parts.items():
        verdict.same(f"{name}: wall_time: {part}", reported.get(part, 0), raw.ns(ticks))


def _check_base(verdict: Verdict, raw: Raw, name: str, file: Facts, names: SummaryNames) -> int:
    """Check what times are the sum of, and return how many inferences they are the mean of, or 0.

    They are of the inferences after the warm-up, of the phase that the whole is of. Those of
    several methods or phases have no mean.
    """
    of_phase = ""
    if file["phase"] is not None:
        of_phase = f"AND series = {names.names.index(file['phase'])}"
    count, rows, series = raw.run(
        "SELECT coalesce(sum(inferences), 0), count(*), count(DISTINCT series) FROM run "
        f"WHERE is_counted AND NOT warms_up {of_phase}"
    )[0]
    is_mean = count > 1 and series == 1 and rows in (count, 1)
    text = f"sum of {plain_spaces(raw.trace.unit.counted(int(count)))}" if count else None
    verdict.same(f"{name}: ns_is", file["ns_is"], text)
    verdict.same(f"{name}: per_inferences", file["per_inferences"], int(count) if is_mean else None)
    return int(rows) if is_mean else 0


# -- work ------------------------------------------------------------------------------------------


def _check_work(
    verdict: Verdict, raw: Raw, name: str, file: Facts, names: SummaryNames, divisor: int
) -> None:
    """Check the whole, how many threads it is of, and the most expensive operators or events.

    divisor: of how many inferences there are means, 0 for none.
    """
    expensive = file["most_expensive"]
    raw.register("scope", {"id": names.scopes})
    raw.register("span", {"id": names.spans})
    raw.give(names.sets)
    prepare(raw)
    if names.threads:
        raw.run("ALTER TABLE member ADD COLUMN itself BIGINT")
        raw.run("UPDATE member SET itself = id")
        is_owner = "NOT native AND NOT derived AND id NOT IN (FROM scope)"
        assign_owners(raw, "itself", is_owner, "steady")
    else:
        assign_owners(raw, "charged", "charged IS NOT NULL", "steady")
    if not moments(raw):
        verdict.skip(f"{name}: whole, most_expensive", OVERLAPS, 1 + figures_in(expensive))
        return
    whole = raw.number("SELECT sum(b - a) FROM moments WHERE counts")
    if names.threads:
        count = raw.number("SELECT count(DISTINCT thread) FROM moments m "
                           "JOIN slices s ON s.id = m.g WHERE m.counts AND m.b > m.a")  # fmt: skip
        verdict.same(f"{name}: threads", file["threads"], count or None)
        raw.register("working", {"id": range(len(names.work)), "thing": names.work})
        sql = ("SELECT thing, sum(b - a) FROM moments m JOIN working w ON w.id = m.g WHERE counts "
               "AND thing >= 0 AND w.id NOT IN (FROM span) GROUP BY thing")  # fmt: skip
        walls = dict(raw.run(sql))
    else:
        whole += rest_of(raw, of_calls=True, counts="steady")
        walls = dict(raw.run("SELECT g, sum(b - a) FROM moments WHERE counts GROUP BY g"))
    verdict.same(f"{name}: whole_ns", file["whole_ns"], raw.ns(whole))
    _check_mean(verdict, raw, f"{name}: whole", file.get("whole_per_inference_ns"), whole, divisor)
    labels = names.labels if expensive["are_operators"] else names.events
    if not expensive["are_operators"]:
        raw.give(names.work)
        prepare(raw)
        assign_owners(raw, "charged", "charged IS NOT NULL", "steady")
        if not names.threads and moments(raw):
            walls = dict(raw.run("SELECT g, sum(b - a) FROM moments WHERE counts GROUP BY g"))
    times = dict(raw.run("SELECT g, sum(b - a) FROM owned WHERE counts GROUP BY g"))
    of_label: dict[str, list[tuple[int, int]]] = {}
    for g in {**times, **walls}:
        figures = int(times.get(g, 0)), int(walls.get(g, 0))
        of_label.setdefault(labels[int(g)], []).append(figures)
    for row in expensive["rows"]:
        figure = f"{name}: most_expensive: {row['label']}"
        same = [(ticks, wall) for ticks, wall in of_label.get(row["label"], ())
                if raw.ns(ticks) == row["ns"]]  # fmt: skip
        ticks, wall = (same or of_label.get(row["label"]) or [(0, 0)])[0]
        verdict.same(f"{figure}: ns", row["ns"], raw.ns(ticks))
        _check_mean(verdict, raw, figure, row.get("per_inference_ns"), ticks, divisor)
        if row["share"] is not None:
            verdict.near(f"{figure}: share", row["share"], Fraction(wall, whole or 1), MICRO)


def _check_mean(
    verdict: Verdict, raw: Raw, figure: str, ns: int | None, ticks: int, divisor: int
) -> None:
    mean = raw.ns(Fraction(ticks, divisor)) if divisor else None
    verdict.same(f"{figure}: mean", ns, mean)


def _check_delegation(
    verdict: Verdict, raw: Raw, name: str, file: Facts | None, names: SummaryNames
) -> None:
    if file is None or names.delegation is None:
        return
    parts = totals(raw, names.delegation)
    if parts is None:
        verdict.skip(f"{name}: delegation", OVERLAPS, figures_in(file))
        return
    keys = ("whole_ns", "delegated_ns", "not_delegated_ns", "no_operator_ns")
    for key, ticks in zip(keys, parts.ticks, strict=True):
        verdict.same(f"{name}: delegation: {key}", file[key], raw.ns(ticks))
    share = Fraction(parts.ticks[1], parts.ticks[0] or 1)
    verdict.near(f"{name}: delegated_share", file["delegated_share"], share, MICRO)
