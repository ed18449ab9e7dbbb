"""What a model holds without a profile: counts, each with the panel that lists them."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.analysis.delegates.delegation import recorded
from viewer.analysis.delegates.lowering_counts import lowering_counts
from viewer.program.executable.executable import Executable
from viewer.program.program import Program


@dataclass(frozen=True, slots=True)
class HeldCount:
    """How many of something a file holds. panel: the id of the panel that lists them."""

    count: int
    noun: str
    panel: str


def program_contents(program: Program) -> tuple[HeldCount, ...]:
    """Return what an ETRecord, a debug handle map or an MLIR text holds, without what it lacks."""
    lowered = lowering_counts(recorded(program))
    files = {op.source.path for op in program.operators if op.source}
    operators = sum(not op.is_function for op in program.operators)
    counts = (
        HeldCount(len(program.methods), "method", "model"),
        HeldCount(operators, "operator", "operators"),
        HeldCount(lowered.delegated, "operator delegated", "delegation"),
        HeldCount(lowered.partly, "operator partly delegated", "delegation"),
        HeldCount(
            lowered.not_delegated if lowered.calls else 0, "operator not delegated", "delegation"
        ),
        HeldCount(lowered.backends, "backend", "delegation"),
        HeldCount(lowered.calls, "delegate call", "delegation"),
        HeldCount(len(files), "source file", "source"),
    )
    return tuple(held_count for held_count in counts if held_count.count)


def executable_contents(executable: Executable) -> tuple[HeldCount, ...]:
    """Return what a program file holds, without what it lacks."""
    methods = executable.methods
    counts = (
        HeldCount(len(methods), "method", "program"),
        HeldCount(
            sum(len(executable_method.instructions) for executable_method in methods),
            "instruction",
            "program",
        ),
        HeldCount(
            sum(len(executable_method.delegates) for executable_method in methods),
            "delegate",
            "program",
        ),
    )
    return tuple(held_count for held_count in counts if held_count.count)
