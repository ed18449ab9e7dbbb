"""Checks `opscope delegation`: the parts of the whole, delegates, links and handle maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from viewer.arrays import Ints
from viewer.model.trace import KeyKind
from viewer.prove.charge import OVERLAPS, assign_owners, moments, prepare, rest_of, union_of
from viewer.prove.raw import Raw
from viewer.prove.verdict import MICRO, Verdict, figures_in

Facts = Mapping[str, Any]
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
        _same_time(verdict, raw, name, file, part, ticks)
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
        _same_time(verdict, raw, figure, row, "time", ticks)
        verdict.same(f"{figure}: calls", row["calls"], counts[2 * n][0])
        events, _, native = counts[2 * n + 1]
        verdict.same(f"{figure}: events", row["events"], events)
        if row["share"] is not None:
            verdict.near(f"{figure}: share", row["share"], Fraction(ticks, whole or 1), MICRO)
        is_known = bool(identities.delegates[n][0]) and events > native
        _same_time(verdict, raw, figure, row, "unattributed", ticks - inside if is_known else None)


def _check_outside(
    verdict: Verdict, raw: Raw, name: str, file: Facts, identities: Identities,
    walls: Mapping[int, int], whole: int,
) -> None:  # fmt: skip
    first = 2 * len(identities.delegates)
    counts = _counts(raw, identities.outside, "steady")
    for n, row in enumerate(file["stayed_outside"]):
        figure, ticks = f"{name}: {row['label']}", walls.get(first + n, 0)
        every, kernels, _ = counts[n]
        _same_time(verdict, raw, figure, row, "time", ticks)
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
        _same_time(verdict, raw, figure, row, "time", ticks)


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
            _same_time(verdict, raw, figure, row, "time", int(times.get(n, 0)))


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


def _same_time(
    verdict: Verdict, raw: Raw, figure: str, row: Facts, name: str, ticks: int | None
) -> None:
    ns = None if ticks is None else raw.ns(ticks)
    verdict.same(f"{figure}: {name}_ticks", row[f"{name}_ticks"], ticks)
    verdict.same(f"{figure}: {name}_ns", row[f"{name}_ns"], ns)
