"""Checks `opscope compare` by call, event and delegate: medians of sessions, changes and sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import expm1, isclose, log
from statistics import median
from typing import Any

import numpy as np

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.model.trace import KeyKind
from viewer.prove.raw import Raw, Verdict, figures_in
from viewer.prove.summary import register_runs

Facts = Mapping[str, Any]
# Of method, instruction, and an event by name and number; the last two are None for a call.
Part = tuple[str, int, str | None, int | None]
OTHER_LEVEL = "rows of groups of slices are derived only once"
OTHER_METHODS = "not every session ran the same methods"
_SIX_DIGITS = 6e-6
_GRAINS, _LEAST_HALVED = 2, 4

# The slices of calls, and of events inside them, each with its number in its inference.
_TIMES = f"""
WITH placed AS (
    SELECT c.*, s.ended - s.began AS long,
        CASE WHEN s.kind = {KeyKind.DELEGATE_EVENT:d} THEN c.name END AS event,
        row_number() OVER (PARTITION BY run, instruction, s.kind = {KeyKind.DELEGATE_EVENT:d},
            CASE WHEN s.kind = {KeyKind.DELEGATE_EVENT:d} THEN c.name END
            ORDER BY s.began, s.id) - 1 AS nth
    FROM slices s JOIN called c USING (id)
    WHERE run IN (FROM chosen) AND instruction >= 0 AND s.kind IN
        ({KeyKind.OPERATOR_CALL:d}, {KeyKind.DELEGATE_CALL:d}, {KeyKind.DELEGATE_EVENT:d})
), sums AS (
    SELECT of_row, p.method, run, sum(long) AS t FROM placed p JOIN part ON part.method = p.method
        AND part.instruction = p.instruction AND part.event IS NOT DISTINCT FROM p.event
        AND (part.event IS NULL OR part.nth = p.nth)
    GROUP BY ALL
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY of_row, method ORDER BY t) - 1 AS rank,
        count(*) OVER (PARTITION BY of_row, method) AS many FROM sums
)
SELECT of_row, method, sum(CASE WHEN rank = (many - 1) // 2 THEN t ELSE 0 END
    + CASE WHEN rank = many // 2 THEN t ELSE 0 END)
FROM ranked GROUP BY of_row, method ORDER BY of_row, method"""


@dataclass(frozen=True, slots=True)
class SessionOf:
    """A session: its profile, and per slice the place of its inference, -1 for none.

    methods: of each scope of the profile, its name. runs: of each inference, its method, ticks and
    start. of_trace: their places among the runs of the profile, () if they have no rate, as they
    are of several methods or phases, or no inferences.
    """

    raw: Raw
    ns_per_tick: float
    run: Ints
    methods: Sequence[str]
    runs: Sequence[tuple[str, int, int]]
    of_trace: Sequence[int]


@dataclass(frozen=True, slots=True)
class ArmOf:
    """The sessions of an arm, and the parts of each row of the report, () for none.

    grains: of each row, the ns by which its times differ at least.
    """

    sessions: Sequence[SessionOf]
    rows: Sequence[Sequence[Part]]
    grains: Sequence[float]


def check_compare(verdict: Verdict, name: str, facts: Facts, arms: tuple[ArmOf, ArmOf]) -> None:
    """Check the rows, the inference and the sums of a comparison by calls."""
    both = [_rows(arm) for arm in arms]
    medians: list[tuple[float | None, float | None]] = []
    for number, row in enumerate(facts["rows"]):
        figure = f"{name}: {row['label']}"
        pair: list[float | None] = []
        for side, times in zip(("a", "b"), both, strict=True):
            measured = [value for value in times[number] if value is not None]
            pair.append(median(measured) if measured else None)
            if row[side] is None:
                verdict.same(f"{figure}: {side}", None, pair[-1])
                continue
            verdict.same(
                f"{figure}: {side}: sessions", row[side]["sessions"], [*map(round, measured)]
            )
            verdict.same(f"{figure}: {side}: ns", row[side]["ns"], _whole(pair[-1]))
        medians.append((pair[0], pair[1]))
        _check_change(verdict, figure, row, *medians[-1])
    _check_inference(verdict, name, facts, arms, medians)
    _check_drifts(verdict, name, facts, arms)
    for side, arm in zip("ab", arms, strict=True):
        _check_rates(verdict, f"{name}: arm {side}", facts["arms"][side], arm)


def _check_change(
    verdict: Verdict, figure: str, row: Facts, a: float | None, b: float | None
) -> None:
    is_of_time = row["reason"] != "different clocks"
    verdict.checked += 1
    change = b / a - 1 if a and b and is_of_time else None
    if change is None or row["change"] is None:
        if change is not row["change"]:
            verdict.same(f"{figure}: change", row["change"], change)
    elif not isclose(row["change"], change, rel_tol=_SIX_DIGITS, abs_tol=1e-12):
        verdict.same(f"{figure}: change", row["change"], change)
    change_ns = round((b or 0.0) - (a or 0.0)) if is_of_time else None
    verdict.same(f"{figure}: change_ns", row["change_ns"], change_ns)


def _check_inference(
    verdict: Verdict, name: str, facts: Facts, arms: tuple[ArmOf, ArmOf],
    medians: Sequence[tuple[float | None, float | None]],
) -> None:  # fmt: skip
    """Check the whole inference, and that the changes of rows add up to its change."""
    inference, fall = facts["inference"], facts["waterfall"]
    ran = [[{method for method, *_ in s.runs} for s in arm.sessions] for arm in arms]
    if any(methods != of_arm[0] for of_arm in ran for methods in of_arm) or (
        len(ran[0][0]) != len(ran[1][0])
    ):
        verdict.skip(f"{name}: inference, waterfall", OTHER_METHODS, 4 + figures_in(fall))
        return
    a, b = (median([_inference(session) for session in arm.sessions]) for arm in arms)
    verdict.same(f"{name}: inference: a_ns", inference["a_ns"], round(a))
    verdict.same(f"{name}: inference: b_ns", inference["b_ns"], round(b))
    _check_change(verdict, f"{name}: inference", inference, a, b)
    if fall is None:
        return
    calls = [
        pair
        for pair, row in zip(medians, facts["rows"], strict=True)
        if row["level"] != "delegate_event"
    ]
    pairs = sum(y - x for x, y in calls if x is not None and y is not None)
    only_a = -sum(x for x, y in calls if x is not None and y is None)
    only_b = sum(y for x, y in calls if x is None and y is not None)
    sums = {
        "a_ns": round(a), "pairs_ns": round(pairs), "only_a_ns": round(only_a),
        "only_b_ns": round(only_b), "b_ns": round(b),
    }  # fmt: skip
    sums["rest_ns"] = 2 * sums["b_ns"] - sum(sums.values())
    for key, ns in sums.items():
        verdict.same(f"{name}: waterfall: {key}", fall[key], ns)


# -- drift and rates -------------------------------------------------------------------------------


def _check_drifts(verdict: Verdict, name: str, facts: Facts, arms: tuple[ArmOf, ArmOf]) -> None:
    """Check how much rows and the inference change from the first half of sessions to the second.

    Of the arm in which it is more; a change within two steps of the clock is none.
    """
    halves = [[_halves(session) for session in arm.sessions] for arm in arms]
    both = [
        [_rows(arm, [half[k] for half in halves[side]]) for k in (0, 1)]
        for side, arm in enumerate(arms)
    ]
    for number, row in enumerate(facts["rows"]):
        grain = max(arm.grains[number] for arm in arms)
        pairs = [list(zip(first[number], second[number], strict=True)) for first, second in both]
        _check_drift(verdict, f"{name}: {row['label']}", row["drift"], pairs, grain)
    methods = [{method for method, *_ in session.runs} for arm in arms for session in arm.sessions]
    halved = [
        {session.runs[place][0] for place in half[0]}
        for side, arm in enumerate(arms)
        for session, half in zip(arm.sessions, halves[side], strict=True)
    ]
    if any(own and own != every for own, every in zip(halved, methods, strict=True)):
        verdict.skip(f"{name}: inference: drift", "a session has too few inferences of a method")
        return
    whole = [
        [tuple(_inference(session, half[k]) for k in (0, 1))
         for session, half in zip(arm.sessions, halves[side], strict=True)]
        for side, arm in enumerate(arms)
    ]  # fmt: skip
    drift = facts["inference"]["drift"]
    _check_drift(verdict, f"{name}: inference", drift, whole, 0.0)


def _check_drift(
    verdict: Verdict, figure: str, reported: float | None,
    pairs: Sequence[Sequence[tuple[float | None, ...]]], grain: float,
) -> None:  # fmt: skip
    largest, is_any = 0.0, False
    for of_arm in pairs:
        timed = [(first, second) for first, second in of_arm if first and second]
        if timed:
            is_any = True
            ratio = median([log(second / first) for first, second in timed])
            step = median([abs(second - first) for first, second in timed])
            if step > _GRAINS * grain and abs(ratio) > abs(largest):
                largest = ratio
    verdict.checked += 1
    derived = expm1(largest) if is_any else None
    if reported is None or derived is None:
        if reported is not derived:
            verdict.same(f"{figure}: drift", reported, derived)
    elif not isclose(reported, derived, rel_tol=_SIX_DIGITS, abs_tol=1e-12):
        verdict.same(f"{figure}: drift", reported, derived)


def _halves(session: SessionOf) -> tuple[list[int], list[int]]:
    """Return the first and the last inferences of each method, without one in the middle."""
    halves: tuple[list[int], list[int]] = ([], [])
    for method in dict.fromkeys(method for method, *_ in session.runs):
        places = [i for i, run in enumerate(session.runs) if run[0] == method]
        if len(places) >= _LEAST_HALVED:
            places.sort(key=lambda i: session.runs[i][2])
            half = len(places) // 2
            halves[0].extend(places[:half])
            halves[1].extend(places[-half:])
    return halves


def _check_rates(verdict: Verdict, figure: str, facts: Facts, arm: ArmOf) -> None:
    """Check how inferences fill the wall time: the medians of the sessions that have a rate."""
    rates = [rate for session in arm.sessions if (rate := _rate(session)) is not None]
    derived = [median(values) for values in zip(*rates, strict=True)] if rates else [None] * 3
    for key, value in zip(("per_second", "gap_ns", "idle_share"), derived, strict=True):
        reported = facts[key]
        if reported is None or value is None:
            verdict.same(f"{figure}: {key}", reported, value)
        elif key == "gap_ns":
            verdict.same(f"{figure}: {key}", reported, round(value))
        else:
            verdict.near(f"{figure}: {key}", reported, Fraction(value), abs(value) * _SIX_DIGITS)


def _rate(session: SessionOf) -> tuple[float, float, float] | None:
    """Return inferences per second, the median gap in ns, and the idle share; None without any."""
    raw, places = session.raw, session.of_trace
    if not places or any(raw.trace.runs[place].tokens for place in places):
        return None
    register_runs(raw, [0] * len(raw.trace.runs))
    raw.register("of_session", {"number": places})
    count, ticks, idle = raw.run(
        "SELECT count(*), sum(long), sum(idle) FROM gap JOIN of_session USING (number)"
    )[0]
    gaps = [int(gap) for (gap,) in raw.run(
        "SELECT idle FROM gap JOIN of_session USING (number) WHERE idle IS NOT NULL")]  # fmt: skip
    wall = int(ticks) + int(idle or 0)
    if not gaps or not wall:
        return None
    per_second = float(count * 10**9 / (wall * Fraction(session.ns_per_tick)))
    return per_second, median(gaps) * session.ns_per_tick, int(idle) / wall


# -- times of sessions -----------------------------------------------------------------------------


def _rows(arm: ArmOf, chosen: Sequence[Sequence[int]] | None = None) -> list[list[float | None]]:
    """Return of each row its time in each session, in ns: the medians of methods, added up.

    chosen: of each session, only these inferences.
    """
    times: list[list[float | None]] = [[None] * len(arm.sessions) for _ in arm.rows]
    parts = [(number, *part) for number, row in enumerate(arm.rows) for part in row]
    for place, session in enumerate(arm.sessions):
        raw, keys = session.raw, session.raw.trace.keys
        key, strings = raw.trace.slices.key, np.array(raw.trace.strings, object)
        raw.register("called", {
            "id": np.arange(len(key)), "run": session.run,
            "instruction": keys.instruction[key].astype(np.int64),
            "method": np.array(session.methods, object)[keys.scope[key]],
            "name": strings[keys.name[key]],
        })  # fmt: skip
        raw.run("CREATE OR REPLACE TABLE part (of_row BIGINT, method VARCHAR, instruction BIGINT, "
                "event VARCHAR, nth BIGINT)")  # fmt: skip
        runs = range(len(session.runs)) if chosen is None else chosen[place]
        raw.register("chosen", {"run": np.array(runs, np.int64)})
        if parts:
            raw.connection.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?)", parts)
        for number, _, twice in raw.run(_TIMES):
            ns = int(twice) / 2 * session.ns_per_tick
            times[number][place] = (times[number][place] or 0.0) + ns
    return times


def _inference(session: SessionOf, chosen: Sequence[int] | None = None) -> float:
    """Return the median time of an inference; of several methods, their sum. chosen: of these."""
    of_methods: dict[str, list[int]] = {}
    for place in range(len(session.runs)) if chosen is None else chosen:
        method, ticks, _ = session.runs[place]
        of_methods.setdefault(method, []).append(ticks)
    return sum(median(lengths) for lengths in of_methods.values()) * session.ns_per_tick


def _whole(ns: float | None) -> int | None:
    return None if ns is None else round(ns)
