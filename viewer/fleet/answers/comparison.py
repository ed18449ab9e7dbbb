"""Compares the profiles of a lake: two arms, group by group, with the tests of `opscope compare`.

The rows of all groups and their whole inferences are one family of tests. Corrected apart, one
group in twenty would have a false alarm: ten of those of 20 models on 10 devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.comparison.comparison import (
    Compared,
    Figures,
    figures_of,
)
from viewer.analysis.comparison.conditions import UNKNOWN, Difference, differences
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.session_test import as_one_family
from viewer.analysis.comparison.steps import CHANGED
from viewer.analysis.comparison.wall_rates import WallRate, rate_of_sessions
from viewer.arrays import Bools, Floats
from viewer.fleet.answers.arms import ArmChoice, Group, WrongArms, groups_of, lake_profiles
from viewer.fleet.answers.paired_rows import OPERATOR, paired_methods, paired_rows
from viewer.fleet.answers.times import LakePart, LakeTimes, SessionId, Side
from viewer.fleet.lake import Lake
from viewer.fleet.query import with_connection

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """The comparison of one group.

    sessions: the number of A and of B. compared: the figures of `rows`. inference: those of the
    whole inference, the sum over the methods that all sessions ran. note: what should be known of
    its times, "" if nothing. rates: how the inferences of A and of B fill the wall time, None if
    the files do not show it.
    """

    group: Group
    sessions: tuple[int, int]
    rows: tuple[Row, ...]
    compared: tuple[Compared, ...]
    inference: Compared
    note: str = ""
    rates: tuple[WallRate | None, WallRate | None] = (None, None)

    @property
    def proven(self) -> list[tuple[Row, Compared]]:
        """The rows that are proven to have changed, largest change first."""
        found = [
            each
            for each in zip(self.rows, self.compared, strict=True)
            if each[1].verdict in CHANGED
        ]
        return sorted(found, key=lambda each: -abs(each[1].change_ns))

    @property
    def largest_ns(self) -> float:
        """The largest proven change of a row or of the inference, 0 without any."""
        changes = [one.change_ns for _, one in self.proven]
        if self.inference.verdict in CHANGED:
            changes.append(self.inference.change_ns)
        return max(map(abs, changes), default=0.0)


def compare_lake(
    lake: Lake, a: ArmChoice, b: ArmChoice, level: str = OPERATOR
) -> tuple[list[GroupComparison], list[str]]:
    """Return the comparisons of the groups of two arms, and notes on what is left out.

    level: one of `paired_rows.LEVELS`. Raises WrongArms, NoDuckDB and UnusableLake.
    """

    def made(
        connection: duckdb.DuckDBPyConnection,
    ) -> tuple[list[GroupComparison], list[str]]:
        groups, notes = groups_of(lake_profiles(connection), a, b)
        groups, more = of_one_program(connection, groups)
        if not groups:
            raise WrongArms(more[0])
        return compare_groups(connection, groups, level), [*notes, *more]

    return with_connection(lake, made)


def of_one_program(
    connection: duckdb.DuckDBPyConnection, groups: Sequence[Group]
) -> tuple[list[Group], list[str]]:
    """Return the groups whose arms are each of one program, and a note on the others.

    `opscope compare` refuses such arms, too: equal debug handles are then different operators.
    """
    mixed = LakeTimes(connection, groups).mixed() if groups else set[int]()
    kept = [group for number, group in enumerate(groups) if number not in mixed]
    if not mixed:
        return kept, []
    labels = [groups[number].label for number in sorted(mixed)]
    more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
    note = "Left out, because profiles of an arm are of different programs: "
    return kept, [f"{note}{labels[0]}{more}. Give these profiles different models or tags."]


def compare_groups(
    connection: duckdb.DuckDBPyConnection, groups: Sequence[Group], level: str = OPERATOR
) -> list[GroupComparison]:
    """Return the comparison of every group, in their order."""
    if not groups:
        return []
    times = LakeTimes(connection, groups)
    parts, operators, clocks = times.parts(), times.operators(), times.clocks()
    inferences, rates = times.inferences(), times.rates()
    sessions = _all_sessions(len(groups), times.sessions(), inferences)
    rows_of_groups: list[tuple[Row, ...]] = []
    for number in range(len(groups)):
        sides = (number, 0), (number, 1)
        listed = operators.get(sides[0], {}), operators.get(sides[1], {})
        own = [parts.get(side, []) for side in sides]
        rows_of_groups.append(tuple(paired_rows(own[0], own[1], listed, level)))
    medians = _medians(times, parts, sessions, rows_of_groups, of_sums=level == OPERATOR)
    conditions = times.conditions()
    alone: list[Figures] = []
    differing: list[tuple[Difference, ...]] = []
    for number, rows in enumerate(rows_of_groups):
        sides = (number, 0), (number, 1)
        whole = _inference_times(*((inferences.get(s, {}), sessions[s]) for s in sides))
        both = [np.column_stack([medians[s], own]) for s, own in zip(sides, whole, strict=True)]
        quality = _quality(rows, [parts.get(side, []) for side in sides])
        is_of_time = len(clocks.get(number, {})) == 1
        of_arms = [[conditions.get(key, UNKNOWN) for key, _ in sessions[side]] for side in sides]
        differing.append(differences(*of_arms))
        is_confounded = any(difference.is_inseparable for difference in differing[-1])
        confounded = np.full(len(rows) + 1, is_confounded)
        alone.append(figures_of(both[0], both[1], *quality, is_of_time, confounded=confounded))
    changes = as_one_family([figures.changes for figures in alone])
    family = [replace(one, changes=own) for one, own in zip(alone, changes, strict=True)]
    found = []
    for number, (group, rows, figures) in enumerate(
        zip(groups, rows_of_groups, family, strict=True)
    ):
        every = tuple(map(figures.of, range(len(figures))))
        counts_of = len(sessions[number, 0]), len(sessions[number, 1])
        notes = [_clock_note(clocks.get(number, {}))]
        notes += [difference.sentence for difference in differing[number]]
        note = " ".join(filter(None, notes))
        own_rates = [rate_of_sessions(rates.get((number, arm), [])) for arm in (0, 1)]
        found.append(
            GroupComparison(
                group, counts_of, rows, every[:-1], every[-1], note, (own_rates[0], own_rates[1])
            )
        )
    return found


def _clock_note(clocks: Mapping[str, float]) -> str:
    """What is assumed about clocks; "" for ns, and for different ones, whose times say nothing."""
    if len(clocks) != 1 or "ns" in clocks:
        return ""
    ((unit, ns_per_tick),) = clocks.items()
    return f"The clock is assumed: 1 {unit} = {ns_per_tick:g} ns."


def _medians(
    times: LakeTimes,
    parts: Mapping[Side, Sequence[LakePart]],
    sessions: dict[Side, list[SessionId]],
    rows_of_groups: Sequence[Sequence[Row]],
    *,
    of_sums: bool,
) -> dict[Side, Floats]:
    """The times of all rows of every arm, of shape (sessions, rows).

    of_sums: a row is the median of the sums of its parts, which are one piece of work. Otherwise it
    is the sum of their medians: in each inference, another one may be interrupted.
    """
    of_parts: list[tuple[Side, LakePart, int]] = []
    pieces: dict[Side, list[list[int]]] = {}
    counts: dict[Side, int] = {}
    for number, rows in enumerate(rows_of_groups):
        for arm in (0, 1):
            side = number, arm
            own = parts.get(side, [])
            count = 0
            pieces[side] = []
            for row in rows:
                here = row.b if arm else row.a
                first, count = count, count + (1 if of_sums else len(here))
                numbers = list(range(first, count))
                of_parts += [
                    (side, own[part], numbers[0 if of_sums else i]) for i, part in enumerate(here)
                ]
                pieces[side].append(numbers)
            counts[side] = count
    found = times.medians(of_parts, sessions, counts)
    return {side: _sums(medians, pieces[side]) for side, medians in found.items()}


def _sums(medians: Floats, rows: Sequence[Sequence[int]]) -> Floats:
    """The sums over the pieces of rows; NaN in a session that has none of them."""
    found = np.full((len(medians), len(rows)), np.nan)
    for number, pieces in enumerate(rows):
        own = medians[:, pieces]
        has = np.isfinite(own).any(axis=1)
        found[has, number] = np.nansum(own[has], axis=1)
    return found


def _all_sessions(
    count: int,
    of_rows: Mapping[Side, list[SessionId]],
    inferences: Mapping[Side, Mapping[SessionId, object]],
) -> dict[Side, list[SessionId]]:
    """Per arm the sessions that have rows or inferences."""
    sides = [(number, arm) for number in range(count) for arm in (0, 1)]
    return {side: sorted({*of_rows.get(side, ()), *inferences.get(side, {})}) for side in sides}


def _inference_times(
    a: tuple[Mapping[SessionId, Mapping[str, float]], Sequence[SessionId]],
    b: tuple[Mapping[SessionId, Mapping[str, float]], Sequence[SessionId]],
) -> tuple[Floats, Floats]:
    """The time of an inference per session: the sum over the methods that all sessions ran."""
    common = []
    for of_session, sessions in (a, b):
        ran = [list(of_session.get(one, {})) for one in sessions]
        common.append([m for m in (ran[0] if ran else []) if all(m in own for own in ran)])
    pairs = paired_methods(*common)
    of_a, of_b = (
        np.array(
            [
                sum(of_session[one][pair[arm]] for pair in pairs) if pairs else np.nan
                for one in sessions
            ],
            np.float64,
        )
        for arm, (of_session, sessions) in enumerate((a, b))
    )
    return of_a, of_b


def _quality(rows: Sequence[Row], parts: Sequence[Sequence[LakePart]]) -> tuple[Floats, Bools]:
    """The grain of every row and of the inference, and whether all of their times are measured."""
    grain, measured = [], []
    for row in rows:
        sides = [[own[i] for i in some] for own, some in zip(parts, (row.a, row.b), strict=True)]
        grain.append(max(sum(part.grain_ns for part in own) for own in sides))
        measured.append(all(part.measured for own in sides for part in own))
    return np.array([*grain, 0.0]), np.array([*measured, all(measured)], np.bool_)
