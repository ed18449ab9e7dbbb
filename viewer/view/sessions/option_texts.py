"""The options for files as texts, such as "run.etdp=model.etrecord", and the choices they make.

The command line and the Python API take them. Modules are imported only for options that are given,
because the first window waits for this one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from viewer.dataclasses import dataclass, fields, replace

if TYPE_CHECKING:
    from viewer.program.source_files import Substitution
    from viewer.workspace.clocks import SameClock
    from viewer.workspace.link_choices import Choices


@dataclass(frozen=True, slots=True)
class OptionTexts:
    """What was given for each option: see `viewer.cli.arguments.add_files`."""

    pair: Sequence[str] = ()
    method: Sequence[str] = ()
    identifier_column: Sequence[str] = ()
    clock: Sequence[str] = ()
    source_path: Sequence[str] = ()
    part: Sequence[str] = ()
    columns: Sequence[str] = ()
    same_clock: Sequence[str] = ()
    phases: Sequence[str] = ()

    def choices(self, files: Sequence[str]) -> Choices | None:
        """Return the choices for some files, None without any option.

        Raises ValueError with the option as the command line names it, if one is wrong.
        """
        texts = (self.pair, self.method, self.identifier_column, self.clock, self.source_path)
        if not any((*texts, self.part, self.columns, self.same_clock, self.phases)):
            return None
        from viewer.workspace.link_choices import Choices

        methods = [text.partition("=")[::2] for text in self.method]
        for text, (scope, method) in zip(self.method, methods, strict=True):
            if not (scope and method):
                raise ValueError(
                    f"--method {text}: write it as NAME=METHOD or NAME:NUMBERS=METHOD, as in "
                    '"Execute 1=forward" or "Execute 1:1-3,7=forward"'
                )
        phases = [text.rpartition("=")[::2] for text in self.phases]
        for text, (scope, _) in zip(self.phases, phases, strict=True):
            if not scope:
                raise ValueError(
                    f"--phases {text}: write it as NAME:NUMBERS=PHASE, as in "
                    '"Execute:1=prefill" or "Execute=" for one phase'
                )
        clocks = _clocks(self.clock, files)
        return Choices(
            tuple(_pairs(self.pair)),
            tuple(methods),
            tuple(_column(text, files) for text in self.identifier_column),
            tuple((path, rate) for path, name, rate in clocks if not name),
            _source_paths(self.source_path),
            delegate_clocks=tuple(clock for clock in clocks if clock[1]),
            parts=_parts(self.part, files),
            table_columns=_table_columns(self.columns, files),
            same_clocks=tuple(_same_clock(text, files) for text in self.same_clock),
            phases=tuple(phases),
        )

    @property
    def arguments(self) -> list[str]:
        """The options as arguments of a command line."""
        return [
            argument
            for field in fields(self)
            for text in getattr(self, field.name)
            for argument in (f"--{field.name.replace('_', '-')}", text)
        ]

    def of_arm(self, files: Sequence[str], others: Sequence[str]) -> OptionTexts:
        """Return the options for one arm of a comparison, the files of the other being `others`.

        Without those that name a file of the other one.
        """

        def is_own(text: str) -> bool:
            def named(paths: Sequence[str]) -> bool:
                starts = [name for path in paths for name in (path, os.path.basename(path))]
                return any(text.startswith((f"{name}=", f"{name}:")) for name in starts)

            return named(files) or not named(others)

        lists = ("pair", "method", "identifier_column", "clock", "part", "columns", "phases")
        lists_of_arm = {name: list(filter(is_own, getattr(self, name))) for name in lists}
        return replace(self, **lists_of_arm, same_clock=self._same_clock_of(files, others))

    def _same_clock_of(self, files: Sequence[str], others: Sequence[str]) -> list[str]:
        """Return the statements about clocks without the files of the other arm."""
        texts = []
        for text in self.same_clock:
            names = _names(text, [*files, *others])
            own_names = [name for name in names if not _are(name, others) or _are(name, files)]
            # Of the last file nothing is left to say.
            texts += ["=".join(own_names)] if own_names == names or len(own_names) > 1 else []
        return texts


def _source_paths(texts: Sequence[str]) -> tuple[Substitution, ...]:
    if not texts:
        return ()
    from viewer.program.source_files import Substitution

    substitutions = []
    for text in texts:
        recorded, equals, local = text.partition("=")
        if not (equals and local):
            raise ValueError(f"--source-path {text}: write it as FROM=TO")
        if not os.path.exists(local):
            raise ValueError(f"--source-path {text}: {local} does not exist")
        try:
            substitutions.append(Substitution(recorded, os.path.abspath(local), any_kind=True))
        except ValueError as error:
            raise ValueError(f"--source-path {text}: {error}") from error
    return tuple(substitutions)


def _clocks(texts: Sequence[str], files: Sequence[str]) -> list[tuple[str, str, Fraction]]:
    """Return (profile or "", delegate's clock or "", ns per tick) for each option.

    A file name may contain ":", so it ends the name only if the whole is not one of `files`.
    """
    if not texts:
        return []
    from viewer.model.times import parse_rate

    clocks = []
    for text in texts:
        path, _, rate = text.rpartition("=")
        name = ""
        if not any(path == os.path.basename(file) or _is_same(path, file) for file in files):
            before, colon, after = path.rpartition(":")
            path, name = (before, after) if colon else (path, "")
        try:
            clocks.append((path, name, parse_rate(rate)))
        except ValueError as error:
            raise ValueError(f"--clock {text}: {error}") from error
    return clocks


def _parts(texts: Sequence[str], files: Sequence[str]) -> tuple[tuple[str, Fraction], ...]:
    """Return (file or "", share) for each [FILE=]SHARE; FILE may be the name of one of `files`."""
    if not texts:
        return ()
    from viewer.codecs.memory_budget import parse_part

    parts = []
    for text in texts:
        name, _, share = text.rpartition("=")
        matches = [file for file in files if _is_same(name, file) or name == os.path.basename(file)]
        if name and not matches:
            raise ValueError(f"--part {text}: {name} is not one of the files")
        try:
            parts += [(file, parse_part(share)) for file in (matches if name else [""])]
        except ValueError as error:
            raise ValueError(f"--part {error}") from error
    return tuple(parts)


def _table_columns(texts: Sequence[str], files: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return (file or "", columns) for each [FILE=]WHAT=COLUMN,...; FILE as in `_column`."""
    if not texts:
        return ()
    from viewer.formats.table.stated_columns import parse_columns

    path_columns = []
    for text in texts:
        file, columns = _column(text, files)
        try:
            parse_columns(columns)
        except ValueError as error:
            raise ValueError(f"--columns {text}: {error}") from error
        named = [path for path in files if file and _is_same(path, file)]
        named = named or [path for path in files if file == os.path.basename(path)]
        path_columns += [(path, columns) for path in (named if file else [""])]
    return tuple(path_columns)


def _same_clock(text: str, files: Sequence[str]) -> SameClock:
    """Return the statement of A=B=C, or of "stated"; files may be given by their names."""
    from viewer.workspace.clocks import STATED, SameClock

    if text == STATED:
        return SameClock((), by_date=True)
    names = _names(text, files)
    if len(names) < 2 or not all(names):
        raise ValueError(
            f"--same-clock {text}: write it as A=B, or {STATED} for all files that state the time "
            "of day"
        )
    return SameClock(tuple(_path_of(name, files) for name in names))


def _path_of(name: str, files: Sequence[str]) -> str:
    """Return the path of the only one of some files with a name, else the name."""
    if any(_is_same(name, file) for file in files):
        return name
    matches = [file for file in files if name == os.path.basename(file)]
    return matches[0] if len(matches) == 1 else name


def _names(text: str, files: Sequence[str]) -> list[str]:
    """Split a text at each "=" that is not part of the name of one of some files."""
    names, parts = [], text.split("=")
    while parts:
        count = next((n for n in range(len(parts), 0, -1) if _are("=".join(parts[:n]), files)), 1)
        names.append("=".join(parts[:count]))
        del parts[:count]
    return names


def _are(name: str, files: Sequence[str]) -> bool:
    """Return whether a name is that of one of some files, or its path."""
    return any(name == os.path.basename(file) or _is_same(name, file) for file in files)


def _is_same(name: str, other: str) -> bool:
    return os.path.abspath(name) == os.path.abspath(other)


def _cut(text: str) -> list[tuple[str, str]]:
    """Return the text split at each "=", because names of files and columns may contain one."""
    return [(text[:i], text[i + 1 :]) for i, character in enumerate(text) if character == "="]


def _column(text: str, files: Sequence[str]) -> tuple[str | None, str]:
    """Return (profile or None, column) for [FILE=]NAME.

    A column name may contain "=", so FILE counts only if it is one of `files`.
    """
    paths = {os.path.abspath(path) for path in files}
    names = {os.path.basename(path) for path in files}
    cuts = _cut(text)
    matches = [halves for halves in cuts if os.path.abspath(halves[0]) in paths]
    matches = matches or [halves for halves in cuts if halves[0] in names]
    return matches[0] if matches else (None, text)


def _pairs(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return (profile, ETRecord) for each DUMP=RECORD.

    If names contain "=", the split at which both parts are existing files is used.
    """
    pairs = []
    for text in texts:
        halves = [both for both in _cut(text) if all(both)]
        if not halves:
            raise ValueError(f"--pair {text}: write it as DUMP=RECORD")
        files = [half for half in halves if all(map(os.path.exists, half))]
        pairs.append((files or halves)[0])
    return pairs
