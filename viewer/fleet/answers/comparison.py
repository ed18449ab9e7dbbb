"""Compares the profiles of a lake: two arms, group by group, with the tests of `opscope compare`.

The rows of all groups and their whole inferences are one family of tests. Corrected apart, one
group in twenty would have a false alarm: ten of those of 20 models on 10 devices. Operators are
paired in the order of their debug handles if call, module and results are equal. Sets that share an
operator are one row: shared time is never divided. Without operators, calls are paired by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from viewer.analysis.comparison.arms import WallRate, rate_of_sessions
from viewer.analysis.comparison.comparison import CHANGED, Compared, Figures, figures_of
from viewer.analysis.comparison.evidence import aligned
from viewer.analysis.comparison.operator_pairs import Grade, Joined, Row
from viewer.analysis.comparison.rollups import AND, NO_LINE, OUTERMOST
from viewer.analysis.comparison.session_test import as_one_family
from viewer.analysis.comparison.sessions import UNKNOWN, Difference, differences
from viewer.arrays import Bools, Floats
from viewer.dataclasses import dataclass, replace
from viewer.fleet.answers.arms import (
    ArmChoice,
    Group,
    LakePart,
    LakeTimes,
    ListedOperator,
    SessionId,
    Side,
    WrongArms,
    groups_of,
    lake_profiles,
)
from viewer.fleet.lake import Lake
from viewer.fleet.query import with_connection
from viewer.model.text import display_name, natural
from viewer.model.times import counted, plain_spaces
from viewer.reports.compare import figure_facts, rate_facts
from viewer.reports.compare_text import median_text, rows_lines, sentence_of, wall_time

if TYPE_CHECKING:
    import duckdb


OPERATOR, TYPE, MODULE, LINE, INFERENCE = "operator", "type", "module", "line", "inference"
LEVELS = (OPERATOR, TYPE, MODULE, LINE, INFERENCE)
NOT_KNOWN = "(not known)"
_HANDLES = re.compile(r"[0-9]+(?:\+[0-9]+)*")
# An arm (0 or 1), what it is, and its number there, or for an operator its method and handle.
_Thing = tuple[int, str, int | tuple[str, int]]
_Listed = Mapping[str, Sequence[ListedOperator]]


def paired_rows(
    a: Sequence[LakePart], b: Sequence[LakePart], operators: tuple[_Listed, _Listed], level: str
) -> list[Row]:
    """Return the rows of two arms; `Row.a` and `Row.b` are indexes into their parts.

    operators: of the ETRecords of each arm, by method. level: one of LEVELS.
    """
    if level == INFERENCE:
        return []
    if level != OPERATOR:
        return _grouped(a, b, operators, level)
    methods = paired_methods([part.method for part in a], [part.method for part in b])
    joined = Joined[_Thing]()
    handle_sets = [
        {m: {listed_operator.debug_handle for listed_operator in operator[m]} for m in operator}
        for operator in operators
    ]
    for side, parts in enumerate((a, b)):
        for number, part in enumerate(parts):
            joined.add((side, "part", number))
            for handle in _handles(part):
                operator = side, "operator", (part.method, handle)
                joined.join((side, "part", number), operator)
    is_listed = all(operators)
    is_same = is_listed and operators[0] == operators[1]
    for x, y in methods:
        for i, j in _operator_pairs(operators[0].get(x, ()), operators[1].get(y, ())):
            joined.join((0, "operator", (x, i)), (1, "operator", (y, j)))
        for p, q in _unlinked_pairs(a, b, x, y, handle_sets):
            joined.join((0, "part", p), (1, "part", q))
    rows = []
    for things in joined.groups():
        of_a, of_b = (
            tuple(sorted(n for s, _, n in things if s == side and isinstance(n, int)))
            for side in (0, 1)
        )
        if of_a or of_b:
            rows.append(_row(a, b, of_a, of_b, is_listed=is_listed, is_same=is_same))
    return rows


def paired_methods(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str]]:
    """Return which methods belong together: of equal names, or the only ones of two arms."""
    of_a, of_b = list(dict.fromkeys(a)), list(dict.fromkeys(b))
    if len(of_a) == len(of_b) == 1:
        return [(of_a[0], of_b[0])]
    return [(name, name) for name in of_a if name in of_b]


def _handles(part: LakePart) -> list[int]:
    """The debug handles of a set of operators; none if some operators have none."""
    if part.level != "operators" or not _HANDLES.fullmatch(part.id):
        return []
    return [int(handle) for handle in part.id.split("+")]


def _operator_pairs(
    a: Sequence[ListedOperator], b: Sequence[ListedOperator]
) -> list[tuple[int, int]]:
    """Pairs of debug handles."""
    identities = [
        [listed_operator.identity for listed_operator in operators] for operators in (a, b)
    ]
    return [(a[i].debug_handle, b[j].debug_handle) for i, j in aligned(*identities)]


def _unlinked_pairs(
    a: Sequence[LakePart],
    b: Sequence[LakePart],
    x: str,
    y: str,
    handle_sets: Sequence[Mapping[str, set[int]]],
) -> list[tuple[int, int]]:
    """Pairs of parts of two methods whose operators are not listed, by label in their order."""
    sides = []
    for parts, method, of_methods in ((a, x, handle_sets[0]), (b, y, handle_sets[1])):
        listed = of_methods.get(method, set())
        indexes = [
            number
            for number, part in enumerate(parts)
            if part.method == method and not set(_handles(part)) & listed
        ]
        sides.append(sorted(indexes, key=lambda n: natural(parts[n].id)))
    labels = (
        [(parts[n].level, parts[n].label) for n in numbers]
        for parts, numbers in zip((a, b), sides, strict=True)
    )
    return [(sides[0][i], sides[1][j]) for i, j in aligned(*labels)]


def _row(
    a: Sequence[LakePart],
    b: Sequence[LakePart],
    of_a: tuple[int, ...],
    of_b: tuple[int, ...],
    *,
    is_listed: bool,
    is_same: bool,
) -> Row:
    sides = [a[n] for n in of_a], [b[n] for n in of_b]
    grade, why = _grade(*sides, is_listed=is_listed, is_same=is_same)
    return Row(OPERATOR, _label(a, b, of_a, of_b), grade, why, of_a, of_b)


def _grade(
    a: Sequence[LakePart], b: Sequence[LakePart], *, is_listed: bool, is_same: bool
) -> tuple[Grade, str]:
    if not b:
        return Grade.ONLY_A, "only in A"
    if not a:
        return Grade.ONLY_B, "only in B"
    if not (is_listed and _handles(a[0]) and _handles(b[0])):
        return Grade.BY_NAME, "same name, in the order of the calls"
    if len(a) > 1 or len(b) > 1 or a[0].id.count("+") != b[0].id.count("+"):
        return Grade.GROUP, "they share operators"
    if is_same and a[0].id == b[0].id:
        return Grade.SAME, "same operators"
    return Grade.BY_NAME, "same call, module and results, in their order"


def _label(
    a: Sequence[LakePart], b: Sequence[LakePart], of_a: Sequence[int], of_b: Sequence[int]
) -> str:
    sides = [
        sorted((parts[n] for n in indexes), key=lambda part: natural(part.id))
        for parts, indexes in ((a, of_a), (b, of_b))
    ]
    lake_parts = sides[0] or sides[1]
    labels = list(dict.fromkeys(part.label for part in lake_parts))
    more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
    backends = [
        ", ".join(dict.fromkeys(part.backend or "kernels" for part in lake_parts))
        for lake_parts in sides
    ]
    label = f"{labels[0]}{more}"
    if all(sides) and backends[0] != backends[1]:
        return f"{label} ({backends[0]} → {backends[1]})"
    backend = backends[0] if sides[0] else backends[1]
    return label if backend == "kernels" else f"{label} ({backend})"


def _grouped(
    a: Sequence[LakePart], b: Sequence[LakePart], operators: tuple[_Listed, _Listed], level: str
) -> list[Row]:
    """One row for all parts of a method that have an equal type, module or line.

    Parts that several of these share are rows of their own, as in `opscope compare`.
    """
    names = [[part.method for part in parts] for parts in (a, b)]
    other = {y: x for x, y in paired_methods(*names)}
    several = len(set(names[0])) > 1 or len(set(names[1])) > 1
    groups: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    for side, parts in enumerate((a, b)):
        operator_of_handle = {
            (method, listed_operator.debug_handle): listed_operator
            for method, listed in operators[side].items()
            for listed_operator in listed
        }
        for number, part in enumerate(parts):
            listed_operators = [
                operator_of_handle.get((part.method, handle)) for handle in _handles(part)
            ]
            text = _text_of(part, listed_operators, level)
            method = other.get(part.method, part.method) if side else part.method
            groups.setdefault((method, text), ([], []))[side].append(number)
    rows = []
    for (method, text), (of_a, of_b) in groups.items():
        grade = Grade.SAME if of_a and of_b else Grade.ONLY_A if of_a else Grade.ONLY_B
        why = f"same {level}" if of_a and of_b else "only in A" if of_a else "only in B"
        label = f"{method}: {text}" if several else text
        rows.append(Row(level, label, grade, why, tuple(of_a), tuple(of_b)))
    return rows


def _text_of(part: LakePart, operators: Sequence[ListedOperator | None], level: str) -> str:
    """What a part is at a level; of several, such as two modules, all of them."""
    listed = [listed_operator for listed_operator in operators if listed_operator is not None]
    if not listed or len(listed) < len(operators):
        return {TYPE: part.type, MODULE: part.module, LINE: part.source}[level] or NOT_KNOWN
    texts = {
        {
            TYPE: listed_operator.type,
            MODULE: listed_operator.module or OUTERMOST,
            LINE: _line(listed_operator.source),
        }[level]
        for listed_operator in listed
    }
    return AND.join(sorted(texts))


def _line(source: str) -> str:
    path, _, line = source.rpartition(":")
    return f"{display_name(path)}:{line}" if path else NO_LINE


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

    level: one of `LEVELS`. Raises WrongArms, NoDuckDB and UnusableLake.
    """

    def made(connection: duckdb.DuckDBPyConnection) -> tuple[list[GroupComparison], list[str]]:
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
    of_rows = times.sessions()
    sessions = {
        side: sorted({*of_rows.get(side, ()), *inferences.get(side, {})})
        for side in [(number, arm) for number in range(len(groups)) for arm in (0, 1)]
    }
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


