"""The result of one unit of work, as the manifest has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# done: rows were written. kept: the lake has them already. failed: the file cannot be read.
# refused: it crashed its worker twice, or does not fit the memory of a worker.
DONE, KEPT, FAILED, REFUSED = "done", "kept", "failed", "refused"


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """The result of a unit. state: `DONE`, `KEPT`, `FAILED` or `REFUSED`; reason: why it failed.

    rows: table -> number of rows. problems: number of rows of `problems`. seconds: of work.
    """

    source: str
    size: int
    stamp: str
    state: str
    key: str = ""
    reason: str = ""
    seconds: float = 0.0
    rows: Mapping[str, int] = field(default_factory=dict)
    problems: int = 0
