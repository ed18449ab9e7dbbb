"""What is open and how it belongs together: traces, programs, links, clocks. No Qt.

The window and the command line are two fronts of one `Workspace`: whatever one can show or export,
the other can too. A workspace decides which record belongs to which dump by their agreement, in any
order of opening; an explicit choice wins; where nothing decides, the trace stays unlinked and says
why.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TypeVar

import numpy as np

from viewer.analysis.links.debug_info_locations import located, same_identities, states_locations
from viewer.analysis.links.identifier_columns import (
    ColumnMatch,
    column_names,
    identified_by,
    identifier_columns,
    said,
    sure_column,
    takes_column,
)
from viewer.analysis.links.link_table import LinkTable, link, unlinked
from viewer.analysis.links.logged_identities import Signature, signatures
from viewer.analysis.links.match import TraceMatch, fit
from viewer.analysis.links.pairing import (
    Candidate,
    is_aside,
    links_alike,
    mismatch,
    partial,
    rank,
    rivals,
    uncheckable,
    undecided_sentences,
    wants_text,
)
from viewer.analysis.torq.estimates import ASSUMED_CYCLES, is_compiled
from viewer.codecs.file_stamps import FileStamp, stamp_of
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, never_cancelled, no_progress
from viewer.formats import open_file
from viewer.model.times import ClockRate, RateOrigin, format_rate, tick_to_ns
from viewer.model.trace import KeyKind, Trace
from viewer.program.program import Program
from viewer.program.sources.files import SourceFile, Substitution
from viewer.program.sources.finder import Sources
from viewer.program.torq.debug_info import Dispatch
from viewer.workspace.companions import companions, read_companion

_OF_RECORDS = {
    KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT
}  # fmt: skip


class ChosenBy(Enum):
    """Who said which column's values are a profile's identifiers."""

    NOBODY = "nobody"
    EVIDENCE = "evidence"  # by the maps of the records nothing else can be meant
    MEMORY = "memory"  # the user, of an earlier profile of this form
    USER = "user"


@dataclass(frozen=True, slots=True)
class IdentifierColumn:
    """The column in force for a trace, None where slices are what the file says; and by whom."""

    column: str | None = None
    by: ChosenBy = ChosenBy.NOBODY


ClockRates = Mapping[str, Fraction]  # path of a trace -> the ns per tick that was chosen for it
# In place of the path: the cycles of Torq debug info, which counts without being a trace.
DEBUG_INFO = ""


class Workspace:
    """The open files and everything that follows from them together.

    traces: the profiles as they are shown: a column of identifiers may have taken the place of what
    their files say. remembered: `form_of` a profile -> the column that the user chose for one of
    that form, "" for none; it outlives `clear`.
    """

    def __init__(self, remembered: Mapping[str, str] | None = None) -> None:
        self.traces: list[Trace] = []
        self.programs: list[Program] = []
        self.remembered: dict[str, str] = dict(remembered or {})
        self._read: dict[str, Trace] = {}  # path -> the trace as it was read
        self._columns: dict[str, str | None] = {}  # trace -> the column chosen for it, or none
        self._in_force: dict[str, IdentifierColumn] = {}
        self._identified: dict[int, Trace] = {}  # by the trace as read, under the column in force
        self._matches: dict[tuple[int, int], list[ColumnMatch]] = {}
        self._pairs: dict[str, str | None] = {}  # trace -> the program chosen for it, or none
        self._methods: dict[tuple[str, str], dict[int, str]] = {}  # pair -> scope -> method chosen
        self._clocks: ClockRates = {}
        self._fits: dict[tuple[int, int], TraceMatch] = {}
        self._signatures: dict[int, list[Signature]] = {}
        self._links: dict[int, LinkTable] = {}
        self._sources = Sources()
        self._companions: dict[str, str] = {}  # text that was found -> the file it was found for
        self._stamps: dict[
            str, FileStamp | None
        ] = {}  # path -> what the file was like when it came

    def copy(self) -> Workspace:
        """Another workspace of the same files; a change of one is none of the other."""
        made = Workspace(self.remembered)
        made.traces, made.programs = list(self.traces), list(self.programs)
        made._read, made._columns = dict(self._read), dict(self._columns)
        made._in_force, made._identified = dict(self._in_force), dict(self._identified)
        made._matches = dict(self._matches)
        made._pairs = dict(self._pairs)
        made._methods = {pair: dict(chosen) for pair, chosen in self._methods.items()}
        made._clocks = self._clocks
        made._fits, made._links = dict(self._fits), dict(self._links)
        made._signatures = dict(self._signatures)
        made._sources = self._sources.copy()
        made._companions = dict(self._companions)
        made._stamps = dict(self._stamps)
        return made

    # -- files -------------------------------------------------------------------------------

    def open(
        self, path: str, progress: Progress = no_progress, cancelled: Cancelled = never_cancelled
    ) -> Trace | Program:
        """Read a file and add it. Raises UnreadableFile or ReadCancelled; then nothing changes."""
        item = open_file(path, progress, cancelled)
        self.add(item)
        return item

    def add(self, item: Trace | Program, *, found_for: str | None = None) -> None:
        """Add what was read; the same path again replaces what it held.

        found_for: the path of the file whose companion it is, if nobody asked for it.
        """
        self._companions.pop(item.path, None)
        self._stamps[item.path] = stamp_of(item.path)
        if found_for is not None:
            self._companions[item.path] = found_for
        if isinstance(item, Trace):
            self.programs = [p for p in self.programs if p.path != item.path]
            self._read[item.path] = item
        else:
            self._read.pop(item.path, None)
            _put(self.programs, item)
        self._show()
        self._links.clear()
        self._sources.forget()

    def _show(self) -> None:
        """Bring `traces` in step with what was read and chosen; the unchanged stay the same."""
        before = {trace.path: trace for trace in self.traces}
        self.traces = [self._kept(read, before.get(read.path)) for read in self._read.values()]
        self._forget_fits()

    def _kept(self, read: Trace, before: Trace | None) -> Trace:
        """A trace as it is shown now: the same object as long as nothing about it has changed."""
        made = self._shown(read)
        if (
            before is not None
            and before.slices is made.slices
            and same_identities(before.keys, made.keys)
        ):
            return before
        return made

    def _shown(self, read: Trace) -> Trace:
        """What is shown of a trace that was read: the identities that other open files give."""
        return located(self._by_column(read), self.dispatches, in_text=self._lowered is not None)

    def _by_column(self, read: Trace) -> Trace:
        """A trace with the identifiers of the column in force, if any is."""
        column = self._in_force[read.path] = self._column_of(read)
        if column.column is None:
            self._identified.pop(id(read), None)
            return read
        known = self._identified.get(id(read))
        if known is None or known.identifier_column != column.column:
            self._identified[id(read)] = identified_by(read, column.column)
        return self._identified[id(read)]

    @property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """All Torq debug info that is open."""
        return tuple(dispatch for program in self.programs for dispatch in program.dispatches)

    @property
    def _lowered(self) -> Program | None:
        """The debug info whose own operations are linked: where it is the only MLIR text open."""
        texts = [program for program in self.programs if program.is_mlir]
        return texts[0] if len(texts) == 1 and texts[0].dispatches else None

    def open_companions(self) -> list[str]:
        """Open the texts that traces and debug info name and that lie beside them; a sentence for
        each that cannot be read. None if any text was asked for: that one is meant then."""
        complaints: list[str] = []
        if any(is_text(program) for program in self.programs):
            return complaints
        opened: list[Trace | Program] = [*self._read.values(), *self.programs]
        for item in opened:
            for path in self.companions_of(item):
                try:
                    self.add(read_companion(path), found_for=item.path)
                except UnreadableFile as error:
                    complaints.append(companion_complaint(item.path, error))
        return complaints

    def companions_of(self, item: Trace | Program, asked: Iterable[str] = ()) -> list[str]:
        """The texts that the locations of a trace or of debug info name, as they lie here.

        Not those that are open or, by their paths, `asked` for; none for a trace whose program was
        chosen.
        """
        if isinstance(item, Trace) and self.is_explicit(item):
            return []
        return companions(item, (*self.paths, *asked), self.substitutions)

    def found_for(self, program: Program) -> str | None:
        """The file for which a program was found and opened, None if it was asked for."""
        return self._companions.get(program.path)

    def _forget_fits(self, of: Trace | None = None) -> None:
        """Drop what was worked out about one trace, or about files that are not open any more."""
        if of is not None:
            self._fits = {k: v for k, v in self._fits.items() if k[0] != id(of)}
            self._links.pop(id(of), None)
            return
        kept = {id(x) for x in (*self.traces, *self._read.values(), *self.programs)}
        self._fits = {k: v for k, v in self._fits.items() if kept.issuperset(k)}
        self._matches = {k: v for k, v in self._matches.items() if kept.issuperset(k)}
        self._signatures = {k: v for k, v in self._signatures.items() if k in kept}
        self._links = {k: v for k, v in self._links.items() if k in kept}
        self._identified = {k: v for k, v in self._identified.items() if k in kept}

    def clear(self) -> None:
        """Close everything and forget all choices but the remembered ones."""
        self.__init__(self.remembered)  # type: ignore[misc]

    @property
    def paths(self) -> list[str]:
        """The open files, traces before programs."""
        return [t.path for t in self.traces] + [p.path for p in self.programs]

    def stamp(self, path: str) -> FileStamp | None:
        """What an open file was like when it was read, None where it was no plain file."""
        return self._stamps.get(path)

    # -- pairing -----------------------------------------------------------------------------

    def pair(self, trace_path: str, program_path: str | None) -> None:
        """Link a trace to a program whatever their agreement, or to none whatever fits.

        Raises ValueError if either is not open.
        """
        trace = self.open_trace(trace_path)
        program = None
        if program_path is not None:
            found = (p.path for p in self.programs if _same_path(p.path, program_path))
            program = next(found, None)
            if program is None:
                raise ValueError(f"{program_path} is not an open record or source")
        self._pairs[trace.path] = program
        self._links.pop(id(trace), None)

    def decide_by_agreement(self, trace_path: str) -> None:
        """Forget what was chosen for a trace: its program, its methods, its column."""
        trace = self.open_trace(trace_path)
        self._pairs.pop(trace.path, None)
        for pair in [pair for pair in self._methods if pair[0] == trace.path]:
            del self._methods[pair]
        self._columns.pop(trace.path, None)
        self.remembered.pop(form_of(trace), None)
        self._forget_fits(of=trace)
        self._show()

    def choose_method(self, trace_path: str, scope: str, method: str) -> None:
        """Say of which method the runs of a scope are; the links of the trace follow.

        Raises ValueError for a trace without that scope, or a program without that method.
        """
        trace = self.open_trace(trace_path)
        names = [s.name for s in trace.scopes]
        if scope not in names:
            raise ValueError(f"{trace_path} has no {scope!r}; it has {', '.join(names)}")
        program = self.links(trace).program
        if program is None:
            raise ValueError(f"{trace_path} is not linked to a record")
        if program.method(method) is None:
            known = ", ".join(m.name for m in program.methods)
            raise ValueError(f"{program.path} has no method {method!r}; it has {known}")
        self._methods.setdefault((trace.path, program.path), {})[names.index(scope)] = method
        self._forget_fits(of=trace)

    @property
    def chosen_pairs(self) -> Mapping[str, str | None]:
        """Profile -> the record that the user linked it to, or None for none."""
        return dict(self._pairs)

    @property
    def chosen_methods(self) -> list[tuple[str, str, str]]:
        """(profile, scope, method): of which method the user said that the runs of a scope are."""
        return [
            (trace.path, trace.scopes[scope].name, method)
            for trace in self.traces
            for (path, _), methods in self._methods.items() if path == trace.path
            for scope, method in methods.items()
        ]  # fmt: skip

    @property
    def chosen_columns(self) -> Mapping[str, str | None]:
        """Profile -> the column that the user chose for its identifiers, or None for none."""
        return dict(self._columns)

    def open_trace(self, path: str) -> Trace:
        """The open trace of a path. Raises ValueError if there is none."""
        found = next((t for t in self.traces if _same_path(t.path, path)), None)
        if found is None:
            raise ValueError(f"{path} is not an open profile")
        return found

    def candidates(self, trace: Trace) -> list[Candidate]:
        """The open programs of the kind that the trace's identities ask for, best fit first."""
        # Counted, as it is asked with every selection, and a trace may have a key per slice.
        kinds = _kinds(trace)
        has_places = KeyKind.LOCATION in kinds
        if trace.identifier_column:
            has_places = KeyKind.LOCATION in _kinds(self._read.get(trace.path, trace))
        asked = [
            p for p in self.programs
            if p.methods
            and (has_places and (not p.dispatches or self._is_located_in(trace, p))
                 if p.text_lines
                 else bool(kinds & _OF_RECORDS) or bool(self._matches_of(trace.path, p)))
        ]  # fmt: skip
        found = [Candidate(p, self._fit(trace, p)) for p in asked]
        text = wants_text(trace)
        return sorted(found, key=lambda c: rank(c, text))

    # -- columns of identifiers ----------------------------------------------------------------

    def identify(self, trace_path: str, column: str | None, *, remember: bool = False) -> None:
        """Take a column's values as a trace's delegate identifiers; None: what the file says.

        remember: also for other profiles of this form, as far as a record has its values. Raises
        ValueError for a trace without that column, or one whose file states identities itself.
        """
        trace = self.open_trace(trace_path)
        if not takes_column(trace):
            raise ValueError(f"the slices of {trace_path} have identities of their own")
        if column is not None and column not in column_names(trace):
            raise ValueError(
                f"{trace_path} has no column {column!r} of texts or whole numbers; it has "
                f"{said(column_names(trace))}"
            )
        self._columns[trace.path] = column
        if remember:
            self.remembered[form_of(trace)] = column or ""
        self._links.pop(id(trace), None)
        self._show()

    def identifier_column(self, trace: Trace) -> IdentifierColumn:
        """The column whose values are a trace's identifiers, and who said so."""
        return self._in_force.get(trace.path, IdentifierColumn())

    def column_matches(self, trace: Trace) -> list[tuple[Program, ColumnMatch]]:
        """The columns that have identifiers of an open record, best first, each once.

        Those of the linked record, where one is linked; else each with the record it fits best.
        """
        linked = self.links(trace).program
        own = self._matches_of(trace.path, linked) if linked is not None else []
        if linked is not None and own:
            return [(linked, match) for match in own]
        best: dict[str, tuple[Program, ColumnMatch]] = {}
        for program, match in self._all_matches(trace):
            best.setdefault(match.column, (program, match))
        return list(best.values())

    def _all_matches(self, trace: Trace) -> list[tuple[Program, ColumnMatch]]:
        """The columns that have identifiers of any open record, best first."""
        found = [(p, match) for p in self.programs for match in self._matches_of(trace.path, p)]
        return sorted(found, key=lambda one: one[1].rank)

    def _matches_of(self, trace_path: str, program: Program) -> list[ColumnMatch]:
        """How the columns of a trace match a record; worked out once, on what was read."""
        read = self._read.get(trace_path)
        if read is None or program.text_lines:
            return []
        key = (id(read), id(program))
        if key not in self._matches:
            self._matches[key] = identifier_columns(read, program)
        return self._matches[key]

    def _column_of(self, read: Trace) -> IdentifierColumn:
        """The column in force: as chosen, as remembered, or where nothing else can be meant."""
        if not takes_column(read):
            return IdentifierColumn()
        names = {None, *column_names(read)}
        if read.path in self._columns and self._columns[read.path] in names:
            return IdentifierColumn(self._columns[read.path], ChosenBy.USER)
        matches = [match for _, match in self._all_matches(read)]
        remembered = self.remembered.get(form_of(read))
        if remembered == "" and matches:
            return IdentifierColumn(None, ChosenBy.MEMORY)
        if any(match.column == remembered for match in matches):
            return IdentifierColumn(remembered, ChosenBy.MEMORY)
        column = sure_column(read, matches)
        if column is None or self._has_text(read):
            return IdentifierColumn()
        return IdentifierColumn(column, ChosenBy.EVIDENCE)

    def _has_text(self, read: Trace) -> bool:
        """Whether an open MLIR text has the locations of a trace: they say what its slices are."""
        texts = [p for p in self.programs if p.is_mlir]
        if not texts or KeyKind.LOCATION not in _kinds(read):
            return False
        return any(self._fit(read, p).agreement.belongs for p in texts)

    def _is_located_in(self, trace: Trace, program: Program) -> bool:
        """Whether a trace has its locations from debug info alone, and they are places in it."""
        read = self._read.get(trace.path, trace)
        return program is self._lowered and trace is not read and not states_locations(read)

    def is_explicit(self, trace: Trace) -> bool:
        """Whether the user chose the trace's program, or that it has none, a method or a column."""
        return (
            self._choice(trace) is not None
            or any(t == trace.path for t, _ in self._methods)
            or self.identifier_column(trace).by in (ChosenBy.USER, ChosenBy.MEMORY)
        )

    def _choice(self, trace: Trace) -> tuple[Program | None] | None:
        """The chosen program (or none) in a tuple; None if nothing was, or it is not open now."""
        if trace.path not in self._pairs:
            return None
        path = self._pairs[trace.path]
        found = next((p for p in self.programs if p.path == path), None)
        return None if found is None and path is not None else (found,)

    def links(self, trace: Trace) -> LinkTable:
        """The links of a trace to the program that belongs to it, or to none."""
        if id(trace) not in self._links:
            self._links[id(trace)] = self._link(trace)
        return self._links[id(trace)]

    def warnings(self, trace: Trace) -> list[str]:
        """What the user must know about the trace's pairing, as sentences."""
        table = self.links(trace)
        if table.program is not None and table.fit is not None:
            agreement = table.fit.agreement
            undecided = undecided_sentences(trace, table.fit)
            if undecided:
                return undecided
            if not agreement.checkable:
                return [self._proposal(trace) or uncheckable(trace, table.program, agreement)]
            if not agreement.belongs:
                wrong = mismatch(trace, table.program, agreement)
                return [f"{wrong} They are linked because you chose so."]
            return [partial(trace, table.program, agreement)] if agreement.is_partial else []
        why = self._why_unlinked(trace)
        return [why] if why else []

    def _fit(self, trace: Trace, program: Program) -> TraceMatch:
        key = (id(trace), id(program))
        if key not in self._fits:
            chosen = self._methods.get((trace.path, program.path), {})
            if id(trace) not in self._signatures:
                self._signatures[id(trace)] = signatures(trace)
            self._fits[key] = fit(trace, program, chosen, self._signatures[id(trace)])
        return self._fits[key]

    def _link(self, trace: Trace) -> LinkTable:
        program = self._choose(trace)
        if program is not None:
            return link(trace, program, self._fit(trace, program), self.dispatches)
        return unlinked(trace, self._why_unlinked(trace), self.dispatches)

    def _choose(self, trace: Trace) -> Program | None:
        choice = self._choice(trace)
        if choice is not None:
            return choice[0]
        rated = self.candidates(trace)
        if not rated or not rated[0].fit.agreement.belongs:
            return None
        best = rated[0]
        if all(links_alike(c.program) == links_alike(best.program) for c in rivals(trace, rated)):
            return best.program
        return None

    def _why_unlinked(self, trace: Trace) -> str:
        rated = self.candidates(trace)
        if not rated or self._choice(trace) == (None,):
            return ""
        name = os.path.basename(trace.path)
        best = rated[0]
        agreement = best.fit.agreement
        if not best.fit.agreement.belongs and self._all_matches(trace):
            proposal = self._proposal(trace)
            if proposal or is_aside(best.program, wants_text(trace)):
                return proposal
        if not best.fit.agreement.checkable:
            return f"{uncheckable(trace, best.program, agreement)} They were not linked."
        if not best.fit.agreement.belongs:
            return f"{mismatch(trace, best.program, agreement)} They were not linked."
        names = " and ".join(os.path.basename(c.program.path) for c in rivals(trace, rated))
        return f"{names} fit {name} about equally well: choose one."

    def _proposal(self, trace: Trace) -> str:
        """What to say of a trace that a column could link, while none is in force or refused."""
        if self.identifier_column(trace).by is not ChosenBy.NOBODY:
            return ""
        found = self._all_matches(trace)
        if not found or not found[0][1].is_likely:
            return ""
        program, match = found[0]
        chance = "" if match.words else " Numbers match by chance too, so they were not linked."
        return (
            f"{match.known} of the {match.values} values in column {match.column} of "
            f"{os.path.basename(trace.path)} are identifiers in {os.path.basename(program.path)}."
            f"{chance} Choose the column in Links (--identifier-column {match.column}) if they "
            "mean the same."
        )

    def proposes_column(self, trace: Trace) -> bool:
        """Whether a column could link a trace, and nobody has said whether it may."""
        return bool(self._proposal(trace))

    def process_name(self, trace: Trace, process: str) -> str:
        """The name of a process among all open files: two files of one name are told apart."""
        same = [t for t in self.traces if any(k.process == process for k in t.tracks)]
        number = next((i for i, t in enumerate(same) if t is trace), 0)
        return f"{process} ({number + 1})" if number else process

    # -- clocks ------------------------------------------------------------------------------

    def set_clock(self, trace_path: str, ns_per_tick: Fraction | None) -> None:
        """Choose how long a tick of a trace lasts, None: as its file states or its reader assumes.

        No column changes. Raises ValueError for a trace that is not open or states its rate, and
        for a rate with which its times cannot be told.
        """
        trace = self.open_trace(trace_path)
        others = {path: rate for path, rate in self._clocks.items() if path != trace.path}
        if ns_per_tick is None:
            self._clocks = others
            return
        if not can_choose_clock(trace):
            stated = self.clock_rate(trace).tick_text
            raise ValueError(f"{trace_path} states the rate of its clock ({stated})")
        ratio = ns_per_tick.as_integer_ratio()
        if ns_per_tick <= 0 or ratio[0] * ratio[1] >= 2**63:
            raise ValueError(f"a tick cannot last {ns_per_tick} ns")
        if max(abs(trace.start), abs(trace.end)) * ns_per_tick >= 2**63:
            raise ValueError(
                f"at {format_rate(ns_per_tick)} {trace_path} would be more than 292 years long"
            )
        self._clocks = {**others, trace.path: ns_per_tick}

    @property
    def cycle_rate(self) -> ClockRate | None:
        """How long a cycle in open debug info lasts; None where there are no such cycles, or a
        compile profile is open, whose clock is theirs."""
        counted = any(job.end is not None for d in self.dispatches for job in d.jobs.values())
        if not counted or any(is_compiled(trace) for trace in self.traces):
            return None
        chosen = self._clocks.get(DEBUG_INFO)
        return ASSUMED_CYCLES if chosen is None else replace(
            ASSUMED_CYCLES, ns_per_tick=chosen, origin=RateOrigin.CHOSEN
        )  # fmt: skip

    def set_cycle_rate(self, ns_per_tick: Fraction | None) -> None:
        """Choose how long a cycle in debug info lasts, None: as it is assumed.

        Raises ValueError where `cycle_rate` is None, and for a rate that is none.
        """
        if self.cycle_rate is None:
            raise ValueError("no debug info with a clock of its own is open")
        if ns_per_tick is not None and ns_per_tick <= 0:
            raise ValueError(f"a cycle cannot last {ns_per_tick} ns")
        chosen = {} if ns_per_tick is None else {DEBUG_INFO: ns_per_tick}
        self._clocks = {k: rate for k, rate in self._clocks.items() if k != DEBUG_INFO} | chosen

    @property
    def clocks(self) -> ClockRates:
        """The chosen rates, of traces that may be closed by now too; it is never changed."""
        return self._clocks

    def restore_clocks(self, clocks: ClockRates) -> None:
        """Choose again what `clocks` was at another time."""
        self._clocks = clocks

    def clock_rate(self, trace: Trace) -> ClockRate:
        """How long a tick of a trace lasts, and whether the file, a guess or the user says so."""
        clock = trace.clock
        chosen = self._clocks.get(trace.path)
        if chosen is not None and can_choose_clock(trace):
            return ClockRate(clock.unit, chosen, RateOrigin.CHOSEN)
        origin = RateOrigin.ASSUMED if clock.assumed else RateOrigin.STATED
        return ClockRate(clock.unit, clock.ns_per_tick, origin)

    def ns_per_tick(self, trace: Trace) -> Fraction:
        """How long a tick of a trace lasts."""
        return self.clock_rate(trace).ns_per_tick

    def offset_ns(self, trace: Trace) -> int:
        """What to add to a trace's times so that it starts at 0 with all of its clock domain."""
        # A trace without slices begins nowhere: its 0 would set the others hours apart from it.
        group = [t for t in self.same_clock(trace) if len(t.slices)] or [trace]
        return -min(tick_to_ns(t.start, self.ns_per_tick(t)) for t in group)

    def same_clock(self, trace: Trace) -> list[Trace]:
        """The open traces that one clock stamped, this one among them, in the order of opening."""
        domain = trace.clock.domain
        return [t for t in self.traces if t is trace or (domain and t.clock.domain == domain)]

    def span_ns(self) -> int:
        """The length of the common axis: the latest end of any trace, in ns from the start."""
        ends = (tick_to_ns(t.end, self.ns_per_tick(t)) + self.offset_ns(t) for t in self.traces)
        return max(ends, default=0)

    # -- sources -----------------------------------------------------------------------------

    def source(self, recorded: str) -> SourceFile | None:
        """The source of a recorded path: opened, or found there, or beside the opened files."""
        return self._sources.source(recorded, self.programs, self.paths)

    def substitute(self, substitution: Substitution) -> None:
        """Look for what was recorded below a path below another; the same path again moves it."""
        self._sources.substitute(substitution)

    def withdraw(self, substitution: Substitution) -> None:
        """Forget a substitution."""
        self._sources.withdraw(substitution)

    @property
    def substitutions(self) -> tuple[Substitution, ...]:
        """What `substitute` was told, in that order."""
        return self._sources.substitutions


