"""The output of `opscope compare`: two arms, the change of every row, and what is proven. No Qt.

The data is a stable contract for scripts. Times are whole ns; a change is the ratio of B to A, less
1. A file with the noise of a device is what `opscope compare --null` writes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from viewer.analysis.comparison.arms import Arm, Noise, WallRate, drift_exceeds, wall_rate
from viewer.analysis.comparison.comparison import Compared, Comparison, Doubt
from viewer.analysis.comparison.levels import CALLS
from viewer.analysis.comparison.operator_pairs import Row
from viewer.analysis.comparison.path_changes import comparison_by
from viewer.analysis.comparison.session_test import ALPHA, LEAST_SESSIONS, THRESHOLD
from viewer.codecs.reading import UnreadableFile
from viewer.model.warm_up import MOST
from viewer.program.program import NO_HANDLE, Program
from viewer.reports.compare_text import DRIFT
from viewer.reports.info import Facts
from viewer.workspace.comparison_arms import RunChoice, arm_of, arm_problem, order_note
from viewer.workspace.workspace import Workspace

COMPARE_SCHEMA = "opscope-compare/1"


class NoComparison(ValueError):
    """The profiles of an arm cannot be compared; the message says which arm and why."""


def compared(
    a: Workspace,
    b: Workspace,
    by: str = CALLS,
    choices: tuple[RunChoice | None, RunChoice | None] = (None, None),
    noise: Noise | None = None,
    *,
    relative: bool = False,
) -> tuple[Comparison, list[str]]:
    """Return the comparison of the profiles of two workspaces, and what the user should know.

    choices: only some inferences of each arm. Raises `NoComparison`, and ValueError if times cannot
    be relative.
    """
    arm_a, arm_b = (arm_of(side, own) for side, own in zip((a, b), choices, strict=True))
    for name, arm in (("A", arm_a), ("B", arm_b)):
        problem = arm_problem(arm)
        if problem:
            words = f" ({arm.choice})" if arm.choice else ""
            raise NoComparison(f"arm {name}{words}: {problem}")
    comparison = comparison_by(arm_a, arm_b, by, noise, relative=relative)
    if relative and not comparison.is_relative:
        raise ValueError("--relative: not every profile has inferences with a time")
    warnings = [
        f"{name}: {text}"
        for name, side in (("A", a), ("B", b))
        for trace in side.traces
        for text in side.warnings(trace)
    ]
    return comparison, with_notes(warnings, comparison)


def with_notes(warnings: Sequence[str], comparison: Comparison) -> list[str]:
    """Return what the user should know: warnings about files, and notes on how it was compared."""
    order = order_note(comparison.a, comparison.b)
    return [*warnings, *comparison.notes, *([order] if order else [])]


def compare_facts(comparison: Comparison, problems: Sequence[str] = ()) -> Facts:
    """Return a comparison, as `--json` prints it. problems: what the user should know about it."""
    inference = comparison.inference
    fall = comparison.waterfall
    return {
        "schema": COMPARE_SCHEMA,
        "method": {
            "statistic": "median over the runs of a session, warm-up dropped",
            "test": "t on log session medians, variances moderated over all rows",
            "correction": "Benjamini-Hochberg over all rows and the inference",
            "alpha": ALPHA,
            "threshold": THRESHOLD,
            "least_sessions": LEAST_SESSIONS,
            "warm_up_runs": MOST,
            "times": "relative to the inference" if comparison.is_relative else "absolute",
            "common_factor": _rounded(comparison.common_factor),
            "seed": 0,
        },
        "arms": {"a": _arm(comparison.a), "b": _arm(comparison.b)},
        "inference": figure_facts(inference, comparison.inference_drift),
        "detectable": _rounded(comparison.detectable),
        "waterfall": None
        if fall is None
        else {
            "a_ns": round(fall.a),
            "common_ns": round(fall.b) - round(fall.a) if comparison.is_relative else 0,
            "pairs_ns": round(fall.pairs),
            "only_a_ns": round(fall.only_a),
            "only_b_ns": round(fall.only_b),
            # What rounding leaves is in the rest, so that the figures add up exactly.
            "rest_ns": (0 if comparison.is_relative else round(fall.b) - round(fall.a))
            - round(fall.pairs)
            - round(fall.only_a)
            - round(fall.only_b),
            "b_ns": round(fall.b),
        },
        "rows": [
            _row(comparison, *each)
            for each in zip(comparison.rows, comparison.compared, comparison.drifts, strict=True)
        ],
        "pairing": _pairing(comparison),
        "problems": list(problems),
    }


_CONDITIONS = ("order", "temperature_c", "frequency_khz")


def _arm(arm: Arm) -> Facts:
    return {
        "choice": arm.choice or None,
        "files": [session.table.trace.path for session in arm.sessions],
        "sessions": len(arm.sessions),
        "runs": [len(session.runs) for session in arm.sessions],
        "conditions": [
            {name: getattr(session.conditions, name) for name in _CONDITIONS}
            for session in arm.sessions
        ],
        **rate_facts(wall_rate(arm)),
    }


def rate_facts(rate: WallRate | None) -> Facts:
    """Return how the inferences of an arm fill the wall time; null if that is not known."""
    return {
        "per_second": None if rate is None else _rounded(rate.per_second),
        "gap_ns": None if rate is None else round(rate.gap_ns),
        "idle_share": None if rate is None else _rounded(rate.idle_share),
    }


def figure_facts(one: Compared, drift: float | None = None) -> Facts:
    """Return the figures of a row, or of the inference. drift: within its sessions."""
    return {
        "a_ns": _whole(one.a_ns),
        "b_ns": _whole(one.b_ns),
        "change": _rounded(one.change),
        "ci": _interval(one),
        "change_ns": None if one.doubt is Doubt.DIFFERENT_CLOCKS else round(one.change_ns),
        "p": _rounded(one.p),
        "q": _rounded(one.q),
        "detectable": _rounded(one.detectable),
        "verdict": one.verdict.value,
        "reason": one.doubt.value if one.doubt else None,
        "drift": _rounded(drift),
        "note": DRIFT if drift_exceeds(drift, one.change) else None,
    }


def _row(comparison: Comparison, row: Row, one: Compared, drift: float | None) -> Facts:
    figures = figure_facts(one, drift)
    a_ns, b_ns = figures.pop("a_ns"), figures.pop("b_ns")
    return {
        "level": row.level,
        "label": row.label,
        "grade": row.grade.value,
        "why": row.why,
        "a": _side(comparison.a, row.a, a_ns, one.sessions_a),
        "b": _side(comparison.b, row.b, b_ns, one.sessions_b),
        **figures,
    }


def _side(
    arm: Arm, parts: Sequence[int], ns: int | None, sessions: Iterable[float]
) -> Facts | None:
    if not parts:
        return None
    own = [arm.parts[number] for number in parts]
    event = own[0].id.event
    return {
        "handles": _handles(arm.program, dict.fromkeys(i for part in own for i in part.operators)),
        "instructions": [
            [part.id.method if part.is_method_known else None, part.id.instruction]
            for part in own
            if not part.id.group
        ],
        "event": list(event) if event else None,
        "ns": ns,
        "sessions": [round(median) for median in sessions],
    }


def _handles(program: Program | None, operators: Iterable[int]) -> list[str]:
    """The operators as "method:debug handle"; those without a handle are left out."""
    if program is None:
        return []
    found = (program.operators[i] for i in operators)
    return [f"{op.method}:{op.debug_handle}" for op in found if op.debug_handle != NO_HANDLE]


def _pairing(comparison: Comparison) -> Facts:
    a, b, pairs = comparison.a.program, comparison.b.program, comparison.pairs
    paired: list[list[str]] = []
    only: tuple[list[str], list[str]] = ([], [])
    if a is not None and b is not None:
        for pair in pairs.pairs:
            ends = _handles(a, [pair.a]) + _handles(b, [pair.b])
            if len(ends) == 2:
                paired.append([*ends, pair.grade.value])
        sides = ((a, {pair.a for pair in pairs.pairs}), (b, {pair.b for pair in pairs.pairs}))
        for found, (program, used) in zip(only, sides, strict=True):
            found += _handles(program, (op.index for op in program.operators
                                        if op.index not in used))  # fmt: skip
    return {"pairs": paired, "only_a": only[0], "only_b": only[1]}


def _interval(one: Compared) -> list[float] | None:
    if one.interval is None:
        return None
    low, high = map(_rounded, one.interval)
    return None if low is None or high is None else [low, high]


def _whole(ns: float | None) -> int | None:
    return None if ns is None else round(ns)


def _rounded(value: float | None) -> float | None:
    """A number with six significant digits, or None if it is not finite."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


