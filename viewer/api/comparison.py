"""`viewer.compare`: two arms of profiles, what changed, and what is proven."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from viewer.analysis.comparison.comparison import Comparison
from viewer.api.opening import Option, Path, as_in_python, opened_workspace, option_texts, paths_of
from viewer.formats.folders import files_in
from viewer.reports.compare import compare_facts, compared
from viewer.reports.compare_sentences import explanation, headline
from viewer.reports.info import Facts
from viewer.tables.command_rows import COMPARISON
from viewer.workspace.comparison_arms import share_programs
from viewer.workspace.run_choice import RunChoice, all_of, of_method, of_numbers
from viewer.workspace.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd


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
            {
                **row,
                "a_ns": row["a"] and row["a"]["ns"],
                "b_ns": row["b"] and row["b"]["ns"],
            }
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
        from viewer.html_report.notebook import comparison_page

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
        from viewer.html_report.options import PAGE_SUFFIXES, ComparedReport, ReportOptions
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
    from viewer.reports.compare import read_noise

    files_a, files_b = (files_in(paths_of(files)) for files in (a, b))
    options = option_texts(pair, clock, method, identifier_column, source_path, columns=columns)
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
