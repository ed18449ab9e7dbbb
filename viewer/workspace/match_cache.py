"""Caches how traces and programs match, once per pair and only while both exist. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from viewer.analysis.links.identifier_columns import ColumnMatch
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.logged_identities import Signature, signatures
from viewer.analysis.links.match import TraceMatch, match_trace
from viewer.model.trace import Trace
from viewer.program.executable.executable import Executable
from viewer.program.program import Program

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
        from viewer.analysis.links.executable_runs import methods_that_ran

        ran = self._ran.setdefault(trace, WeakKeyDictionary())
        if executable not in ran:
            ran[executable] = methods_that_ran(trace, executable, self._logged(trace))
        return ran[executable]

    def with_ran(self, table: LinkTable, executable: Executable | None) -> LinkTable:
        """Return links that state which method of a program file each scope ran."""
        names = executable and self.methods_that_ran(table.trace, executable)
        if executable is None or not names:
            return table
        from viewer.analysis.links.executable_runs import methods_of_scopes

        return replace(table, ran=methods_of_scopes(table, executable, names))

    def _logged(self, trace: Trace) -> list[Signature]:
        logged = self._signatures.get(trace)
        if logged is None:
            logged = self._signatures[trace] = signatures(trace)
        return logged

    def columns(self, read: Trace, program: Program) -> Sequence[ColumnMatch]:
        """Return how the columns of a trace match an ETRecord; `read` is the trace as read."""
        from viewer.analysis.links.identifier_columns import identifier_columns

        columns = self._columns.setdefault(read, WeakKeyDictionary())
        matches = columns.get(program)
        if matches is None:
            matches = columns[program] = identifier_columns(read, program)
        return matches