NOISE_SCHEMA = "opscope-noise/1"
_LARGEST = 10_000_000  # bytes
_MOST = 10.0  # a deviation of log medians; times differ by 22,000 times then


class _Stored(msgspec.Struct):
    schema: str
    sessions: int
    inference_sd: float
    types: dict[str, float]


def noise_facts(noise: Noise, paths: Iterable[str]) -> Facts:
    """Return the noise as it is stored; paths: of the profiles, for their dates."""
    dates = {datetime.fromtimestamp(os.stat(path).st_mtime, UTC) for path in paths}
    return {
        "schema": NOISE_SCHEMA,
        "sessions": noise.sessions,
        "dates": sorted({date.strftime("%Y-%m-%d") for date in dates}),
        "inference_sd": noise.inference,
        "types": dict(noise.types),
    }


def read_noise(path: str) -> Noise:
    """Read a file with the noise of a device. Raises UnreadableFile."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
        stored = msgspec.json.decode(data, type=_Stored)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _no_noise(path) from error
    deviations = (stored.inference_sd, *stored.types.values())
    is_usable = stored.sessions >= 2 and all(0 <= one <= _MOST for one in deviations)
    if stored.schema != NOISE_SCHEMA or not is_usable:
        raise _no_noise(path)
    return Noise(stored.sessions, stored.inference_sd, stored.types)


def _no_noise(path: str) -> UnreadableFile:
    return UnreadableFile(
        path,
        "not the noise of a device",
        remedy="Write one with opscope compare --null FILES -o FILE",
    )
