"""`viewer.open` and what it takes: files, and the options of the command line."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from viewer.api.profile import Profile
from viewer.codecs.reading import UnreadableFile
from viewer.formats.folders import files_in
from viewer.formats.metadata_parsers import MetadataParser, also_with
from viewer.view.sessions.opened_files import OpenedFiles, opened_files
from viewer.view.sessions.option_texts import OptionTexts
from viewer.workspace.link_choices import NO_CHOICES
from viewer.workspace.workspace import Workspace

Path = str | os.PathLike[str]
# A text as on the command line, several of them, or what stands before and after their "=".
Option = str | Iterable[str] | Mapping[Path, Path]


def open(
    *files: Path | Iterable[Path],
    pair: Option = (),
    clock: Option = (),
    method: Option = (),
    metadata: MetadataParser | None = None,
    identifier_column: Option = (),
    source_path: Option = (),
    part: Option = (),
    columns: Option = (),
    same_clock: Option = (),
    phases: Option = (),
) -> Profile:
    """Open profiles, ETRecords, program files, sources and session files together.

    Options mean what those of the command line mean, and are written like them, or as a dict of
    what is before and after their "=".

    Args:
        files: Paths of files of any format, in any order, or lists of them. A folder stands for
            the profiles and ETRecords in it, a pattern such as `"runs/*.etdp"` for what it matches.
        pair: ETRecords of profiles, `{"run.etdp": "model.etrecord"}`, even if they do not match.
        clock: Rates of clocks that files do not state, `"800MHz"` or `{"run.etdp:QnnBackend":
            "800MHz"}`.
        method: Methods of inferences, `{"Execute 1": "forward"}`.
        metadata: A function that gets the bytes that a delegate logged with an event and returns
            their values by name, or None.
        identifier_column: Columns of delegate identifiers, `"job_id"` or `{"jobs.csv": "job_id"}`.
        source_path: Folders of sources, `{"/recorded": "/local"}`.
        part: Only the first part of files, `"20%"`.
        columns: What the columns of a CSV are, `{"start": "Start (ns)", "dur": "Duration", "unit":
            "us"}`.
        same_clock: Profiles that share a clock, `{"prefill.etdp": "decode.etdp"}`, or `"stated"`
            for all that state the time of day; their times then count from one start.
        phases: Phases of inferences, `{"Execute:1": "prefill"}`, or `"Execute="` for one phase.

    Returns:
        The open files, with their tables.

    Raises:
        UnreadableFile: For a file that cannot be read.
        ValueError: Without files, for a folder or pattern without any, or for an option that does
            not fit them.
    """
    paths = [path for argument in files for path in files_in(paths_of(argument))]
    if not paths:
        raise ValueError("nothing to open: give at least one file")
    options = option_texts(pair, clock, method, identifier_column, source_path, part, columns)
    options = replace(options, same_clock=_texts(same_clock), phases=_texts(phases))
    return opened_again(paths, options, metadata)


def opened_again(
    paths: Sequence[str], options: OptionTexts, metadata: MetadataParser | None
) -> Profile:
    """Return a profile of files: what `open` does, and what a pickle of a profile does."""
    again = opened_again, ([os.path.abspath(path) for path in paths], options, metadata)
    return Profile(opened_workspace(paths, options, metadata), options.arguments, again)


def paths_of(files: Path | Iterable[Path]) -> list[str]:
    """Return one file, several, or those that a pattern matches, as texts.

    Raises ValueError for a pattern that matches none.
    """
    if not isinstance(files, str | os.PathLike):
        return [os.fspath(file) for file in files]
    path = os.fspath(files)
    if not glob.has_magic(path) or os.path.lexists(path):
        return [path]
    matched = sorted(glob.glob(path, recursive=True))
    if not matched:
        raise ValueError(f"{path}: no file matches this pattern")
    return matched


def option_texts(
    pair: Option,
    clock: Option,
    method: Option,
    identifier_column: Option,
    source_path: Option,
    part: Option = (),
    columns: Option = (),
) -> OptionTexts:
    """Return options as the texts of a command line."""
    return OptionTexts(
        pair=_texts(pair),
        method=_texts(method),
        identifier_column=_texts(identifier_column),
        clock=_texts(clock),
        source_path=_texts(source_path),
        part=_texts(part),
        columns=_columns(columns),
    )


def opened_workspace(
    paths: Sequence[str], options: OptionTexts, metadata: MetadataParser | None = None
) -> Workspace:
    """Return a workspace with all files. Raises UnreadableFile, ValueError."""
    with as_in_python():
        choices = options.choices(paths) or NO_CHOICES
    with also_with(metadata):
        return _checked(opened_files(paths, choices))


def _checked(opened: OpenedFiles) -> Workspace:
    for _, error in opened.failures:
        raise error
    for text in opened.not_found:
        raise UnreadableFile(*text.split(": ", 1))
    for text in opened.refused:
        raise ValueError(text.removeprefix("--"))
    return opened.workspace


@contextmanager
def as_in_python() -> Iterator[None]:
    """Name options in errors as Python does, without the dashes of the command line."""
    try:
        yield
    except ValueError as error:
        raise type(error)(str(error).removeprefix("--")) from error


def _columns(option: Option) -> list[str]:
    """Return what columns are as texts: one text for a dict by what they are, not by file."""
    if not isinstance(option, Mapping):
        return _texts(option)
    from viewer.formats.table.stated_columns import EVERYTHING, StatedColumns

    if not option or not set(option) <= set(EVERYTHING):
        return _texts(option)
    pairs = [
        (os.fspath(what), os.fspath(column))
        for what, columns in option.items()
        for column in ([columns] if isinstance(columns, str | os.PathLike) else columns)
    ]
    return [StatedColumns(tuple(pairs)).text()]


def _texts(option: Option) -> list[str]:
    """Return an option as the texts of a command line."""
    if isinstance(option, str):
        return [option]
    if isinstance(option, Mapping):
        return [f"{os.fspath(key)}={os.fspath(value)}" for key, value in option.items()]
    return list(option)
