"""`viewer.open` and `viewer.compare`: a `Profile` of files, or what changed between two arms."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from viewer.analysis.comparison.comparison import Comparison
from viewer.api.profile import Profile
from viewer.codecs.reading import UnreadableFile
from viewer.formats.folders import files_in
from viewer.formats.metadata_parsers import MetadataParser, also_with
from viewer.reports.compare import compare_facts, compared, read_noise
from viewer.reports.compare_text import explanation, headline
from viewer.reports.info import Facts
from viewer.tables.command_rows import COMPARISON
from viewer.view.sessions.opened_files import OpenedFiles, opened_files
from viewer.view.sessions.option_texts import OptionTexts
from viewer.workspace.comparison_arms import (
    RunChoice,
    all_of,
    of_method,
    of_numbers,
    share_programs,
)
from viewer.workspace.link_choices import NO_CHOICES
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd


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
    options = option_texts(
        columns, pair=pair, clock=clock, method=method, identifier_column=identifier_column,
        source_path=source_path, part=part, same_clock=same_clock, phases=phases,
    )  # fmt: skip
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


def option_texts(columns: Option, **options: Option) -> OptionTexts:
    """Return options as the texts of a command line."""
    texts = {name: _texts(option) for name, option in options.items()}
    return OptionTexts(columns=_columns(columns), **texts)


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
    if isinstance(option, str):
        return [option]
    if isinstance(option, Mapping):
        return [f"{os.fspath(key)}={os.fspath(value)}" for key, value in option.items()]
    return list(option)


class ComparedProfiles:
    """The comparison of two arms, A and B, as `viewer.compare` returns it."""

    def __init__(
        self, comparison: Comparison, problems: Iterable[str], arms: tuple[Workspace, Workspace]
    ) -> None:
        self.comparison = comparison
        self.problems = list(problems)
        self._arms = arms

    def __repr__(self) -> str:
        return f"<Comparison: {self.sentence}>"

    @cached_property
    def facts(self) -> Facts:
        """The comparison as `opscope compare --json` prints it."""
        return compare_facts(self.comparison, self.problems)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows of the comparison: operators and other things that were compared."""
        from viewer.api.frames import frame_of_rows

        rows = [
            {**row, "a_ns": row["a"] and row["a"]["ns"], "b_ns": row["b"] and row["b"]["ns"]}
            for row in self.facts["rows"]
        ]
        return frame_of_rows(rows, COMPARISON)

    @property
    def verdict(self) -> str:
        """The verdict on the whole inference: slower, faster, no_change or cannot_tell."""
        verdict: str = self.facts["inference"]["verdict"]
        return verdict

    @property
    def sentence(self) -> str:
        """The answer as a sentence."""
        return headline(self.comparison)

    @property
    def explanation(self) -> str:
        """The largest proven changes as a sentence, "" if there are none."""
        return explanation(self.comparison)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows: the answer as a sentence, and the largest changes."""
        from viewer.html_report.report import comparison_page

        return {"text/plain": repr(self), "text/html": comparison_page(self.comparison)}

    def report(self, path: str | os.PathLike[str], *, title: str = "", source: bool = True) -> None:
        """Write one HTML file about both arms: `opscope report A... --with B...`.

        Args:
            path: The file to write; its name ends in .html.
            title: By default the names of the models or files.
            source: Whether the text of the model's source is in it.

        Raises:
            NothingToExport: Without files.
            OSError: If the file cannot be written.
            ValueError: For another suffix, or one of the open files.
        """
        from viewer.api.outputs import output_path
        from viewer.html_report.contents import PAGE_SUFFIXES, ComparedReport, ReportOptions
        from viewer.html_report.report import write_report

        a, b = self._arms
        output = output_path(path, PAGE_SUFFIXES, (*a.paths, *b.paths))
        compared = ComparedReport(self.comparison, b, self.problems)
        write_report(a, output, ReportOptions(title, source, compared))

    def to_json(self) -> str:
        """Return the comparison as `opscope compare --json` prints it.

        Returns:
            JSON; times are whole ns.
        """
        return json.dumps(self.facts, indent=1, allow_nan=False)


def compare(
    a: Path | Iterable[Path],
    b: Path | Iterable[Path],
    by: str = "operator",
    *,
    relative: bool = False,
    noise: str | os.PathLike[str] | None = None,
    a_inferences: Collection[int] | None = None,
    b_inferences: Collection[int] | None = None,
    a_method: str | None = None,
    b_method: str | None = None,
    pair: Option = (),
    clock: Option = (),
    method: Option = (),
    identifier_column: Option = (),
    source_path: Option = (),
    columns: Option = (),
) -> ComparedProfiles:
    """Compare two arms: is B faster, where, and is it sure?

    Each file is a session, that is, one process on the device; a verdict needs 3 in each arm. An
    ETRecord in one arm is used for both if the other has none.

    Args:
        a: The files of arm A; a folder means all files in it.
        b: The files of arm B.
        by: What a row is, as for `opscope compare --by`.
        relative: Divide times by the inference of their session.
        noise: A file that `opscope compare --null` wrote.
        a_inferences: Numbers of the inferences of A that count, from 1; all by default.
        b_inferences: The same for B.
        a_method: The method of A whose inferences count; all by default.
        b_method: The same for B.
        pair: As for `viewer.open`.
        clock: As for `viewer.open`.
        method: As for `viewer.open`.
        identifier_column: As for `viewer.open`.
        source_path: As for `viewer.open`.
        columns: As for `viewer.open`.

    Returns:
        The comparison, with its verdict and its rows.

    Raises:
        UnreadableFile: For a file that cannot be read.
        ValueError: For arms that cannot be compared.
    """
    files_a, files_b = (files_in(paths_of(files)) for files in (a, b))
    options = option_texts(
        columns, pair=pair, clock=clock, method=method, identifier_column=identifier_column,
        source_path=source_path,
    )  # fmt: skip
    known_noise = read_noise(os.fspath(noise)) if noise is not None else None
    of_a = opened_workspace(files_a, options.of_arm(files_a, files_b))
    of_b = opened_workspace(files_b, options.of_arm(files_b, files_a))
    share_programs(of_a, of_b)
    share_programs(of_b, of_a)
    choices = _choice(of_a, a_inferences, a_method), _choice(of_b, b_inferences, b_method)
    with as_in_python():
        comparison_and_notes = compared(of_a, of_b, by, choices, known_noise, relative=relative)
    return ComparedProfiles(*comparison_and_notes, (of_a, of_b))


def _choice(
    workspace: Workspace, numbers: Collection[int] | None, method: str | None
) -> RunChoice | None:
    run_choices = [] if numbers is None else [of_numbers(workspace, numbers)]
    if method is not None:
        run_choices.append(of_method(workspace, method))
    return all_of(run_choices)
