"""The user's choices in a workspace, and what inferences have by them. No Qt.

`Choices` in `link_choices` is the request of a command line or a session file. These are the
choices in effect, file by file, as one immutable value. The methods of single inferences can be
chosen where their instructions are the same, the phases of a method where its input sizes can vary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count, pairwise
from typing import TYPE_CHECKING, TypeVar

from viewer.arrays import lists_by_key
from viewer.dataclasses import dataclass, field, replace
from viewer.model.inference_views import Series, series_of
from viewer.model.trace import Run, Trace
from viewer.program.executables import Dynamism, ExecutableMethod
from viewer.program.program import Method
from viewer.program.source_files import Substitution
from viewer.workspace.clocks import ClockRates, DelegateRates, SameClock

if TYPE_CHECKING:
    from viewer.analysis.sequence.phases import ScopePart


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
# For one profile: a tuple with its program; by program the methods chosen for scopes, and those
# chosen for single inferences.
ChosenLinks = tuple[
    tuple[str | None] | None,
    Mapping[str, Mapping[int, str]],
    Mapping[str, Mapping[tuple[int, int], str]],
]
# Profile -> (scope number, number of an inference in it) -> its phase.
ChosenPhases = Mapping[str, Mapping[tuple[int, int], str]]


@dataclass(frozen=True, slots=True)
class UserChoices:
    """All choices of the user, by the paths of files that may be closed by now.

    pairs: profile -> the program that it is linked to, None for none. methods: (profile, program)
    -> scope number -> the method of its runs. inference_methods: (profile, program) -> (scope
    number, number of an inference in it) -> its method. columns: profile -> its identifier column,
    None for none. clocks: profile -> ns per tick. delegate_clocks: (profile, name of a delegate's
    clock) -> ns per cycle or tick. source_paths: recorded folders and their locations on this
    machine, in the order given. remembered: `form_of` a profile -> the column chosen for that form,
    "" for none. table_columns: plain CSV -> what its columns are, as --columns states it.
    same_clocks: which profiles share a clock, in the order stated. phases: profile -> (scope
    number, number of an inference in it) -> its phase, "" for none.
    """

    pairs: Mapping[str, str | None] = field(default_factory=dict)
    methods: Mapping[tuple[str, str], Mapping[int, str]] = field(default_factory=dict)
    inference_methods: Mapping[tuple[str, str], Mapping[tuple[int, int], str]] = field(
        default_factory=dict
    )
    columns: Mapping[str, str | None] = field(default_factory=dict)
    clocks: ClockRates = field(default_factory=dict)
    delegate_clocks: DelegateRates = field(default_factory=dict)
    source_paths: tuple[Substitution, ...] = ()
    remembered: Mapping[str, str] = field(default_factory=dict)
    table_columns: Mapping[str, str] = field(default_factory=dict)
    same_clocks: tuple[SameClock, ...] = ()
    phases: ChosenPhases = field(default_factory=dict)

    @property
    def lasting(self) -> UserChoices:
        """The choices that outlive the files: remembered columns, and source paths."""
        return UserChoices(source_paths=self.source_paths, remembered=self.remembered)

    def chosen_links(self, profile: str) -> ChosenLinks:
        """Return the link choices of one profile; equal as long as none of them changed."""
        pair = (self.pairs[profile],) if profile in self.pairs else None
        methods_of = {
            program: chosen for (path, program), chosen in self.methods.items() if path == profile
        }
        single = self.inference_methods.items()
        return (
            pair,
            methods_of,
            {program: own for (path, program), own in single if path == profile},
        )

    def with_pair(self, profile: str, program: str | None) -> UserChoices:
        """Return a copy in which a profile is linked to a program, or to none."""
        return replace(self, pairs={**self.pairs, profile: program})

    def with_method(self, profile: str, program: str, scope: int, method: str) -> UserChoices:
        """Return a copy in which all runs of a scope belong to a method of a program."""
        pair = profile, program
        methods = {**self.methods.get(pair, {}), scope: method}
        single = self.inference_methods.get(pair, {}).items()
        others = {inference: own for inference, own in single if inference[0] != scope}
        return replace(
            self,
            methods={**self.methods, pair: methods},
            inference_methods=_with(self.inference_methods, pair, others or None),
        )

    def with_inference_methods(
        self, profile: str, program: str, scope: int, numbers: Collection[int], method: str
    ) -> UserChoices:
        """Return a copy in which some inferences of a scope belong to a method of a program."""
        pair = profile, program
        new = {(scope, number): method for number in numbers}
        methods = {**self.inference_methods.get(pair, {}), **new}
        return replace(self, inference_methods={**self.inference_methods, pair: methods})

    def with_phases(self, profile: str, phases: Mapping[tuple[int, int], str]) -> UserChoices:
        """Return a copy in which inferences (scope, number) are of phases, "" for none."""
        return replace(
            self, phases={**self.phases, profile: {**self.phases.get(profile, {}), **phases}}
        )

    def without_phases(self, profile: str) -> UserChoices:
        """Return a copy in which the times of a profile decide its phases."""
        return replace(self, phases=_with(self.phases, profile, None))

    def with_column(self, profile: str, column: str | None) -> UserChoices:
        """Return a copy with a profile's identifier column, or with none."""
        return replace(self, columns={**self.columns, profile: column})

    def with_remembered(self, columns: Mapping[str, str]) -> UserChoices:
        """Return a copy that also remembers columns for profiles of these forms."""
        return replace(self, remembered={**self.remembered, **columns})

    def with_table_columns(self, path: str, columns: str) -> UserChoices:
        """Return a copy with what the columns of a plain CSV are."""
        return replace(self, table_columns={**self.table_columns, path: columns})

    def with_clock(self, profile: str, ns_per_tick: Fraction | None) -> UserChoices:
        """Return a copy with a profile's tick length; None: as stated in the file or assumed."""
        return replace(self, clocks=_with(self.clocks, profile, ns_per_tick))

    def with_same_clock(self, statement: SameClock) -> UserChoices:
        """Return a copy in which the profiles of a statement share a clock."""
        return replace(self, same_clocks=(*self.same_clocks, statement))

    def without_same_clock(self, profiles: Collection[str]) -> UserChoices:
        """Return a copy without the statements about some profiles."""
        kept = (
            same_clock
            for same_clock in self.same_clocks
            if not set(same_clock.paths) & set(profiles)
        )
        return replace(self, same_clocks=tuple(kept))

    def rates_of_delegates(self, profile: str) -> dict[str, Fraction]:
        """Return the rates of the delegates' clocks in one profile, by name."""
        return {n: rate for (path, n), rate in self.delegate_clocks.items() if path == profile}

    def with_delegate_clock(
        self, profile: str, name: str, ns_per_tick: Fraction | None
    ) -> UserChoices:
        """Return a copy with the rate of a delegate's clock in a profile; None: unknown."""
        clocks = _with(self.delegate_clocks, (profile, name), ns_per_tick)
        return replace(self, delegate_clocks=clocks)

    def with_source_path(self, substitution: Substitution) -> UserChoices:
        """Return a copy with another source path substitution; it replaces one of the same path."""
        others = (s for s in self.source_paths if s.recorded_path != substitution.recorded_path)
        return replace(self, source_paths=(*others, substitution))

    def without_source_path(self, substitution: Substitution) -> UserChoices:
        """Return a copy without a substitution."""
        return replace(self, source_paths=tuple(s for s in self.source_paths if s != substitution))

    def without_links(self, profile: str, form: str) -> UserChoices:
        """Return a copy without program, methods and column of a profile, and of its form."""
        return replace(
            self,
            pairs=_with(self.pairs, profile, None),
            methods={pair: chosen for pair, chosen in self.methods.items() if pair[0] != profile},
            inference_methods={
                pair: own for pair, own in self.inference_methods.items() if pair[0] != profile
            },
            columns=_with(self.columns, profile, None),
            remembered=_with(self.remembered, form, None),
        )


