"""What is open and how it belongs together: traces, programs, links, clocks. No Qt.

The window and the command line are two fronts of one `Workspace`: whatever one can show or export,
the other can too. A workspace decides which record belongs to which dump by their agreement, in any
order of opening; an explicit choice wins; where nothing decides, the trace stays unlinked and says
why.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from viewer.formats import Cancelled, Progress, never_cancelled, no_progress, open_file
from viewer.model.times import tick_to_ns
from viewer.model.trace import KeyKind, Trace
from viewer.program.agreement import AHEAD, Agreement, Fit, fit
from viewer.program.graph import Program
from viewer.program.linking import LinkTable, link, unlinked
from viewer.program.source_code import SourceFile, find_source, shared_suffix

_OF_RECORDS = {
    KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that might belong to a trace, and how well it fits."""

    program: Program
    fit: Fit


class Workspace:
    """The open files and everything that follows from them together."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self.programs: list[Program] = []
        self._pairs: dict[str, str] = {}
        self._fits: dict[tuple[int, int], Fit] = {}
        self._links: dict[int, LinkTable] = {}
        self._sources: dict[str, SourceFile | None] = {}

    # -- files -------------------------------------------------------------------------------

    def open(
        self, path: str, progress: Progress = no_progress, cancelled: Cancelled = never_cancelled
    ) -> Trace | Program:
        """Read a file and add it. Raises UnreadableFile or ReadCancelled; then nothing changes."""
        item = open_file(path, progress, cancelled)
        self.add(item)
        return item

    def add(self, item: Trace | Program) -> None:
        """Add what was read; the same path again replaces what it held."""
        if isinstance(item, Trace):
            self.programs = [p for p in self.programs if p.path != item.path]
            _put(self.traces, item)
        else:
            self.traces = [t for t in self.traces if t.path != item.path]
            _put(self.programs, item)
        self._forget_fits()
        self._links.clear()
        self._sources.clear()

    def remove(self, path: str) -> None:
        """Close one file; unknown paths are ignored."""
        self.traces = [t for t in self.traces if t.path != path]
        self.programs = [p for p in self.programs if p.path != path]
        self._forget_fits()
        self._links.clear()

    def _forget_fits(self) -> None:
        """Drop what was worked out about files that are not open any more."""
        kept = {id(x) for x in (*self.traces, *self.programs)}
        self._fits = {k: v for k, v in self._fits.items() if kept.issuperset(k)}

    def clear(self) -> None:
        """Close everything and forget all choices."""
        self.__init__()  # type: ignore[misc]

    @property
    def paths(self) -> list[str]:
        """The open files, traces before programs."""
        return [t.path for t in self.traces] + [p.path for p in self.programs]

    # -- pairing -----------------------------------------------------------------------------

    def pair(self, trace_path: str, program_path: str) -> None:
        """Link a trace to a program whatever their agreement.

        Raises ValueError if either is not open.
        """
        trace = next((t.path for t in self.traces if _same_path(t.path, trace_path)), None)
        if trace is None:
            raise ValueError(f"{trace_path} is not an open profile")
        program = next((p.path for p in self.programs if _same_path(p.path, program_path)), None)
        if program is None:
            raise ValueError(f"{program_path} is not an open record or source")
        self._pairs[trace] = program
        self._links.clear()

    def candidates(self, trace: Trace) -> list[Candidate]:
        """The open programs of the kind that the trace's identities ask for, best fit first."""
        kinds = {KeyKind(k) for k in set(trace.keys.kind.tolist())}
        asked = [
            p for p in self.programs
            if p.methods
            and (KeyKind.LOCATION in kinds if p.text_lines else bool(kinds & _OF_RECORDS))
        ]  # fmt: skip
        found = [Candidate(p, self._fit(trace, p)) for p in asked]
        return sorted(found, key=lambda c: -c.fit.agreement.value)

    def is_explicit(self, trace: Trace) -> bool:
        """Whether the trace's program was chosen by the user."""
        chosen = self._pairs.get(trace.path)
        return any(p.path == chosen for p in self.programs)

    def links(self, trace: Trace) -> LinkTable:
        """The links of a trace to the program that belongs to it, or to none."""
        if id(trace) not in self._links:
            self._links[id(trace)] = self._link(trace)
        return self._links[id(trace)]

    def warnings(self, trace: Trace) -> list[str]:
        """What the user must know about the trace's pairing, as sentences."""
        table = self.links(trace)
        name = os.path.basename(trace.path)
        if table.program is not None and table.fit is not None:
            record = os.path.basename(table.program.path)
            agreement = table.fit.agreement
            undecided = {names for names in table.fit.undecided if names}
            if undecided:
                methods = " and ".join(sorted(undecided)[0])
                return [
                    f"The methods {methods} of {record} have the same instructions: which of them "
                    f"{name} ran cannot be told, so its slices are not linked."
                ]
            if not agreement.checkable:
                return [_uncheckable(name, record)]
            if not agreement.belongs:
                mismatch = _mismatch(name, record, agreement)
                return [f"{mismatch} They are linked because you chose so."]
            return []
        why = self._why_unlinked(trace)
        return [why] if why else []

    def _fit(self, trace: Trace, program: Program) -> Fit:
        key = (id(trace), id(program))
        if key not in self._fits:
            self._fits[key] = fit(trace, program)
        return self._fits[key]

    def _link(self, trace: Trace) -> LinkTable:
        program = self._choose(trace)
        if program is not None:
            return link(trace, program, self._fit(trace, program))
        return unlinked(trace, self._why_unlinked(trace))

    def _choose(self, trace: Trace) -> Program | None:
        chosen = next((p for p in self.programs if p.path == self._pairs.get(trace.path)), None)
        if chosen is not None:
            return chosen
        rated = self.candidates(trace)
        # What could be compared and fits goes before what merely has nothing against it.
        fitting = [c for c in rated if c.fit.agreement.belongs]
        comparable = [c for c in fitting if c.fit.agreement.checkable]
        if not fitting:
            return None
        best = (comparable or fitting)[0]
        rivals = [
            c
            for c in rated
            if c.fit.agreement.checkable == best.fit.agreement.checkable
            and abs(best.fit.agreement.value - c.fit.agreement.value) < AHEAD
        ]
        if all(_identity(c.program) == _identity(best.program) for c in rivals):
            return best.program
        return None

    def _why_unlinked(self, trace: Trace) -> str:
        rated = self.candidates(trace)
        if not rated:
            return ""
        name = os.path.basename(trace.path)
        best = rated[0]
        record = os.path.basename(best.program.path)
        if not best.fit.agreement.checkable:
            return f"{_uncheckable(name, record)} They were not linked."
        if not best.fit.agreement.belongs:
            return f"{_mismatch(name, record, best.fit.agreement)} They were not linked."
        near = [c for c in rated if best.fit.agreement.value - c.fit.agreement.value < AHEAD]
        names = " and ".join(os.path.basename(c.program.path) for c in near)
        return f"{names} fit {name} about equally well: choose one."

    def process_name(self, trace: Trace, process: str) -> str:
        """The name of a process among all open files: two files of one name are told apart."""
        same = [t for t in self.traces if any(k.process == process for k in t.tracks)]
        number = next((i for i, t in enumerate(same) if t is trace), 0)
        return f"{process} ({number + 1})" if number else process

    # -- clocks ------------------------------------------------------------------------------

    def ns_per_tick(self, trace: Trace) -> Fraction:
        """The rate of a trace's clock."""
        return trace.clock.ns_per_tick

    def offset_ns(self, trace: Trace) -> int:
        """What to add to a trace's times so that it starts at 0 with all of its clock domain."""
        group = [trace]
        if trace.clock.domain:
            group = [t for t in self.traces if t.clock.domain == trace.clock.domain] or group
        return -min(tick_to_ns(t.start, self.ns_per_tick(t)) for t in group)

    def span_ns(self) -> int:
        """The length of the common axis: the latest end of any trace, in ns from the start."""
        ends = (tick_to_ns(t.end, self.ns_per_tick(t)) + self.offset_ns(t) for t in self.traces)
        return max(ends, default=0)

    # -- sources -----------------------------------------------------------------------------

    def source(self, recorded: str) -> SourceFile | None:
        """The source of a recorded path: opened, or found there, or beside the opened files."""
        if recorded not in self._sources:
            opened = max(
                (p for p in self.programs if p.text_lines),
                key=lambda p: shared_suffix(p.path, recorded), default=None,
            )  # fmt: skip
            if opened is not None and shared_suffix(opened.path, recorded):
                found = SourceFile(recorded, opened.path, opened.text_lines)
                self._sources[recorded] = found
                return found
            folders = dict.fromkeys(os.path.dirname(os.path.abspath(p)) for p in self.paths)
            self._sources[recorded] = find_source(recorded, list(folders))
        return self._sources[recorded]


Item = TypeVar("Item", Trace, Program)


def _put(items: list[Item], item: Item) -> None:
    """Add an item, or put it in the place of the one that was read from the same path."""
    at = next((i for i, old in enumerate(items) if old.path == item.path), len(items))
    items[at : at + 1] = [item]


def _same_path(one: str, other: str) -> bool:
    return os.path.abspath(one) == os.path.abspath(other)


def _identity(program: Program) -> object:
    """Equal for programs that link alike: the same maps, operators and source lines."""
    return [
        (
            m.name, dict(m.handles), dict(m.delegates),
            [(o.debug_handle, o.ops, o.source) for o in m.operators],
        )
        for m in program.methods
    ]  # fmt: skip


def _uncheckable(trace: str, program: str) -> str:
    return f"Whether {program} belongs to {trace} cannot be checked: they have nothing to compare."


def _mismatch(trace: str, program: str, agreement: Agreement) -> str:
    return (
        f"{trace} and {program} do not belong together: {agreement}. Either the record is of "
        "another model or export, or it was made without deepcopy."
    )
