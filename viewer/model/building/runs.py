"""Numbers the inferences of a trace: per scope and process, from 1, as a file lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

from viewer.model.trace import Run, RunKind

# `replace` takes four times as long, and a thousand small files have several thousand runs.
_FIELDS = [field.name for field in fields(Run)]
_NUMBER, _TOTAL = _FIELDS.index("number"), _FIELDS.index("total")
_values_of = attrgetter(*_FIELDS)


def numbered_runs(runs: Sequence[Run], processes: Sequence[str]) -> tuple[Run, ...]:
    """Return runs with the numbers and totals of inferences; those that a file states stay.

    processes: the process of every track.
    """
    scopes = [(processes[run.track], run.scope) for run in runs]
    is_inference = [run.kind is RunKind.INFERENCE for run in runs]
    last: Counter[tuple[str, int]] = Counter()
    numbers = []
    for run, scope, one in zip(runs, scopes, is_inference, strict=True):
        number = (run.number or last[scope] + 1) if one else 0
        last[scope] = max(last[scope], number)
        numbers.append(number)
    return tuple(
        _numbered(run, number, last[scope]) if one else run
        for run, scope, one, number in zip(runs, scopes, is_inference, numbers, strict=True)
    )


def _numbered(run: Run, number: int, total: int) -> Run:
    values = [*_values_of(run)]
    values[_NUMBER], values[_TOTAL] = number, total
    return Run(*values)