def _with(values: Mapping[_Key, _Value], key: _Key, value: _Value | None) -> dict[_Key, _Value]:
    """Return the values with that of a key replaced; without the key if it is None."""
    others = {other: each for other, each in values.items() if other != key}
    return others if value is None else {**others, key: value}


@dataclass(frozen=True, slots=True, eq=False)
class SplitTrace:
    """A trace, the parts into which its scopes were split, and the result."""

    source: Trace
    parts: tuple[ScopePart, ...]
    trace: Trace

    def methods(
        self, whole: Mapping[int, str], single: Mapping[tuple[int, int], str]
    ) -> dict[int, str]:
        """Return the methods chosen for the scopes of the result, for one program.

        whole: scope of the source -> method. single: (scope, number) -> method, which takes
        precedence; the inferences of a part have the same.
        """
        methods = dict(whole)
        for scope, part in enumerate(self.parts, len(self.source.scopes)):
            method = single.get((part.scope, min(part.numbers))) or whole.get(part.scope)
            if method is not None:
                methods[scope] = method
        return methods


def split_by(source: Trace, choices: UserChoices, before: SplitTrace | None) -> SplitTrace | None:
    """Return a trace split as chosen, None if no inference has a choice; `before` if it is equal.

    Inferences with the same choice for every program are one part.
    """
    chosen = lists_by_key(
        ((scope, number), (program, method))
        for program, scope, number, method in _choices_for(source, choices)
    )
    if not chosen:
        return None
    from viewer.analysis.sequence.phases import ScopePart, split_scopes

    groups: dict[tuple[int, tuple[tuple[str, str], ...]], set[int]] = {}
    for (scope, number), methods_of in sorted(chosen.items()):
        groups.setdefault((scope, tuple(sorted(methods_of))), set()).add(number)
    parts = tuple(
        ScopePart(scope, frozenset(inferences)) for (scope, _), inferences in groups.items()
    )
    if not parts:
        return None
    if before is not None and before.source is source and before.parts == parts:
        return before
    return SplitTrace(source, parts, split_scopes(source, parts))


