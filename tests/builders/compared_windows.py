"""Two arms of small sessions, for what shows a comparison."""

from __future__ import annotations

from pathlib import Path

from tests.builders.compare_sessions import varied, write_sessions
from viewer.view.state import ChosenArm, ComparedArms

BASE = {"conv.out": 100_000, "add.out": 20_000, "mul.out": 30_000}
CHANGED = {**BASE, "add.out": 26_000}
_NOISE = (0.0, 0.01, -0.01, 0.02)


def write_arms(folder: Path, sessions: int = 4) -> tuple[list[str], list[str]]:
    """Write the profiles of two arms; add.out takes 30 % longer in B. Returns their paths."""
    noise = [_NOISE[i % len(_NOISE)] * (1 + i) for i in range(sessions)]
    a, b = (
        [str(path) for path in write_sessions(folder, name, *varied(base, noise))]
        for name, base in (("a", BASE), ("b", CHANGED))
    )
    return a, b


def arms_of(a: list[str], b: list[str]) -> ComparedArms:
    """The arms of some paths."""
    return ComparedArms(ChosenArm(tuple(a)), ChosenArm(tuple(b)))
