"""The open files at one moment, for work that continues while the workspace changes. No Qt.

Also Torq compiler estimates and measurements, compared across all of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.torq.measured_actions import ASSUMED_CYCLES
from viewer.codecs.file_bytes import FileStamp
from viewer.dataclasses import dataclass
from viewer.model.times import ClockRate
from viewer.model.trace import Trace
from viewer.program.executables import Executable
from viewer.program.program import Dispatch, Program
from viewer.workspace.clocks import ClockPlace
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    from viewer.analysis.torq.estimates import Estimates


NO_TIMES = "Nothing to export: a program file has no timing data. Also open its ETDump"


@dataclass(frozen=True, slots=True, eq=False)
class LinkedTrace:
    """One open profile: its links, its clock, and its display names among the open files.

    offset_ns: what to add to its times so that its clock starts at 0. place: among those of its
    axis. name: of its file; processes:
    the process name of each track.
    """

    table: LinkTable
    rate: ClockRate
    offset_ns: int
    place: ClockPlace
    name: str
    processes: tuple[str, ...]

    @property
    def trace(self) -> Trace:
        """The profile itself, as displayed."""
        return self.table.trace


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Everything that is open. stamps: path -> size and time of the file when it was read."""

    traces: tuple[LinkedTrace, ...]
    programs: tuple[Program, ...]
    executables: tuple[Executable, ...]
    dispatches: tuple[Dispatch, ...]
    cycle_rate: ClockRate | None
    stamps: Mapping[str, FileStamp | None]

    @property
    def only_executables(self) -> bool:
        """Whether only program files are open, which hold neither times nor sources."""
        return bool(self.executables) and not self.traces and not self.programs

    @classmethod
    def of(cls, workspace: Workspace) -> Snapshot:
        """Return the current contents of a workspace; computes missing links."""
        traces, clocks = workspace.traces, workspace.clocks
        return cls(
            tuple(
                LinkedTrace(
                    workspace.links(trace),
                    clocks.rate(trace),
                    clocks.offset_ns(trace),
                    clocks.place(trace),
                    process_name(traces, trace, os.path.basename(trace.path)),
                    _processes(traces, trace),
                )
                for trace in traces
            ),
            tuple(workspace.programs),
            tuple(workspace.executables),
            workspace.dispatches,
            clocks.cycle_rate,
            {path: workspace.stamp(path) for path in workspace.paths},
        )


def process_name(traces: Sequence[Trace], trace: Trace, process: str) -> str:
    """Return a process name that is unique among the open files, with a number if needed."""
    same = [t for t in traces if any(k.process == process for k in t.tracks)]
    number = next((i for i, t in enumerate(same) if t is trace), 0)
    return f"{process} ({number + 1})" if number else process


def _processes(traces: Sequence[Trace], trace: Trace) -> tuple[str, ...]:
    """Return the name of each track's process."""
    # Not `process_name` for each: that walks all tracks, of which there can be 100,000.
    earlier = Counter[str]()
    for other in takewhile(lambda other: other is not trace, traces):
        earlier.update({track.process for track in other.tracks})
    names = (track.process for track in trace.tracks)
    return tuple(f"{name} ({earlier[name] + 1})" if earlier[name] else name for name in names)


def estimates_of_workspace(workspace: Workspace) -> Estimates:
    """Return the comparison of everything that is open."""
    return estimates_of_snapshot(Snapshot.of(workspace))


_computing = Lock()
_shared: WeakKeyDictionary[Workspace, Estimates] = WeakKeyDictionary()


def shared_estimates(workspace: Workspace) -> Estimates:
    """Return the comparison of a workspace that does not change any more; computed once.

    Several threads may ask, for several panels.
    """
    with _computing:
        workspace_estimates = _shared.get(workspace)
        if workspace_estimates is None:
            workspace_estimates = _shared[workspace] = estimates_of_workspace(workspace)
        return workspace_estimates


def estimates_of_snapshot(opened: Snapshot) -> Estimates:
    """Return the comparison of everything that was open at one moment."""
    from viewer.analysis.torq.estimates import compare_estimates

    linked = {linked_trace.trace: linked_trace for linked_trace in opened.traces}
    return compare_estimates(
        tuple(linked),
        opened.dispatches,
        lambda trace: linked[trace].table,
        lambda trace: linked[trace].rate,
        opened.cycle_rate or ASSUMED_CYCLES,
    )
