"""Which columns of a table are what, as a user states it, and the question that asks for it.

The text form is that of the option `--columns`: "start=Start (ns),dur=Duration,unit=us". A name
that contains a comma or a quote is in double quotes, as in a CSV. A column that is stated as "" is
none. The columns of a thread's file are in a context variable, so that readers keep their
signatures.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats.table.time_texts import UNITS, parse_unit

if TYPE_CHECKING:
    from viewer.formats.table.layout import Layout

# What a column can be, in the order that it is asked.
# phase: whether a row is a begin, an end or a mark.
ROLES = ("name", "start", "dur", "end", "phase", "process", "thread", "identifier")
# A column of values is a counter, and can be stated several times; ALL_VALUES: all that are left.
VALUE, ALL_VALUES = "value", "*"
UNIT, DECIMAL = "unit", "decimal"
EVERYTHING = (*ROLES, VALUE, UNIT, DECIMAL)
DECIMALS = ("point", "comma")
OPTION = "--columns"
_WAYS = ", ".join(EVERYTHING)


@dataclass(frozen=True, slots=True)
class StatedColumns:
    """The columns that a user stated: (what, the name of the column), each but values once.

    The pairs also have the unit of times without one in their names, and the decimal separator.
    """

    given: tuple[tuple[str, str], ...] = ()

    def get(self, what: str) -> str | None:
        """What is stated for a role, the unit or the decimal separator; None if nothing."""
        return dict(self.given).get(what)

    @property
    def values(self) -> list[str]:
        """The columns that are stated as counters."""
        return [name for what, name in self.given if what == VALUE and name]

    @property
    def names(self) -> set[str]:
        """The names of columns that are stated."""
        return {name for what, name in self.given if what in (*ROLES, VALUE) and name} - {
            ALL_VALUES
        }

    def text(self) -> str:
        """The text form, which `parse_columns` reads."""
        import csv
        import io

        out = io.StringIO()
        cells = [f"{what}={value}" for what, value in self.given]
        csv.writer(out, lineterminator="").writerow(cells)
        return out.getvalue()


NOTHING_STATED = StatedColumns()


def parse_columns(text: str) -> StatedColumns:
    """The columns that a text states. Raises ValueError with what is wrong."""
    import csv  # few files have stated columns

    try:
        cells = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise ValueError(str(error)) from error
    answers: dict[str, str] = {}
    values: list[tuple[str, str]] = []
    for cell in cells:
        what, equals, value = cell.partition("=")
        what, value = what.strip().casefold(), value.strip()
        if not equals or what not in EVERYTHING:
            raise ValueError(f"{cell!r}: write it as WHAT=COLUMN; WHAT is one of {_WAYS}")
        if what == VALUE:
            values.append((what, value))
            continue
        if what in answers:
            raise ValueError(f"{what} is stated twice")
        if what == UNIT and not (value := parse_unit(value)):
            raise ValueError(f"{cell!r}: the unit is one of {', '.join(UNITS)}")
        if what == DECIMAL and value not in DECIMALS:
            raise ValueError(f"{cell!r}: it is one of {', '.join(DECIMALS)}")
        answers[what] = value
    if not answers and not values:
        raise ValueError(f"write it as WHAT=COLUMN,...; WHAT is one of {_WAYS}")
    if answers.get("dur") and answers.get("end") and answers.get("start"):
        raise ValueError("state two of start, dur and end, not all")
    return StatedColumns((*answers.items(), *values))


def is_columns(text: str) -> bool:
    """Whether a text states columns."""
    try:
        parse_columns(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Question:
    """What must be known to read a table.

    layout: of the table. known: the columns that were stated or recognized. missing: what is not
    known: roles, "unit" or "decimal"; "dur" stands for the duration or the end.
    """

    layout: Layout
    known: StatedColumns
    missing: tuple[str, ...]


class ColumnsNeeded(UnreadableFile):
    """A table that can only be read when the user has answered a question."""

    def __init__(
        self, path: str, reason: str, question: Question, *, where: str = "", remedy: str = ""
    ) -> None:
        self.question = question
        super().__init__(path, reason, where=where, remedy=remedy)


_STATED: ContextVar[StatedColumns] = ContextVar("columns", default=NOTHING_STATED)


def stated_columns() -> StatedColumns:
    """The columns that are stated for the file that this thread reads."""
    return _STATED.get()


@contextmanager
def with_columns(stated: StatedColumns) -> Iterator[None]:
    """State the columns of the file that this thread reads inside."""
    token = _STATED.set(stated)
    try:
        yield
    finally:
        _STATED.reset(token)
