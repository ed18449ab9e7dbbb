"""The logged values of one inference as rows, paired with those of a reference. No Qt.

Only where values are is read here; `measure` reads the values themselves, some rows at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from functools import cached_property

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.numbers.compared import (
    Gap,
    Growth,
    Logged,
    OperatorErrors,
    Pair,
    Side,
    growth_of,
    key_text,
    largest_growth,
    measured_gap,
    paired_arrays,
    paired_outputs,
    paired_runs,
)
from viewer.analysis.numbers.logged_values import LoggedCall, LoggedInference, Value
from viewer.analysis.numbers.tensor_summary import Summary, summary_of
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass, field, replace
from viewer.formats.executorch.logged_profile import (
    LoggedProfile,
    array_values,
    case_of,
    expected_values,
    logged_profile,
)
from viewer.formats.executorch.pte.bundled_outputs import is_bundled, read_bundled_cases
from viewer.formats.npz import NpzFile, is_npz
from viewer.gui.session.feeds.references import Reference, has_values
from viewer.model.text import display_name
from viewer.program.program import Program

_AT_A_TIME = 0.25  # seconds after which figures are shown


@dataclass(frozen=True, slots=True)
class NumbersQuestion:
    """Which values to show. table: of the profile. block: the event block of the inference, None
    for the first one. other: the profile of the reference, if it is one. buffers: debug buffers
    that the user chose.
    """

    table: LinkTable
    block: int | None = None
    reference: Reference | None = None
    other: LinkTable | None = None
    buffers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class NumbersRow:
    """A value, or a reference without one.

    number: among the results of its call, or among the arguments; None if there is only one.
    is_result: whether it is a result, and not an argument of a delegate call. pair: its reference,
    None if it has none.
    """

    call: LoggedCall | None
    number: int | None
    is_result: bool
    value: Value | None
    pair: Pair | None

    @property
    def value_or_reference(self) -> Value | None:
        """Its value; without one, that of the reference."""
        return self.value or (None if self.pair is None else self.pair.reference)

    @property
    def label(self) -> str:
        """The name of its operators, or of what logged it."""
        if self.call is not None:
            return self.call.label
        return "" if self.pair is None else self.pair.label

    @property
    def operators(self) -> tuple[int, ...]:
        """Its operators, as indexes into those of the program of the profile."""
        if self.pair is not None and self.pair.operators:
            return self.pair.operators
        return () if self.call is None else self.call.operators


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a row. fault: why the value cannot be read or compared, "" if it can."""

    summary: Summary | None = None
    gap: Gap | None = None
    fault: str = ""


@dataclass(frozen=True, eq=False)
class LoggedNumbers:
    """The rows of one inference.

    profile: None if the values cannot be read, and `problem` says why. wants_buffer: whether that
    is because its debug buffer is not known. reference: what the values are compared with, "" for
    nothing. reference_problem: why a chosen reference cannot be used. cases: the test cases to
    choose from. unused: names of arrays without a logged value.
    """

    question: NumbersQuestion
    profile: LoggedProfile | None = None
    inference: LoggedInference | None = None
    rows: tuple[NumbersRow, ...] = ()
    problem: str = ""
    wants_buffer: bool = False
    reference: str = ""
    reference_problem: str = ""
    cases: tuple[int, ...] = ()
    unused: tuple[str, ...] = ()

    @property
    def program(self) -> Program | None:
        """The program that the profile is linked to."""
        return self.question.table.program

    @cached_property
    def compared(self) -> tuple[int, ...]:
        """The rows with a reference, in their order."""
        return tuple(
            i
            for i, row in enumerate(self.rows)
            if row.pair is not None and row.value is not None and row.pair.reference is not None
        )

    @cached_property
    def of_operator(self) -> dict[int, tuple[int, ...]]:
        """Operator -> its rows."""
        rows_of: dict[int, list[int]] = {}
        for i, row in enumerate(self.rows):
            for operator in row.operators:
                rows_of.setdefault(operator, []).append(i)
        return {operator: tuple(rows) for operator, rows in rows_of.items()}

    @cached_property
    def of_key(self) -> dict[int, tuple[int, ...]]:
        """Key of a slice -> the rows that its calls logged."""
        trace = self.question.table.trace
        rows_of: dict[int, list[int]] = {}
        for i, row in enumerate(self.rows):
            call = -1 if row.call is None else int(trace.untimed.call[row.call.events[-1]])
            if call >= 0:
                rows_of.setdefault(int(trace.slices.key[call]), []).append(i)
        return {key: tuple(rows) for key, rows in rows_of.items()}


