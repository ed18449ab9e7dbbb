"""How traces and programs match, once per pair, and by which column of identifiers. No Qt.

Some profiles contain no ExecuTorch identities, but one of their columns may still have them: it is
chosen by the user, remembered, or found by evidence.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import Enum
from weakref import WeakKeyDictionary

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.logged_identities import Signature, signatures
from viewer.analysis.links.match import TraceMatch, match_trace
from viewer.analysis.links.pairing import (
    ColumnMatch,
    column_names,
    identifier_columns,
    said,
    sure_column,
    takes_column,
)
from viewer.dataclasses import dataclass, field, replace
from viewer.model.trace import KeyKind, Trace
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.workspace.user_choices import UserChoices

# The chosen methods and the program file that ran, and the match with them.
_Match = tuple[Mapping[int, str], Executable | None, TraceMatch]
_Ran = Sequence[tuple[str, ...]] | None


class MatchCache:
    """Results that depend only on a trace and a program, whatever else is open.

    So copies of a workspace share one cache, even on several threads: at worst both compute the
    same result. It keeps neither traces nor programs alive; a program file lives until the next
    match of the pair that it decided.
    """

    def __init__(self) -> None:
        self._signatures: WeakKeyDictionary[Trace, list[Signature]] = WeakKeyDictionary()
        self._fits: WeakKeyDictionary[Trace, WeakKeyDictionary[Program, _Match]] = (
            WeakKeyDictionary()
        )
        self._ran: WeakKeyDictionary[Trace, WeakKeyDictionary[Executable, _Ran]] = (
            WeakKeyDictionary()
        )
        self._columns: WeakKeyDictionary[
            Trace, WeakKeyDictionary[Program, Sequence[ColumnMatch]]
        ] = WeakKeyDictionary()

    def match_trace(
        self,
        trace: Trace,
        program: Program,
        methods: Mapping[int, str],
        executable: Executable | None = None,
    ) -> TraceMatch:
        """Return the match of a program and a trace, given the methods chosen for its scopes.

        executable: the program file that ran, which decides the match.
        """
        from viewer.analysis.links.executable_match import decided_by

        fits = self._fits.setdefault(trace, WeakKeyDictionary())
        fit = fits.get(program)
        if fit is None or fit[:2] != (methods, executable):
            trace_match = match_trace(trace, program, methods, self._logged(trace))
            ran = None if executable is None else self.methods_that_ran(trace, executable)
            if executable is not None and ran is not None and not program.delegates_only:
                logged = self._logged(trace)
                trace_match = decided_by(
                    trace, executable, ran, trace_match, program, methods, logged
                )
            fit = fits[program] = (methods, executable, trace_match)
        return fit[2]

    def methods_that_ran(self, trace: Trace, executable: Executable) -> _Ran:
        """Return per scope the methods of a program file that may have run; None if none did."""
        from viewer.analysis.links.executable_match import methods_that_ran

        ran = self._ran.setdefault(trace, WeakKeyDictionary())
        if executable not in ran:
            ran[executable] = methods_that_ran(trace, executable, self._logged(trace))
        return ran[executable]

    def with_ran(self, table: LinkTable, executable: Executable | None) -> LinkTable:
        """Return links that state which method of a program file each scope ran."""
        names = executable and self.methods_that_ran(table.trace, executable)
        if executable is None or not names:
            return table
        from viewer.analysis.links.executable_match import methods_of_scopes

        return replace(table, ran=methods_of_scopes(table, executable, names))

    def _logged(self, trace: Trace) -> list[Signature]:
        logged = self._signatures.get(trace)
        if logged is None:
            logged = self._signatures[trace] = signatures(trace)
        return logged

    def columns(self, read: Trace, program: Program) -> Sequence[ColumnMatch]:
        """Return how the columns of a trace match an ETRecord; `read` is the trace as read."""
        columns = self._columns.setdefault(read, WeakKeyDictionary())
        matches = columns.get(program)
        if matches is None:
            matches = columns[program] = identifier_columns(read, program)
        return matches


class ChosenBy(Enum):
    """Who selected the column with a profile's identifiers."""

    NOBODY = "nobody"
    EVIDENCE = "evidence"  # unambiguous, given the maps of the ETRecords
    MEMORY = "memory"  # the user, for an earlier profile with the same columns
    USER = "user"


@dataclass(frozen=True, slots=True)
class IdentifierColumn:
    """The active column of a trace, None to use the file's own identities; and who selected it."""

    column: str | None = None
    by: ChosenBy = ChosenBy.NOBODY


