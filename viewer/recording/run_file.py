"""Reads how a session ran: `NNN.run.json`, beside its profile.

Only what a comparison needs. A file that is missing, damaged or of another tool says nothing.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from datetime import datetime

from viewer.analysis.comparison.conditions import Conditions

SCHEMA = "opscope-run/1"
SUFFIX = ".run.json"
_MOST_BYTES = 65_536


def conditions_of(profile: str) -> Conditions:
    """Return the conditions of the session of a profile; unknown ones without a file about it."""
    path = f"{os.path.splitext(profile)[0]}{SUFFIX}"
    with suppress(OSError, ValueError, RecursionError), open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
        if len(data) <= _MOST_BYTES:
            return conditions_in(json.loads(data.decode("utf-8-sig")))
    return Conditions()


def conditions_in(facts: object) -> Conditions:
    """Return the conditions in the contents of such a file; unknown ones for another file."""
    if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
        return Conditions()
    order, before = facts.get("order"), facts.get("before")
    before = before if isinstance(before, dict) else {}
    of = before.get("temperature_of")
    started = facts.get("started")
    seconds = None
    with suppress(ValueError, OverflowError):
        seconds = datetime.fromisoformat(started).timestamp() if isinstance(started, str) else None
    return Conditions(
        str(facts.get("recording") or ""),
        order if isinstance(order, int) and not isinstance(order, bool) and order > 0 else None,
        seconds,
        _number(before.get("temperature_c")),
        of if isinstance(of, str) else "",
        _number(facts.get("frequency_khz")),
    )


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None  # type: ignore[arg-type]
