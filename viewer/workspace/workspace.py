"""The open files and how they belong together: traces, programs, links, clocks. No Qt.

The window and the command line are two front ends of one `Workspace`. It decides which ETRecord
belongs to which ETDump by their match, in any order of opening. An explicit choice takes
precedence. Without a decision, the trace stays unlinked and says why.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction

from viewer.analysis.links.delegate_clocks import (
    clock_names,
    clocks_text,
    timed_clocks,
    with_backends,
    with_clock_rates,
)
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link, unlinked
from viewer.analysis.links.match import TraceMatch
from viewer.analysis.links.mlir_locations import located, same_identities, states_locations
from viewer.analysis.links.pairing import (
    Candidate,
    decided,
    doubts_of_linked,
    identified_by,
    is_aside,
    mismatch,
    rank,
    rivals,
    uncheckable,
    undecided_executables,
    wants_text,
    warnings_of_linked,
    what_ran,
)
from viewer.analysis.sequence.phases import evidence_of, with_phases
from viewer.codecs.file_bytes import FileStamp, stamp_of
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, never_cancelled, no_progress
from viewer.dataclasses import dataclass, replace
from viewer.formats import open_file
from viewer.model.inference_views import with_methods
from viewer.model.recorded_names import may_record_operators
from viewer.model.trace import KeyKind, RunKind, Trace
from viewer.program.executables import Executable
from viewer.program.program import Dispatch, Program
from viewer.program.source_files import SourceFile, Sources, Substitution
from viewer.workspace.clocks import (
    DEBUG_INFO,
    Clocks,
    SameClock,
    check_length,
    recorded_together,
    states_time_of_day,
)
from viewer.workspace.matches import (
    ChosenBy,
    IdentifierColumn,
    Identifiers,
    MatchCache,
    check_column,
    form_of,
    key_kinds,
)
from viewer.workspace.open_paths import (
    OpenFile,
    companion_complaint,
    companions,
    find_path,
    is_text,
    read_companion,
    with_file,
)
from viewer.workspace.user_choices import (
    ChosenLinks,
    SplitTrace,
    UserChoices,
    scope_with,
    sizes_vary,
    split_by,
    with_phase,
)

_OF_RECORDS = {
    KeyKind.OPERATOR_CALL,
    KeyKind.KERNEL,
    KeyKind.DELEGATE_CALL,
    KeyKind.DELEGATE_EVENT,
}
# What the links of a trace depend on, besides the open files.
_LinkedFor = tuple[ChosenLinks, IdentifierColumn]


@dataclass(frozen=True, slots=True)
class _Linked:
    """The links of a trace, and what they were made for.

    without_rates: the same links before the rates of delegates' clocks were applied.
    """

    made_for: _LinkedFor
    without_rates: LinkTable
    rates: Mapping[str, Fraction]
    table: LinkTable


class Workspace:
    """The open files and everything that results from their combination.

    traces: the profiles as displayed; an identifier column may replace the identities in their
    files, and inferences whose methods were chosen have scopes of their own. programs: the sources
    of models. executables: the program files that ran. files: what was read, by path. choices: the
    user's choices. clocks, identifiers: derived from all of these.

    Every attribute is a value that is replaced and never changed, except for caches that can be
    shared. So `copy.copy` gives another workspace of the same files: changing one does not affect
    the other, and the two may be used on different threads.
    """

    def __init__(self, choices: UserChoices | None = None) -> None:

        self.choices = choices or UserChoices()
        self.traces: Sequence[Trace] = []
        self.programs: Sequence[Program] = []
        self.executables: Sequence[Executable] = []
        self._read: Mapping[str, Trace] = {}  # path -> the trace as it was read
        # path -> the trace as read, and with its active column.
        self._identified: Mapping[str, tuple[Trace, Trace]] = {}
        self._split: Mapping[str, SplitTrace] = {}  # path -> its trace, split by inference
        self._links: Mapping[Trace, _Linked] = {}
        self.files: Mapping[str, OpenFile] = {}
        self._matches = MatchCache()
        self.identifiers = Identifiers({}, (), self._matches)
        self.clocks = Clocks()
        self._sources = Sources((), (), self.choices.source_paths)

    # -- files -------------------------------------------------------------------------------

    def open(
        self, path: str, progress: Progress = no_progress, cancelled: Cancelled = never_cancelled
    ) -> Trace | Program | Executable:
        """Read a file and add it. Raises UnreadableFile or ReadCancelled; then nothing changes."""
        item = open_file(path, progress, cancelled)
        self.add(item)
        return self.files[path].item

    def add(
        self,
        item: Trace | Program | Executable,
        *,
        found_for: str | None = None,
        stamp: FileStamp | None = None,
    ) -> None:
        """Add what was read; the same path replaces the previous contents.

        found_for, stamp: see `OpenFile`; without a stamp, that of the file on disk now.
        """
        from viewer.recording.run_file import clocked

        item, system_trace = clocked(item) if isinstance(item, Trace) else (item, None)
        opened = OpenFile(item, found_for, stamp or stamp_of(item.path), system_trace)
        self.files = {**self.files, item.path: opened}
        # A file that changed its kind is no longer among those of its former kind.
        if isinstance(item, Trace):
            self._read = {**self._read, item.path: item}
        else:
            self._read = {path: t for path, t in self._read.items() if path != item.path}
        program = item if isinstance(item, Program) else None
        executable = item if isinstance(item, Executable) else None
        self.programs = with_file(self.programs, item.path, program)
        self.executables = with_file(self.executables, item.path, executable)
        self._links = {}
        self._show()
        self._sources = Sources(self.programs, self.paths, self.choices.source_paths)

    def _show(self) -> None:
        """Update `traces` to what was read and chosen; unchanged ones keep their identity."""
        self.identifiers = Identifiers.decided(
            self._read, self.programs, self._matches, self.choices
        )
        self._identified = {
            path: (read, self._by_column(read))
            for path, read in self._read.items()
            if self.identifiers.column(read).column is not None
        }
        self._split = {
            path: split
            for path, read in self._read.items()
            if (split := split_by(self._own(read), self.choices, self._split.get(path)))
        }
        before = {trace.path: trace for trace in self.traces}
        self.traces = [self._kept(read, before.get(read.path)) for read in self._read.values()]
        self._links = {t: self._links[t] for t in self.traces if t in self._links}
        self.clocks = self._clocks()

    def _clocks(self) -> Clocks:
        choices = self.choices
        statements = (*recorded_together(self.traces, self.files), *choices.same_clocks)
        return Clocks(self.traces, self.programs, choices.clocks, statements)

    def _kept(self, read: Trace, before: Trace | None) -> Trace:
        """Return a trace as displayed now: the same object if nothing about it has changed."""
        trace = self._shown(read)
        if (
            before is not None
            and before.slices is trace.slices
            and before.runs == trace.runs
            and same_identities(before.keys, trace.keys)
        ):
            return before
        return trace

    def _shown(self, read: Trace) -> Trace:
        """Return a trace as displayed, with the identities that other open files provide."""
        split = self._split.get(read.path)
        own = self._own(read) if split is None else split.trace
        trace = located(own, self.dispatches, in_text=self._lowered is not None)
        trace = self._with_methods(trace)
        return with_phases(
            trace,
            lambda scope: self._has_dynamic_sizes(trace, scope),
            self.choices.phases.get(read.path, {}),
        )

    def _with_methods(self, trace: Trace) -> Trace:
        """Return a trace whose inferences are series of one method as far as that is known."""
        if sum(run.kind is RunKind.LOAD for run in trace.runs) < 2:
            return trace  # all runs are of the only method that was loaded
        program, ran = self._choose(trace), self.what_ran(trace)
        scopes = range(len(trace.scopes))
        if program is not None:
            trace_match = self._fit(trace, program)
            decided = [s for s in scopes if trace.scopes[s].method or trace_match.methods[s]]
            return with_methods(trace, decided, [s for s in scopes if trace_match.undecided[s]])
        names = (ran and self._matches.methods_that_ran(trace, ran)) or [()] * len(trace.scopes)
        decided = [s for s in scopes if len(names[s]) == 1]
        return with_methods(trace, decided, [s for s in scopes if len(names[s]) > 1])

    def _has_dynamic_sizes(self, trace: Trace, scope: int) -> bool | None:
        """Return whether input sizes of a scope's method can vary, None if no file shows it."""
        program, ran = self._choose(trace), self.what_ran(trace)
        names = (ran and self._matches.methods_that_ran(trace, ran)) or {scope: ()}
        may_have_run = (
            [
                executable_method
                for executable_method in ran.methods
                if executable_method.name in names[scope]
            ]
            if ran
            else []
        )
        name = None if program is None else self._fit(trace, program).methods[scope]
        method = program.method(name) if program is not None and name else None
        return sizes_vary(may_have_run, method)

    def phase_evidence(self, trace: Trace) -> list[str]:
        """Return why inferences of a trace have phases; empty if it has none, or chosen ones."""
        if trace.path in self.choices.phases or not any(run.phase for run in trace.runs):
            return []
        return evidence_of(trace, lambda scope: self._has_dynamic_sizes(trace, scope))

    def set_phase(
        self, trace_path: str, scope: str, phase: str, numbers: Collection[int] = ()
    ) -> None:
        """Choose the phase of inferences in a scope: of some, or of all; "" puts them in none.

        Raises ValueError for a trace without such inferences.
        """
        self.choose(with_phase(self.choices, self.open_trace(trace_path), scope, phase, numbers))

    def _own(self, read: Trace) -> Trace:
        """Return a trace with the identities of its file, or of its active column."""
        return self._identified.get(read.path, (read, read))[1]

    def _by_column(self, read: Trace) -> Trace:
        column = self.identifiers.column(read).column
        known = self._identified.get(read.path)
        if known is not None and known[0] is read and known[1].identifier_column == column:
            return known[1]
        return read if column is None else identified_by(read, column)

    @property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """All Torq debug info that is open."""
        return tuple(dispatch for program in self.programs for dispatch in program.dispatches)

    @property
    def _lowered(self) -> Program | None:
        """The debug info whose own operations are linked: only if it is the only MLIR text open."""
        texts = [program for program in self.programs if program.is_mlir]
        return texts[0] if len(texts) == 1 and texts[0].dispatches else None

    def open_companions(self) -> list[str]:
        """Open the texts next to traces and debug info that their locations name.

        Returns a message for each that cannot be read. Does nothing if the user opened any text.
        """
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
        """Return the local paths of the texts that the locations of a trace or debug info name.

        Without those that are open or whose paths are in `asked`; empty for a trace whose program
        was chosen.
        """
        if isinstance(item, Trace) and self.is_explicit(item):
            return []
        return companions(item, (*self.paths, *asked), self.choices.source_paths)

    @property
    def paths(self) -> list[str]:
        """The open files: traces, programs, executables."""
        programs = [program.path for program in self.programs]
        return [t.path for t in self.traces] + programs + [e.path for e in self.executables]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show: no profile, operator or executable."""
        return not (self.traces or self.executables or any(p.methods for p in self.programs))

    def stamp(self, path: str) -> FileStamp | None:
        """Return an open file's stamp when it was read, None if it was not a regular file."""
        return self.files[path].stamp if path in self.files else None

    # -- choices -----------------------------------------------------------------------------

    def choose(self, choices: UserChoices) -> None:
        """Replace the choices; only what depends on them changes."""

        before, self.choices = self.choices, choices
        if _shown_for(before) != _shown_for(choices):
            self._show()
        self.clocks = self._clocks()
        # Setting the same path again searches again: the files may exist by now.
        if before.source_paths is not choices.source_paths:
            self._sources = Sources(self.programs, self.paths, choices.source_paths)

    def pair(self, trace_path: str, program_path: str | None) -> None:
        """Link a trace to a program regardless of the match, or to none.

        Raises ValueError if either is not open.
        """
        trace = self.open_trace(trace_path)
        program = None
        if program_path is not None:
            program = find_path((p.path for p in self.programs), program_path)
            if program is None:
                raise ValueError(f"{program_path} is not an open ETRecord or source")
        self.choose(self.choices.with_pair(trace.path, program))

    def match_automatically(self, trace_path: str) -> None:
        """Drop the choices for a trace: its program, its methods, its column."""
        trace = self.open_trace(trace_path)
        self.choose(self.choices.without_links(trace.path, form_of(trace)))

    def choose_method(
        self, trace_path: str, scope: str, method: str, numbers: Collection[int] = ()
    ) -> None:
        """Choose the method of all runs in a scope, or of some; the trace's links are updated.

        numbers: the `Run.number`s of some inferences; the others stay as they are. Raises
        ValueError for a trace without them, or a program without that method.
        """
        trace = self.open_trace(trace_path)
        scope_number = scope_with(trace, scope, numbers, trace_path)
        program = self.links(trace).program
        if program is None or program.is_recorded:
            raise ValueError(f"{trace_path} is not linked to an ETRecord")
        if program.method(method) is None:
            known = ", ".join(m.name for m in program.methods)
            raise ValueError(f"{program.path} has no method {method!r}; it has {known}")
        chosen = trace.path, program.path, scope_number
        if numbers:
            self.choose(self.choices.with_inference_methods(*chosen, numbers, method))
        else:
            self.choose(self.choices.with_method(*chosen, method))

    def identify(self, trace_path: str, column: str | None, *, remember: bool = False) -> None:
        """Use a column's values as a trace's delegate identifiers; None: the file's own identities.

        remember: also for other profiles of this form, if an ETRecord has their values. Raises
        ValueError for a trace without that column, or whose file has identities of its own.
        """
        trace = self.open_trace(trace_path)
        check_column(trace, column, trace_path)
        choices = self.choices.with_column(trace.path, column)
        if remember:
            choices = choices.with_remembered({form_of(trace): column or ""})
        self.choose(choices)

    def set_clock(self, trace_path: str, ns_per_tick: Fraction | None) -> None:
        """Choose the length of a trace's tick; None: as stated in the file or assumed.

        With DEBUG_INFO as the path, the length of a cycle in debug info. No column changes. Raises
        ValueError for a trace that is not open or states its rate, for an invalid rate, and if
        there are no such cycles.
        """
        if trace_path == DEBUG_INFO:
            self.clocks.check_cycle_rate(ns_per_tick)
            self.choose(self.choices.with_clock(DEBUG_INFO, ns_per_tick))
            return
        trace = self.open_trace(trace_path)
        if ns_per_tick is not None:
            self.clocks.check_rate(trace, ns_per_tick, trace_path)
        self.choose(self.choices.with_clock(trace.path, ns_per_tick))

    def share_clock(self, trace_paths: Sequence[str], *, by_date: bool = False) -> None:
        """Put traces on one axis, because the user states that they share a clock.

        by_date: by the time of day that each of them states. Raises ValueError if one is not open
        or named twice, if they have no clock in common, and if they are elsewhere on one axis.
        """
        paths = tuple(self.open_trace(path).path for path in trace_paths)
        twice = next((path for path in paths if paths.count(path) > 1), None)
        if twice is not None:
            raise ValueError(f"{os.path.basename(twice)} is named twice")
        if len(paths) < 2:
            raise ValueError("name at least two profiles")
        statement = SameClock(paths, by_date)
        if self.clocks.joined(statement):
            self.choose(self.choices.with_same_clock(statement))

    def share_stated_clock(self) -> None:
        """Put all traces on one axis that state the time of day. Raises ValueError without two."""
        dated = [trace.path for trace in self.traces if states_time_of_day(trace)]
        if len(dated) < 2:
            count = "only one open profile states" if dated else "no open profile states"
            raise ValueError(f"{count} the time of day")
        self.share_clock(dated, by_date=True)

    def separate_clock(self, trace_path: str) -> None:
        """Drop the statements that put a trace, and those on its axis, on one axis."""
        trace = self.open_trace(trace_path)
        self.choose(
            self.choices.without_same_clock([t.path for t in self.clocks.same_clock(trace)])
        )

    def set_delegate_clock(self, trace_path: str, name: str, ns_per_tick: Fraction | None) -> None:
        """State the length of a cycle or tick of a delegate's clock in a trace; None: unknown.

        name: as in `clock_names`. Raises ValueError for a trace that is not open or has no such
        clock, and for an invalid rate.
        """
        trace = self.open_trace(trace_path)
        names, timed = clock_names(self.links(trace)), timed_clocks(self.links(trace))
        if name in timed and name not in names:
            raise ValueError(f"{trace_path}: {name} counts {timed[name]} and needs no rate")
        if name not in names:
            there_are = clocks_text(names, timed, "it has", "it has none")
            raise ValueError(f"{trace_path} has no delegate clock {name!r}; {there_are}")
        if ns_per_tick is not None:
            check_length(ns_per_tick)
        self.choose(self.choices.with_delegate_clock(trace.path, name, ns_per_tick))

    def substitute(self, substitution: Substitution) -> None:
        """Map a recorded source path prefix to a local one; it replaces one of the same prefix."""
        self.choose(self.choices.with_source_path(substitution))

    def withdraw(self, substitution: Substitution) -> None:
        """Remove a substitution."""
        self.choose(self.choices.without_source_path(substitution))

    # -- pairing -----------------------------------------------------------------------------

    def open_trace(self, path: str) -> Trace:
        """Return the open trace of a path or file name.

        Raises ValueError if there is none, or if several have that name.
        """
        found = find_path((t.path for t in self.traces), path)
        if found is None:
            raise ValueError(f"{path} is not an open profile")
        return next(t for t in self.traces if t.path == found)

    def candidates(self, trace: Trace) -> list[Candidate]:
        """Return the open programs of the kind that the trace needs, best match first."""
        # Uses key counts, because every selection calls it and a trace may have one key per slice.
        kinds = key_kinds(trace)
        has_places = KeyKind.LOCATION in kinds
        if trace.identifier_column:
            has_places = KeyKind.LOCATION in key_kinds(self._read.get(trace.path, trace))
        programs = [
            p
            for p in self.programs
            if p.methods
            and (
                has_places and (not p.dispatches or self._is_located_in(trace, p))
                if p.text_lines
                else bool(kinds & _OF_RECORDS) or bool(self.identifiers.of_record(trace, p))
            )
        ]
        candidates = [Candidate(p, self._fit(trace, p)) for p in programs]
        text = wants_text(trace)
        return sorted(candidates, key=lambda c: rank(c, text))

    def _is_located_in(self, trace: Trace, program: Program) -> bool:
        """Return whether a trace has its locations only from this debug info, as places in it."""
        read = self._read.get(trace.path, trace)
        return program is self._lowered and trace is not read and not states_locations(read)

    def is_explicit(self, trace: Trace) -> bool:
        """Return whether the user chose the trace's program (or none), a method or a column."""
        return (
            self._choice(trace) is not None
            or any(t == trace.path for t, _ in self.choices.methods)
            or trace.path in self._split
            or self.identifiers.column(trace).by in (ChosenBy.USER, ChosenBy.MEMORY)
        )

    def _choice(self, trace: Trace) -> tuple[Program | None] | None:
        """Return the chosen program (or none) in a tuple; None without a choice that is open."""
        if trace.path not in self.choices.pairs:
            return None
        path = self.choices.pairs[trace.path]
        program = next((p for p in self.programs if p.path == path), None)
        return None if program is None and path is not None else (program,)

    def links(self, trace: Trace) -> LinkTable:
        """Return the links of a trace to the program that belongs to it, or to none."""

        rates = self.choices.rates_of_delegates(trace.path)
        made_for = self.choices.chosen_links(trace.path), self.identifiers.column(trace)
        known = self._links.get(trace)
        if known is None or known.made_for != made_for:
            table = self._matches.with_ran(self._link(trace), self.what_ran(trace))
            table = with_backends(table)
        elif known.rates != rates:
            table = known.without_rates
        else:
            return known.table
        rated = with_clock_rates(table, rates)
        self._links = {**self._links, trace: _Linked(made_for, table, rates, rated)}
        return rated

    def warnings(self, trace: Trace) -> list[str]:
        """Return the warnings about the trace's pairing, as sentences."""
        table = self.links(trace)
        if table.program is None or table.trace_match is None:
            why = self._why_unlinked(trace)
            return [why] if why else []
        several = undecided_executables(trace, self._may_have_run(trace))
        return [*warnings_of_linked(table, self.identifiers.proposal(trace)), *several]

    def doubts(self, trace: Trace) -> list[str]:
        """Return the warnings that say why the program of a linked trace may be wrong."""
        table = self.links(trace)
        if table.program is None or table.trace_match is None:
            return []
        return doubts_of_linked(table, self.identifiers.proposal(trace))

    def _fit(self, trace: Trace, program: Program) -> TraceMatch:
        pair = trace.path, program.path
        chosen, split = self.choices.methods.get(pair, {}), self._split.get(trace.path)
        if split is not None:
            chosen = split.methods(chosen, self.choices.inference_methods.get(pair, {}))
        return self._matches.match_trace(trace, program, chosen, self.what_ran(trace))

    def what_ran(self, trace: Trace) -> Executable | None:
        """Return the open program file that ran in a trace; None if none did, or several may."""
        return what_ran(trace, self._may_have_run(trace))

    def _may_have_run(self, trace: Trace) -> list[Executable]:
        return [e for e in self.executables if self._matches.methods_that_ran(trace, e)]

    def _link(self, trace: Trace) -> LinkTable:
        program = self._choose(trace)
        if program is not None:
            table = link(
                trace,
                program,
                self._fit(trace, program),
                self.dispatches,
                insisted=self._choice(trace) is not None,
                executable=self.what_ran(trace),
            )
            return replace(table, rejected=self.rejected(program))
        link_table = None
        if any(program.is_of_layers for program in self.programs):
            from viewer.analysis.profiled_program.runtime_nodes import described_layers

            link_table = described_layers(trace, self.programs)
        if link_table is None and may_record_operators(trace.format):
            from viewer.analysis.profiled_program.program import recorded_links

            link_table = recorded_links(trace)
        return link_table or unlinked(trace, self._why_unlinked(trace), self.dispatches)

    def rejected(self, program: Program) -> dict[int, str]:
        """Return what open logs of partitioners say of the operators of a program."""
        from viewer.analysis.delegates.why_outside import logged_reasons

        return logged_reasons(program, [one for log in self.programs for one in log.rejections])

    def _choose(self, trace: Trace) -> Program | None:
        choice = self._choice(trace)
        if choice is not None:
            return choice[0]
        rated = self.candidates(trace)
        if not rated or not rated[0].trace_match.match.belongs:
            return None
        return decided(trace, rated)

    def _why_unlinked(self, trace: Trace) -> str:
        rated = self.candidates(trace)
        if not rated or self._choice(trace) == (None,):
            return ""
        name = os.path.basename(trace.path)
        best = rated[0]
        match = best.trace_match.match
        if not best.trace_match.match.belongs and self.identifiers.of_any_record(trace):
            proposal = self.identifiers.proposal(trace)
            if proposal or is_aside(best.program, wants_text(trace)):
                return proposal
        if not best.trace_match.match.checkable:
            return f"{uncheckable(trace, best.program, match)} They are not linked."
        if not best.trace_match.match.belongs:
            types = best.trace_match.types
            return f"{mismatch(trace, best.program, match, types)} They are not linked."
        names = " and ".join(os.path.basename(c.program.path) for c in rivals(trace, rated))
        return f"{names} match {name} about equally well. Choose one."

    # -- sources -----------------------------------------------------------------------------

    def source(self, recorded_path: str) -> SourceFile | None:
        """Return the source of a recorded path: opened, at that path, or next to open files."""
        return self._sources.source(recorded_path)


def _shown_for(choices: UserChoices) -> tuple[object, ...]:
    """Return the choices that the traces depend on, besides the open files."""
    return (
        choices.columns,
        choices.remembered,
        choices.inference_methods,
        choices.methods,
        choices.pairs,
        choices.phases,
    )