def scope_with(trace: Trace, scope: str, numbers: Collection[int], name: str) -> int:
    """Return the number of a scope. Raises ValueError if it does not have inferences of `numbers`.

    name: the name of the trace in the error.
    """
    names = [each.name for each in trace.scopes]
    if scope not in names:
        raise ValueError(f"{name} has no {scope!r}; it has {', '.join(dict.fromkeys(names))}")
    recorded = {run.number for run in trace.inferences() if trace.scopes[run.scope].name == scope}
    unknown = sorted(set(numbers) - recorded)
    if unknown:
        there_are = f"they are numbered {numbers_text(recorded)}" if recorded else "it has none"
        raise ValueError(f"{scope} of {name} has no inference {numbers_text(unknown)}: {there_are}")
    return names.index(scope)


def numbers_text(numbers: Collection[int]) -> str:
    """Format numbers as "1-3,7": ascending, with consecutive ones joined."""
    ordered = sorted(set(numbers))
    ends = [0, *(i for i, (a, b) in enumerate(pairwise(ordered), 1) if b > a + 1), len(ordered)]
    spans = [(ordered[lo], ordered[hi - 1]) for lo, hi in pairwise(ends) if hi > lo]
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def parse_numbers(text: str, most: int) -> tuple[int, ...]:
    """Return the numbers of "1-3,7", ascending; ValueError for anything else, or above `most`."""
    numbers: set[int] = set()
    for part in text.split(","):
        ends = [end.strip() for end in part.split("-")]
        if len(ends) > 2 or not all(
            end.isascii() and end.isdigit() and len(end) < 10 for end in ends
        ):
            raise ValueError(f'{text!r} is not a list of inference numbers: write it as "1-3,7"')
        first, last = int(ends[0]), int(ends[-1])
        if first > last:
            raise ValueError(
                f"{part.strip()!r} is not a range: its first number is larger than its last"
            )
        if last > most:
            raise ValueError(f"there is no inference {last}: they are numbered 1-{most}")
        numbers.update(range(first, last + 1))
    return tuple(sorted(numbers))


def single_choices(trace: Trace, choices: UserChoices) -> list[tuple[str, tuple[int, ...], str]]:
    """Return (scope, numbers, method) of the inferences with a choice, whatever the program."""
    chosen = _choices_for(trace, choices)
    return _in_groups(trace, ((scope, number, method) for _, scope, number, method in chosen))


def chosen_phases(trace: Trace, choices: UserChoices) -> list[tuple[str, tuple[int, ...], str]]:
    """Return (scope, numbers, phase) of the inferences whose phase was chosen."""
    chosen = sorted(choices.phases.get(trace.path, {}).items())
    return _in_groups(
        trace,
        # Fewer scopes than when chosen, if the file has changed.
        ((scope, n, phase) for (scope, n), phase in chosen if scope < len(trace.scopes)),
    )


