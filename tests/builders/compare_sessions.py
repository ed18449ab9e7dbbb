"""Writes the sessions of an arm: one ETDump each, with the same instructions in every inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tests.builders.etdump_writer import Event, Run, framework, operator, write_dump
from tests.builders.workspaces import workspace_of
from viewer.analysis.comparison.arms import Arm
from viewer.workspace.comparison_arms import arm_of

INFERENCES = 12  # of which 3 warm up
GAP = 1_000  # ns around every call


def write_session(
    path: Path,
    kernels: Mapping[str, Sequence[int]],
    gaps: Mapping[int, int] = MappingProxyType({}),
) -> Path:
    """Write a dump. kernels: name -> its ns in every inference, in the order of instructions.

    gaps: number of an inference, from 0 -> ns in which it waits at its end.
    """
    runs, now = [], 1_000_000
    for number in range(INFERENCES):
        began, events = now, list[Event]()
        for instruction, (name, times) in enumerate(kernels.items()):
            start, end = now + GAP, now + GAP + times[number]
            events.append(operator(f"native_call_{name}", instruction, start, end, chain=0))
            events.append(operator("OPERATOR_CALL", instruction, start, end, chain=0))
            now = end + GAP
        now += gaps.get(number, 0)
        runs.append(Run("Execute", [*events, framework("Method::execute", began, now)]))
        now += 10 * GAP
    return write_dump(path, runs)


def write_sessions(folder: Path, name: str, *sessions: Mapping[str, int]) -> list[Path]:
    """Write one dump per session, in which every inference takes the same times."""
    folder.mkdir(exist_ok=True)
    return [
        write_session(
            folder / f"{name}{i}.etdp", {k: [ns] * INFERENCES for k, ns in kernels.items()}
        )
        for i, kernels in enumerate(sessions)
    ]


def arm(*paths: Path | str) -> Arm:
    """The arm of some files."""
    workspace = workspace_of(*paths)
    return arm_of(workspace)


def varied(base: Mapping[str, int], shares: Sequence[float]) -> list[dict[str, int]]:
    """Sessions that take longer than the base by some shares, each kernel a little differently."""
    return [
        {
            name: round(ns * (1 + share * (1 + 0.1 * (i % 3))))
            for i, (name, ns) in enumerate(base.items())
        }
        for share in shares
    ]
