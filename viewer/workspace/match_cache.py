"""How traces and programs match, worked out once for each pair and forgotten with them. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from viewer.analysis.links.identifier_columns import ColumnMatch, identifier_columns
from viewer.analysis.links.logged_identities import Signature, signatures
from viewer.analysis.links.match import TraceMatch, fit
from viewer.model.trace import Trace
from viewer.program.program import Program

_Fit = tuple[Mapping[int, str], TraceMatch]  # the methods that were chosen, and the match with them


class MatchCache:
    """What follows from a trace and a program alone, whatever else is open.

    So copies of a workspace share one cache, on several threads too: at worst both work the same
    out. It keeps neither traces nor programs alive.
    """

    def __init__(self) -> None:
        self._signatures: WeakKeyDictionary[Trace, list[Signature]] = WeakKeyDictionary()
        self._fits: WeakKeyDictionary[Trace, WeakKeyDictionary[Program, _Fit]] = WeakKeyDictionary()
        self._columns: WeakKeyDictionary[
            Trace, WeakKeyDictionary[Program, Sequence[ColumnMatch]]
        ] = WeakKeyDictionary()

    def fit(self, trace: Trace, program: Program, methods: Mapping[int, str]) -> TraceMatch:
        """How a program fits a trace, for whose scopes these methods were chosen."""
        fits = self._fits.setdefault(trace, WeakKeyDictionary())
        known = fits.get(program)
        if known is None or known[0] != methods:
            logged = self._signatures.get(trace)
            if logged is None:
                logged = self._signatures[trace] = signatures(trace)
            known = fits[program] = (methods, fit(trace, program, methods, logged))
        return known[1]

    def columns(self, read: Trace, program: Program) -> Sequence[ColumnMatch]:
        """How the columns of a trace match a record; `read` is as its file has it."""
        columns = self._columns.setdefault(read, WeakKeyDictionary())
        known = columns.get(program)
        if known is None:
            known = columns[program] = identifier_columns(read, program)
        return known
