"""Caches how traces and programs match, once per pair and only while both exist. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from viewer.analysis.links.identifier_columns import ColumnMatch, identifier_columns
from viewer.analysis.links.logged_identities import Signature, signatures
from viewer.analysis.links.match import TraceMatch, match_trace
from viewer.model.trace import Trace
from viewer.program.program import Program

_Match = tuple[Mapping[int, str], TraceMatch]  # the chosen methods, and the match with them


class MatchCache:
    """Results that depend only on a trace and a program, whatever else is open.

    So copies of a workspace share one cache, even on several threads: at worst both compute the
    same result. It keeps neither traces nor programs alive.
    """

    def __init__(self) -> None:
        self._signatures: WeakKeyDictionary[Trace, list[Signature]] = WeakKeyDictionary()
        self._fits: WeakKeyDictionary[Trace, WeakKeyDictionary[Program, _Match]] = (
            WeakKeyDictionary()
        )
        self._columns: WeakKeyDictionary[
            Trace, WeakKeyDictionary[Program, Sequence[ColumnMatch]]
        ] = WeakKeyDictionary()

    def match_trace(self, trace: Trace, program: Program, methods: Mapping[int, str]) -> TraceMatch:
        """Return the match of a program and a trace, given the methods chosen for its scopes."""
        fits = self._fits.setdefault(trace, WeakKeyDictionary())
        known = fits.get(program)
        if known is None or known[0] != methods:
            logged = self._signatures.get(trace)
            if logged is None:
                logged = self._signatures[trace] = signatures(trace)
            known = fits[program] = (methods, match_trace(trace, program, methods, logged))
        return known[1]

    def columns(self, read: Trace, program: Program) -> Sequence[ColumnMatch]:
        """Return how the columns of a trace match an ETRecord; `read` is the trace as read."""
        columns = self._columns.setdefault(read, WeakKeyDictionary())
        known = columns.get(program)
        if known is None:
            known = columns[program] = identifier_columns(read, program)
        return known
