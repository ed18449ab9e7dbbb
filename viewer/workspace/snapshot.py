"""What is open at one moment, for work that goes on while the workspace changes. No Qt."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viewer.analysis.links.link_table import LinkTable
from viewer.codecs.file_stamps import FileStamp
from viewer.model.times import ClockRate
from viewer.model.trace import Trace
from viewer.program.program import Program
from viewer.program.torq.dispatch import Dispatch
from viewer.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True, eq=False)
class LinkedTrace:
    """One open profile: its links, its clock, and what it is called among the open files.

    offset_ns: to be added to its times on the common axis. name: of its file; processes: of the
    process of each track.
    """

    table: LinkTable
    rate: ClockRate
    offset_ns: int
    name: str
    processes: tuple[str, ...]

    @property
    def trace(self) -> Trace:
        """The profile itself, as it is shown."""
        return self.table.trace


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """All that is open. stamps: path -> what the file was like when it was read."""

    traces: tuple[LinkedTrace, ...]
    programs: tuple[Program, ...]
    dispatches: tuple[Dispatch, ...]
    cycle_rate: ClockRate | None
    stamps: Mapping[str, FileStamp | None]

    @classmethod
    def of(cls, workspace: Workspace) -> Snapshot:
        """What is open in a workspace now; links are worked out where they were not yet."""
        traces, clocks = workspace.traces, workspace.clocks
        return cls(
            tuple(
                LinkedTrace(
                    workspace.links(trace),
                    clocks.rate(trace),
                    clocks.offset_ns(trace),
                    process_name(traces, trace, os.path.basename(trace.path)),
                    _processes(traces, trace),
                )
                for trace in traces
            ),
            tuple(workspace.programs),
            workspace.dispatches,
            clocks.cycle_rate,
            {path: workspace.stamp(path) for path in workspace.paths},
        )


def process_name(traces: Sequence[Trace], trace: Trace, process: str) -> str:
    """The name of a process among all open files: two files of one name are told apart."""
    same = [t for t in traces if any(k.process == process for k in t.tracks)]
    number = next((i for i, t in enumerate(same) if t is trace), 0)
    return f"{process} ({number + 1})" if number else process


def _processes(traces: Sequence[Trace], trace: Trace) -> tuple[str, ...]:
    """The name of the process of every track."""
    names = {
        process: process_name(traces, trace, process)
        for process in dict.fromkeys(track.process for track in trace.tracks)
    }
    return tuple(names[track.process] for track in trace.tracks)
