"""Which column of a profile has its identifiers: as chosen, remembered, or by evidence. No Qt.

Some profiles state no identities of a record's; one of their columns may have them all the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from viewer.analysis.links.identifier_columns import (
    ColumnMatch,
    column_names,
    said,
    sure_column,
    takes_column,
)
from viewer.model.trace import KeyKind, Trace
from viewer.program.program import Program
from viewer.workspace.match_cache import MatchCache
from viewer.workspace.user_choices import UserChoices


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


@dataclass(frozen=True, slots=True, eq=False)
class Identifiers:
    """The columns of identifiers of what is open at one moment; nothing in it changes.

    read: path -> the trace as its file has it. in_force: the same -> its column.
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
        """The columns that follow from what is open and from what the user chose."""
        found = cls(read, programs, matches)
        in_force = {path: found._decide(trace, choices) for path, trace in read.items()}
        return cls(read, programs, matches, in_force)

    def column(self, trace: Trace) -> IdentifierColumn:
        """The column whose values are a trace's identifiers, and who said so."""
        return self.in_force.get(trace.path, IdentifierColumn())

    def candidates(
        self, trace: Trace, linked: Program | None
    ) -> Sequence[tuple[Program, ColumnMatch]]:
        """The columns that have identifiers of an open record, best first, each once.

        Those of the linked record, where one is linked; else each with the record it fits best.
        """
        own = self.of_record(trace, linked) if linked is not None else []
        if linked is not None and own:
            return [(linked, match) for match in own]
        best: dict[str, tuple[Program, ColumnMatch]] = {}
        for program, match in self.of_any_record(trace):
            best.setdefault(match.column, (program, match))
        return list(best.values())

    def of_any_record(self, trace: Trace) -> list[tuple[Program, ColumnMatch]]:
        """The columns that have identifiers of any open record, best first."""
        found = [(p, match) for p in self.programs for match in self.of_record(trace, p)]
        return sorted(found, key=lambda one: one[1].rank)

    def of_record(self, trace: Trace, program: Program) -> Sequence[ColumnMatch]:
        """How the columns of a trace match a record; none of a text."""
        read = self.read.get(trace.path)
        return [] if read is None or program.text_lines else self.matches.columns(read, program)

    def proposal(self, trace: Trace) -> str:
        """What to say of a trace that a column could link, while none is in force or refused."""
        if self.column(trace).by is not ChosenBy.NOBODY:
            return ""
        found = self.of_any_record(trace)
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

    def _decide(self, read: Trace, choices: UserChoices) -> IdentifierColumn:
        """The column in force: as chosen, as remembered, or where nothing else can be meant."""
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
        """Whether an open MLIR text has the locations of a trace: they say what its slices are."""
        texts = [p for p in self.programs if p.is_mlir]
        if not texts or KeyKind.LOCATION not in key_kinds(read):
            return False
        fits = (
            self.matches.fit(read, p, choices.methods.get((read.path, p.path), {})) for p in texts
        )
        return any(fit.agreement.belongs for fit in fits)


def check_column(trace: Trace, column: str | None, name: str) -> None:
    """Raise ValueError for a trace without that column, or one that states identities itself.

    name: what the error calls the trace.
    """
    if not takes_column(trace):
        raise ValueError(f"the slices of {name} have identities of their own")
    if column is not None and column not in column_names(trace):
        raise ValueError(
            f"{name} has no column {column!r} of texts or whole numbers; it has "
            f"{said(column_names(trace))}"
        )


def form_of(trace: Trace) -> str:
    """The form of a profile, for a choice that holds for all of it: its format and its columns."""
    columns = "\n".join(sorted(column_names(trace)))
    digest = hashlib.sha256(columns.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{trace.format}:{digest[:16]}"


def key_kinds(trace: Trace) -> set[KeyKind]:
    """The kinds of a trace's keys; counted, as it is asked with every selection."""
    return {KeyKind(k) for k in np.flatnonzero(np.bincount(trace.keys.kind)).tolist()}