SCHEMA = "opscope-fleet-compare/1"
# Groups that are shown without a proven change, if there are no others.
_MOST = 5


def lake_comparison_text(
    a: ArmChoice,
    b: ArmChoice,
    group_comparisons: Sequence[GroupComparison],
    notes: Sequence[str],
    *,
    everything: bool = False,
) -> str:
    """Return comparisons as text: groups with proven changes, largest first, or all of them."""
    changed = sorted(
        (one for one in group_comparisons if one.largest_ns),
        key=lambda one: (-one.largest_ns, one.group.label),
    )
    others = [one for one in group_comparisons if not one.largest_ns]
    verb = "has" if len(group_comparisons) == 1 else "have"
    lines = [
        f"A: {a.text}",
        f"B: {b.text}",
        f"{len(changed)} of {counted(len(group_comparisons), 'group')} {verb} a proven change.",
    ]
    shown = [*changed, *(others if everything else others[: 0 if changed else _MOST])]
    for group_comparison in shown:
        lines += ["", *_group_lines(group_comparison, everything=everything)]
    left = len(group_comparisons) - len(shown)
    if left:
        lines += ["", f"{counted(left, 'more group')} without a proven change. --all shows them."]
    lines += [f"note: {note}" for note in notes]
    return plain_spaces("\n".join(lines))