def _in_groups(
    trace: Trace, chosen: Iterable[tuple[int, int, str]]
) -> list[tuple[str, tuple[int, ...], str]]:
    """Return (scope, numbers, choice): the inferences of a scope with one choice are together."""
    groups: dict[tuple[int, str], set[int]] = {}
    for scope, number, value in chosen:
        groups.setdefault((scope, value), set()).add(number)
    return [
        (trace.scopes[scope].name, tuple(sorted(numbers)), value)
        for (scope, value), numbers in groups.items()
    ]


def _choices_for(trace: Trace, choices: UserChoices) -> Iterator[tuple[str, int, int, str]]:
    """Yield (program, scope, number, method) of each inference of a trace that has a choice."""
    for (profile, program), methods in choices.inference_methods.items():
        if profile == trace.path:
            for (scope, number), method in methods.items():
                if scope < len(trace.scopes):  # fewer than when chosen, if the file has changed
                    yield program, scope, number, method


FIRST = "phase 1"  # the inferences before a split that are of no phase yet


def sizes_vary(ran: Sequence[ExecutableMethod], recorded: Method | None) -> bool | None:
    """Return whether the sizes of a method's tensors can vary, None if no file shows it.

    ran: those of a program file that may have run; they decide. recorded: the one of an ETRecord.
    """
    if ran:
        return any(
            bool((executable_method.tensors.dynamism != Dynamism.STATIC).any())
            for executable_method in ran
        )
    shapes = [
        value.shape
        for operator in (recorded.operators if recorded is not None else ())
        for node in operator.nodes
        for value in (*node.inputs, *node.outputs)
        if value.shape is not None
    ]
    if not shapes:
        return None
    return any(isinstance(size, str) for shape in shapes for size in shape)


def with_phase(
    choices: UserChoices, trace: Trace, scope: str, phase: str, numbers: Collection[int]
) -> UserChoices:
    """Return choices in which inferences of a scope (some, or all) are of a phase, "" for none.

    Raises ValueError for a trace without such inferences.
    """
    wanted = scope_with(trace, scope, numbers, trace.path)
    chosen = (
        i
        for i, run in enumerate(trace.runs)
        if run.number and run.scope == wanted and (not numbers or run.number in numbers)
    )
    return in_phases(choices, trace, dict.fromkeys(chosen, phase))


def in_phases(choices: UserChoices, trace: Trace, phases: Mapping[int, str]) -> UserChoices:
    """Return choices in which inferences, by their positions in `Trace.runs`, are of phases.

    The other inferences of their methods keep the phases that they have now.
    """
    methods = {_method(trace, trace.runs[i]) for i in phases}
    chosen = choices.phases.get(trace.path, {})  # the trace may not show the last of them yet
    phase_of = {
        (run.scope, run.number): phases.get(i, chosen.get((run.scope, run.number), run.phase))
        for i, run in enumerate(trace.runs)
        if run.number and _method(trace, run) in methods
    }
    return choices.with_phases(trace.path, phase_of)


def of_same_phase(trace: Trace, run: int) -> list[int]:
    """Return the inferences of the phase of one, in order of time."""
    series = series_of(trace, trace.runs[run])
    every = enumerate(trace.runs)
    members = [i for i, run in every if run.number and series_of(trace, run) == series]
    return sorted(members, key=lambda i: trace.runs[i].start)


def phases_beside(trace: Trace, run: int) -> list[str]:
    """Return the phases of the method of an inference, without its own, in order of time."""
    this = trace.runs[run]
    every = sorted(trace.inferences(), key=lambda run: run.start)
    names = (run.phase for run in every if _method(trace, run) == _method(trace, this))
    return [name for name in dict.fromkeys(names) if name and name != this.phase]


def split_before(trace: Trace, run: int, name: str) -> dict[int, str]:
    """Return phases in which the inferences of a phase from one on have a name of their own.

    Those before it keep theirs; without one they are "phase 1".
    """
    members = of_same_phase(trace, run)
    later = members[members.index(run) :]
    return dict.fromkeys(members, trace.runs[run].phase or FIRST) | dict.fromkeys(later, name)


def new_name(trace: Trace, run: int) -> str:
    """Return a name that no phase of the method of an inference has: "phase 2"."""
    taken = {*phases_beside(trace, run), trace.runs[run].phase or FIRST}
    return next(name for n in count(2) if (name := f"phase {n}") not in taken)


def _method(trace: Trace, run: Run) -> Series:
    return series_of(trace, replace(run, phase=""))
