"""What the user chose in a workspace, as one value that never changes. No Qt.

`Choices` in `link_choices` is what a command line or a session file asks for, which may be of all
files or of none that is open; here is what holds, file by file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from viewer.program.sources.files import Substitution
from viewer.workspace.clocks import ClockRates

# Of one profile: the program in a tuple, and by program the method chosen for each scope.
ChosenLinks = tuple[tuple[str | None] | None, Mapping[str, Mapping[int, str]]]


@dataclass(frozen=True, slots=True)
class UserChoices:
    """All choices of the user, by the paths of files that may be closed by now.

    pairs: profile -> the program that it is linked to, None for none. methods: (profile, program)
    -> number of the scope -> the method that its runs are of. columns: profile -> the column that
    has its identifiers, None for none. clocks: profile -> ns per tick. source_paths: recorded
    folders and where they lie here, in the order in which they were given. remembered: `form_of` a
    profile -> the column that was chosen for one of that form, "" for none.
    """

    pairs: Mapping[str, str | None] = field(default_factory=dict)
    methods: Mapping[tuple[str, str], Mapping[int, str]] = field(default_factory=dict)
    columns: Mapping[str, str | None] = field(default_factory=dict)
    clocks: ClockRates = field(default_factory=dict)
    source_paths: tuple[Substitution, ...] = ()
    remembered: Mapping[str, str] = field(default_factory=dict)

    @property
    def lasting(self) -> UserChoices:
        """Those that outlive the files: remembered columns, and where sources are here."""
        return UserChoices(source_paths=self.source_paths, remembered=self.remembered)

    def chosen_links(self, profile: str) -> ChosenLinks:
        """What was chosen of the links of one profile; equal as long as none of it changed."""
        pair = (self.pairs[profile],) if profile in self.pairs else None
        of = {
            program: chosen for (path, program), chosen in self.methods.items() if path == profile
        }
        return pair, of

    def with_pair(self, profile: str, program: str | None) -> UserChoices:
        """A profile is linked to a program, or to none."""
        return replace(self, pairs={**self.pairs, profile: program})

    def with_method(self, profile: str, program: str, scope: int, method: str) -> UserChoices:
        """The runs of a scope are of a method of a program."""
        pair = profile, program
        of = {**self.methods.get(pair, {}), scope: method}
        return replace(self, methods={**self.methods, pair: of})

    def with_column(self, profile: str, column: str | None) -> UserChoices:
        """A column has the identifiers of a profile, or none has."""
        return replace(self, columns={**self.columns, profile: column})

    def with_remembered(self, columns: Mapping[str, str]) -> UserChoices:
        """Columns are remembered for profiles of these forms too."""
        return replace(self, remembered={**self.remembered, **columns})

    def with_clock(self, profile: str, ns_per_tick: Fraction | None) -> UserChoices:
        """A tick of a profile lasts so long, None: as its file states or its reader assumes."""
        clocks = {path: rate for path, rate in self.clocks.items() if path != profile}
        if ns_per_tick is not None:
            clocks[profile] = ns_per_tick
        return replace(self, clocks=clocks)

    def with_source_path(self, substitution: Substitution) -> UserChoices:
        """What was recorded below a path is below another; the same path again moves it."""
        others = (s for s in self.source_paths if s.recorded != substitution.recorded)
        return replace(self, source_paths=(*others, substitution))

    def without_source_path(self, substitution: Substitution) -> UserChoices:
        """A substitution is forgotten."""
        return replace(self, source_paths=tuple(s for s in self.source_paths if s != substitution))

    def without_links(self, profile: str, form: str) -> UserChoices:
        """Program, methods and column of a profile, and of its form, are forgotten."""
        return replace(
            self,
            pairs={path: program for path, program in self.pairs.items() if path != profile},
            methods={pair: chosen for pair, chosen in self.methods.items() if pair[0] != profile},
            columns={path: column for path, column in self.columns.items() if path != profile},
            remembered={f: column for f, column in self.remembered.items() if f != form},
        )
