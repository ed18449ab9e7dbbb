"""The user's choices in a workspace, as one immutable value. No Qt.

`Choices` in `link_choices` is the request of a command line or a session file, which may apply to
all open files or to none. These are the choices in effect, file by file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from viewer.program.sources.files import Substitution
from viewer.workspace.clocks import ClockRates, DelegateRates
from viewer.workspace.shared_clocks import SameClock

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
            inference_methods=_with_or_without(self.inference_methods, pair, others),
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
        kept = {path: own for path, own in self.phases.items() if path != profile}
        return replace(self, phases=kept)

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
        clocks = {path: rate for path, rate in self.clocks.items() if path != profile}
        if ns_per_tick is not None:
            clocks[profile] = ns_per_tick
        return replace(self, clocks=clocks)

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
        clocks = {of: rate for of, rate in self.delegate_clocks.items() if of != (profile, name)}
        if ns_per_tick is not None:
            clocks[profile, name] = ns_per_tick
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
            pairs={path: program for path, program in self.pairs.items() if path != profile},
            methods={pair: chosen for pair, chosen in self.methods.items() if pair[0] != profile},
            inference_methods={
                pair: own for pair, own in self.inference_methods.items() if pair[0] != profile
            },
            columns={path: column for path, column in self.columns.items() if path != profile},
            remembered={f: column for f, column in self.remembered.items() if f != form},
        )


def _with_or_without(
    methods: Mapping[tuple[str, str], Mapping[tuple[int, int], str]],
    pair: tuple[str, str],
    own: Mapping[tuple[int, int], str],
) -> dict[tuple[str, str], Mapping[tuple[int, int], str]]:
    """Return the methods with those of a pair replaced; without the pair if it has none left."""
    others = {other: known for other, known in methods.items() if other != pair}
    return {**others, pair: own} if own else others