@dataclass(frozen=True, eq=False)
class MeasuredNumbers:
    """Rows with the figures of the first of them.

    growths: of the compared rows, by row. most: the row at which the error grows most, -1 for none.
    Both are known when all are measured.
    """

    numbers: LoggedNumbers
    figures: tuple[Figures, ...] = ()
    growths: dict[int, Growth] = field(default_factory=dict)
    most: int = -1

    @property
    def is_complete(self) -> bool:
        """Whether all rows have figures."""
        return len(self.figures) == len(self.numbers.rows)

    @cached_property
    def errors(self) -> OperatorErrors:
        """The largest error of the values of each operator, in relation to their signal.

        Operators that one call or one pair shares have the error of its result.
        """
        errors: dict[int, float] = {}
        for i in self.numbers.compared:
            gap = self.figures[i].gap if i < len(self.figures) else None
            if gap is not None:
                error = 0.0 if gap.is_exact else math.inf if gap.error is None else gap.error
                for operator in self.numbers.rows[i].operators:
                    errors[operator] = max(errors.get(operator, 0.0), error)
        return OperatorErrors(errors)


# -- rows ------------------------------------------------------------------------------------------


def logged_numbers(question: NumbersQuestion) -> LoggedNumbers:
    """Return the rows of a question; a pure function of files and links."""
    trace = question.table.trace
    try:
        profile = logged_profile(question.table, question.buffers)
    except UnreadableFile as error:
        return LoggedNumbers(
            question,
            problem=f"{display_name(trace.path)}: {error.reason}.",
            wants_buffer=has_values(trace),
        )
    inference = next(
        (
            logged_inference
            for logged_inference in profile.inferences
            if logged_inference.block == question.block
        ),
        profile.inferences[0],
    )
    side = profile.side(inference)
    numbers = LoggedNumbers(question, profile, inference)
    pairs: Sequence[Pair] = ()
    if question.reference is not None:
        try:
            numbers, pairs = _paired(numbers, side, question.reference)
        except UnreadableFile as error:
            problem = f"{display_name(error.path)}: {error.reason}"
            numbers = replace(numbers, reference_problem=problem, cases=_cases(numbers))
        except ValueError as error:
            numbers = replace(numbers, reference_problem=str(error))
    return replace(numbers, rows=tuple(_rows(side.logged, pairs)))


def _paired(
    numbers: LoggedNumbers, side: Side, reference: Reference
) -> tuple[LoggedNumbers, Sequence[Pair]]:
    """Pair the values of a side with a reference. Raises UnreadableFile, ValueError."""
    inference, other = numbers.inference, numbers.question.other
    assert inference is not None
    if other is not None:
        profile = logged_profile(other, numbers.question.buffers)
        partner = _partner(profile, inference)
        title = f"{reference.name} · {partner.label}"
        return replace(numbers, reference=title), paired_runs(side, profile.side(partner))
    if is_bundled(reference.path):
        bundle = read_bundled_cases(reference.path)
        case = case_of(bundle, inference, reference.case)
        title = f"{display_name(reference.path)} · test case {case.number}"
        pairs: Sequence[Pair] = paired_outputs(side, expected_values(bundle, case))
        return replace(numbers, reference=title), pairs
    if is_npz(reference.path):
        pairs, unused = paired_arrays(side, array_values(NpzFile(reference.path)))
        names = tuple(map(key_text, unused))
        return replace(numbers, reference=reference.name, unused=names), pairs
    raise UnreadableFile(reference.path, "it is not open, or has no values to compare with")