@dataclass(frozen=True, slots=True, eq=False)
class Identifiers:
    """The identifier columns of the files open at one moment; immutable.

    read: path -> the trace as read. in_force: path -> its active column.
    """

    read: Mapping[str, Trace]
    programs: Sequence[Program]
    matches: MatchCache
    in_force: Mapping[str, IdentifierColumn] = field(default_factory=dict)

    @classmethod
    def decided(
        cls,
        read: Mapping[str, Trace],
        programs: Sequence[Program],
        matches: MatchCache,
        choices: UserChoices,
    ) -> Identifiers:
        """Return the columns that result from the open files and the user's choices."""
        identifiers = cls(read, programs, matches)
        in_force = {path: identifiers._decide(trace, choices) for path, trace in read.items()}
        return cls(read, programs, matches, in_force)

    def column(self, trace: Trace) -> IdentifierColumn:
        """Return the active identifier column of a trace, and who selected it."""
        return self.in_force.get(trace.path, IdentifierColumn())

    def candidates(
        self, trace: Trace, linked: Program | None
    ) -> Sequence[tuple[Program, ColumnMatch]]:
        """Return the columns with identifiers of an open ETRecord, best first, without duplicates.

        If an ETRecord is linked and has any, its columns; else each column with its best ETRecord.
        """
        matches = self.of_record(trace, linked) if linked is not None else []
        if linked is not None and matches:
            return [(linked, match) for match in matches]
        best: dict[str, tuple[Program, ColumnMatch]] = {}
        for program, match in self.of_any_record(trace):
            best.setdefault(match.column, (program, match))
        return list(best.values())

    def of_any_record(self, trace: Trace) -> list[tuple[Program, ColumnMatch]]:
        """Return the columns with identifiers of any open ETRecord, best first."""
        matches = [(p, match) for p in self.programs for match in self.of_record(trace, p)]
        return sorted(matches, key=lambda pair: pair[1].rank)

    def of_record(self, trace: Trace, program: Program) -> Sequence[ColumnMatch]:
        """Return how the columns of a trace match an ETRecord; empty for an MLIR text."""
        read = self.read.get(trace.path)
        return [] if read is None or program.text_lines else self.matches.columns(read, program)

    def proposal(self, trace: Trace) -> str:
        """Return a hint that a column could link a trace, if none is active or refused; else ""."""
        if self.column(trace).by is not ChosenBy.NOBODY:
            return ""
        matches = self.of_any_record(trace)
        if not matches or not matches[0][1].is_likely:
            return ""
        program, match = matches[0]
        chance = "" if match.words else " Numbers can match by chance, so they were not linked."
        return (
            f"{match.known} of the {match.values} values in column {match.column} of "
            f"{os.path.basename(trace.path)} are identifiers in {os.path.basename(program.path)}."
            f"{chance} Choose the column in Links (--identifier-column {match.column}) if they "
            "mean the same."
        )

    def _decide(self, read: Trace, choices: UserChoices) -> IdentifierColumn:
        """Return the active column: chosen, remembered, or unambiguous."""
        if not takes_column(read):
            return IdentifierColumn()
        names = {None, *column_names(read)}
        if read.path in choices.columns and choices.columns[read.path] in names:
            return IdentifierColumn(choices.columns[read.path], ChosenBy.USER)
        matches = [match for _, match in self.of_any_record(read)]
        remembered = choices.remembered.get(form_of(read))
        if remembered == "" and matches:
            return IdentifierColumn(None, ChosenBy.MEMORY)
        if any(match.column == remembered for match in matches):
            return IdentifierColumn(remembered, ChosenBy.MEMORY)
        column = sure_column(read, matches)
        if column is None or self._has_text(read, choices):
            return IdentifierColumn()
        return IdentifierColumn(column, ChosenBy.EVIDENCE)

    def _has_text(self, read: Trace, choices: UserChoices) -> bool:
        """Return whether an open MLIR text matches a trace's locations, its identities then."""
        texts = [p for p in self.programs if p.is_mlir]
        if not texts or KeyKind.LOCATION not in key_kinds(read):
            return False
        fits = (
            self.matches.match_trace(read, p, choices.methods.get((read.path, p.path), {}))
            for p in texts
        )
        return any(trace_match.match.belongs for trace_match in fits)


def check_column(trace: Trace, column: str | None, name: str) -> None:
    """Raise ValueError for a trace without that column, or with identities of its own.

    name: the name of the trace in the error.
    """
    if not takes_column(trace):
        raise ValueError(f"the slices of {name} already have operator IDs")
    if column is not None and column not in column_names(trace):
        raise ValueError(
            f"{name} has no column {column!r} of texts or whole numbers; it has "
            f"{said(column_names(trace))}"
        )


def form_of(trace: Trace) -> str:
    """Return the form of a profile, its format and columns, for remembered choices."""
    import hashlib  # 6 ms, which most commands do without

    columns = "\n".join(sorted(column_names(trace)))
    digest = hashlib.sha256(columns.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{trace.format}:{digest[:16]}"


def key_kinds(trace: Trace) -> set[KeyKind]:
    """Return the kinds of a trace's keys.

    Every selection calls it: of a million keys, a comparison per kind takes 0.5 ms in all, and
    bincount 5 ms.
    """
    return {kind for kind in KeyKind if (trace.keys.kind == kind).any()}
