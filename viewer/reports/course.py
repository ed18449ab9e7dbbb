"""Phases and the wall time of a profile as data: levels, rates, tokens, loads. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from viewer.analysis.sequence.wall_time import WallPart
from viewer.analysis.summary.medians import MedianInference
from viewer.model.times import counted, format_time, plain_spaces, tick_to_ns
from viewer.reports.info import Facts


def course_facts(median: MedianInference, rate: Fraction) -> Facts:
    """How the inferences of a phase change over time, and how they fill the wall time."""
    own_rate, tokens = median.rate, median.tokens

    def ns(ticks: int | Fraction) -> int:
        return tick_to_ns(ticks, rate)

    return {
        "phase": plain_spaces(median.name) or None,
        "inferences": median.runs,
        "p50_ns": ns(median.ticks),
        "levels": [
            {
                "first_inference": finding_level.first,
                "p50_ns": ns(finding_level.ticks),
                "factor": round(finding_level.factor, 4),
            }
            for finding_level in median.levels
        ],
        "per_second": None if own_rate is None else own_rate.per_second(rate),
        "idle_ns": None if own_rate is None else ns(own_rate.idle),
        "idle_share": None if own_rate is None else round(own_rate.share, 6),
        "tokens": None if tokens is None else tokens.tokens,
        "tokens_per_second": None if tokens is None else tokens.per_second(rate),
    }


def wall_facts(wall: Sequence[WallPart], rate: Fraction) -> list[Facts]:
    """Return the parts of the wall time; they do not overlap. idle: nothing in the file runs."""
    return [
        {
            "part": plain_spaces(wall_part.name),
            "ns": tick_to_ns(wall_part.ticks, rate),
            "idle": wall_part.is_idle,
        }
        for wall_part in wall
    ]


def wall_text(wall: Sequence[WallPart], rate: Fraction) -> str:
    """Return "Wall time: Load 7.120 s, Prefill 9.600 s"; "" with fewer than two parts."""
    parts = [
        f"{wall_part.name} {format_time(tick_to_ns(wall_part.ticks, rate))}" for wall_part in wall
    ]
    return f"Wall time: {', '.join(parts)}." if len(parts) > 1 else ""


def course_lines(file: Facts) -> list[str]:
    """Return the tokens of each phase and the wall time as lines; [] if no file states tokens."""
    lines = []
    for phase in file["phases"]:
        if phase["tokens"]:
            rate = phase["tokens_per_second"]
            per_second = "" if rate is None else f", {rate:,.4g} per second"
            of = f"{phase['phase'] or 'inferences'}: {format_time(phase['p50_ns'])}"
            of += " median" if phase["inferences"] > 1 else ""
            lines.append(f"{of}, {counted(phase['tokens'], 'token')}{per_second}")
    if not lines:
        return []
    parts = [
        f"{wall_part['part']} {format_time(wall_part['ns'])}" for wall_part in file["wall_time"]
    ]
    return [plain_spaces(line) for line in (*lines, f"wall time: {', '.join(parts)}")]