def _partner(profile: LoggedProfile, inference: LoggedInference) -> LoggedInference:
    """The inference of a reference with the same number, else the first. Raises ValueError."""
    logged_inferences = [
        logged_inference
        for logged_inference in profile.inferences
        if logged_inference.method == inference.method
    ]
    if (
        not logged_inferences
        and len({logged_inference.method for logged_inference in profile.inferences}) == 1
    ):
        logged_inferences = list(profile.inferences)  # names of scopes may differ
    if not logged_inferences:
        name = display_name(profile.table.trace.path)
        raise ValueError(f"{name} logged no values of {inference.method}")
    number = None if inference.run is None else inference.run.number
    same = (
        logged_inference
        for logged_inference in logged_inferences
        if logged_inference.run is not None and logged_inference.run.number == number
    )
    return next(same, logged_inferences[0])


def _cases(numbers: LoggedNumbers) -> tuple[int, ...]:
    """The test cases that the user may choose from."""
    reference, inference = numbers.question.reference, numbers.inference
    if reference is None or inference is None or not is_bundled(reference.path):
        return ()
    try:
        cases = read_bundled_cases(reference.path).cases
    except UnreadableFile:
        return ()
    of_method = [case.number for case in cases if case.method == inference.method]
    return tuple(of_method or [case.number for case in cases])


def _rows(logged: Sequence[Logged], pairs: Sequence[Pair]) -> Iterator[NumbersRow]:
    """A row for every value, in the order of the calls, then what only the reference has."""
    of_value: dict[int, list[Pair | None]] = {}
    for pair in pairs:
        if pair.value is not None and pair.reference is not None:
            of_value.setdefault(id(pair.value), []).append(pair)
    for call, values in logged:
        first = len(values) - (len(values) if call.results is None else call.results)
        for i, value in enumerate(values):
            count = first if i < first else len(values) - first
            number = (i if i < first else i - first) if count > 1 else None
            for paired in of_value.get(id(value)) or [None]:
                yield NumbersRow(call, number, i >= first, value, paired)
    for pair in pairs:
        if pair.value is None:
            yield NumbersRow(None, pair.result, True, None, pair)


# -- figures ---------------------------------------------------------------------------------------


def measure(measured_numbers: MeasuredNumbers) -> MeasuredNumbers:
    """Return more figures: of at least one row, and of those that a quarter of a second is for."""
    numbers, figures = measured_numbers.numbers, list(measured_numbers.figures)
    stop = time.monotonic() + _AT_A_TIME
    while len(figures) < len(numbers.rows):
        figures.append(_figures(numbers.rows[len(figures)]))
        if time.monotonic() > stop:
            break
    if len(figures) < len(numbers.rows):
        return MeasuredNumbers(numbers, tuple(figures))
    compared = numbers.compared
    pairs = [pair for i in compared if (pair := numbers.rows[i].pair) is not None]
    gaps = [figures[i].gap for i in compared]
    growths = growth_of(pairs, gaps, numbers.program)
    most = largest_growth(growths)
    of_row = {i: growth for i, growth in zip(compared, growths, strict=True) if growth is not None}
    return MeasuredNumbers(numbers, tuple(figures), of_row, -1 if most is None else compared[most])


def _figures(row: NumbersRow) -> Figures:
    summary, gap, fault = None, None, ""
    value, pair = row.value, row.pair
    if value is not None:
        fault = value.fault
        if not fault:
            try:
                summary = summary_of(value.open())
            except (UnreadableFile, ValueError) as error:
                fault = str(error)
    if pair is not None and not fault:
        gap, fault = measured_gap(pair)
    return Figures(summary, gap, fault)