def is_text(item: Trace | Program) -> bool:
    """Whether it is a text that traces are compiled from; debug info is what it was compiled to."""
    return isinstance(item, Program) and item.is_mlir and not item.dispatches


def companion_complaint(path: str, error: object) -> str:
    """What to say of a text that was found beside a file and cannot be read."""
    return f"{os.path.basename(path)} was compiled from a text that cannot be read: {error}"


def can_choose_clock(trace: Trace) -> bool:
    """Whether the rate of a trace's clock may be chosen: nothing states it, or it counts cycles."""
    return trace.clock.assumed or trace.clock.unit == "cycle"


Item = TypeVar("Item", Trace, Program)


def _put(items: list[Item], item: Item) -> None:
    """Add an item, or put it in the place of the one that was read from the same path."""
    at = next((i for i, old in enumerate(items) if old.path == item.path), len(items))
    items[at : at + 1] = [item]


def _same_path(one: str, other: str) -> bool:
    return os.path.abspath(one) == os.path.abspath(other)


def form_of(trace: Trace) -> str:
    """The form of a profile, for a choice that holds for all of it: its format and its columns."""
    columns = "\n".join(sorted(column_names(trace)))
    digest = hashlib.sha256(columns.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{trace.format}:{digest[:16]}"


def _kinds(trace: Trace) -> set[KeyKind]:
    """The kinds of a trace's keys; counted, as it is asked with every selection."""
    return {KeyKind(k) for k in np.flatnonzero(np.bincount(trace.keys.kind)).tolist()}
