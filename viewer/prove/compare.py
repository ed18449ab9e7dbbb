"""Checks `opscope compare` by call, event and delegate: medians of sessions, changes and sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from statistics import median
from typing import Any

import numpy as np

from viewer.arrays import Ints
from viewer.model.trace import KeyKind
from viewer.prove.raw import Raw
from viewer.prove.verdict import Verdict, figures_in

Facts = Mapping[str, Any]
# Of method, instruction, and an event by name and number; the last two are None for a call.
Part = tuple[str, int, str | None, int | None]
OTHER_LEVEL = "rows of groups of slices are derived only once"
OTHER_METHODS = "not every session ran the same methods"
_SIX_DIGITS = 6e-6
_DIFFERENT_CLOCKS = "different clocks"

# The slices of calls, and of events inside them, each with its number in its inference.
_TIMES = f"""
WITH placed AS (
    SELECT c.*, s.ended - s.began AS long,
        CASE WHEN s.kind = {KeyKind.DELEGATE_EVENT:d} THEN c.name END AS event,
        row_number() OVER (PARTITION BY run, instruction, s.kind = {KeyKind.DELEGATE_EVENT:d},
            CASE WHEN s.kind = {KeyKind.DELEGATE_EVENT:d} THEN c.name END
            ORDER BY s.began, s.id) - 1 AS nth
    FROM slices s JOIN called c USING (id) WHERE run >= 0 AND instruction >= 0 AND s.kind IN
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

    methods: of each scope of the profile, its name. runs: of each inference, its method and ticks.
    """

    raw: Raw
    ns_per_tick: float
    run: Ints
    methods: Sequence[str]
    runs: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class ArmOf:
    """The sessions of an arm, and the parts of each row of the report, () for none."""

    sessions: Sequence[SessionOf]
    rows: Sequence[Sequence[Part]]


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


def _check_change(
    verdict: Verdict, figure: str, row: Facts, a: float | None, b: float | None
) -> None:
    is_of_time = row["reason"] != _DIFFERENT_CLOCKS
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
    ran = [[{method for method, _ in s.runs} for s in arm.sessions] for arm in arms]
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


def _rows(arm: ArmOf) -> list[list[float | None]]:
    """Return of each row its time in each session, in ns: the medians of methods, added up."""
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
        if parts:
            raw.connection.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?)", parts)
        for number, _, twice in raw.run(_TIMES):
            ns = int(twice) / 2 * session.ns_per_tick
            times[number][place] = (times[number][place] or 0.0) + ns
    return times


def _inference(session: SessionOf) -> float:
    """Return the median time of an inference; of several methods, their sum."""
    of_methods: dict[str, list[int]] = {}
    for method, ticks in session.runs:
        of_methods.setdefault(method, []).append(ticks)
    return sum(median(lengths) for lengths in of_methods.values()) * session.ns_per_tick


def _whole(ns: float | None) -> int | None:
    return None if ns is None else round(ns)