def _group_lines(group: GroupComparison, *, everything: bool) -> list[str]:
    whole = group.inference
    times = ""
    if whole.a_ns is not None and whole.b_ns is not None:
        times = f" {median_text(whole.a_ns)} → {median_text(whole.b_ns)}."
    lines = [
        f"{group.group.label}: {group.sessions[0]} + {counted(group.sessions[1], 'session')}",
        sentence_of(whole, has_clock_option=False) + times,
        *wall_time(*group.rates),
        *([group.note] if group.note else []),
    ]
    proven = group.proven
    others = sorted(
        (e for e in zip(group.rows, group.compared, strict=True) if e[1].verdict not in CHANGED),
        key=lambda each: -abs(each[1].change_ns),
    )
    shown: list[tuple[Row, Compared]] = [*proven, *others] if everything else proven
    if shown:
        lines += rows_lines([(*each, None) for each in shown])
    if others and not everything:
        lines.append(f"{counted(len(others), 'more row')} without a proven change.")
    return lines


def lake_comparison_facts(
    a: ArmChoice, b: ArmChoice, group_comparisons: Sequence[GroupComparison], notes: Sequence[str]
) -> dict[str, Any]:
    """Return comparisons as plain data: every group with all of its rows."""
    return {
        "schema": SCHEMA,
        "a": dict(a.conditions),
        "b": dict(b.conditions),
        "groups": [_group_facts(group_comparison) for group_comparison in group_comparisons],
        "notes": list(notes),
    }


def _group_facts(group_comparison: GroupComparison) -> dict[str, Any]:
    rows = zip(group_comparison.rows, group_comparison.compared, strict=True)
    return {
        **{name: value or None for name, value in group_comparison.group.values},
        "profiles": [len(keys) for keys in group_comparison.group.keys],
        "sessions": list(group_comparison.sessions),
        "changed": bool(group_comparison.proven) or group_comparison.inference.verdict in CHANGED,
        "note": group_comparison.note or None,
        "inference": figure_facts(group_comparison.inference),
        "rates": {
            arm: rate_facts(rate) for arm, rate in zip("ab", group_comparison.rates, strict=True)
        },
        "rows": [
            {
                "level": row.level,
                "label": row.label,
                "grade": row.grade.value,
                "why": row.why,
                **figure_facts(figures),
            }
            for row, figures in rows
        ],
    }
