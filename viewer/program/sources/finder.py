"""Finds sources: among open files, at paths that the user set, and next to open files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from viewer.program.program import Program
from viewer.program.sources.files import (
    SourceFile,
    Substitution,
    local_paths,
    shared_suffix,
)
from viewer.program.sources.named_files import find_around, find_source, read_named
from viewer.program.sources.versions import version_fit


class Sources:
    """Looks up the sources of the open files, each path once.

    programs, paths: the open ones. substitutions: recorded folders and their local folders, in the
    order they were given.
    """

    def __init__(
        self,
        programs: Sequence[Program] = (),
        paths: Sequence[str] = (),
        substitutions: Sequence[Substitution] = (),
    ) -> None:
        self._programs, self._paths = programs, paths
        self._substitutions = substitutions
        self._found: dict[str, SourceFile | None] = {}

    def source(self, recorded: str) -> SourceFile | None:
        """The source of a recorded path, or None if it is not found.

        Sources are open programs, local files, and files near the open ones.
        """
        if recorded not in self._found:
            self._found[recorded] = self._find(recorded)
        return self._found[recorded]

    def _find(self, recorded: str) -> SourceFile | None:
        texts = [p for p in self._programs if p.text_lines]
        opened = max(texts, key=lambda p: shared_suffix(p.path, recorded), default=None)
        if opened is not None and opened.path == recorded:
            return SourceFile(recorded, recorded, opened.text_lines)
        # The user's substitution has priority over an open text with a similar path.
        for path in local_paths(recorded, self._substitutions):
            lines = read_named(path, self._substitutions)
            if lines is not None:
                return SourceFile(recorded, path, lines)
        if opened is not None and shared_suffix(opened.path, recorded):
            return SourceFile(recorded, opened.path, opened.text_lines)
        folders = dict.fromkeys(os.path.dirname(os.path.abspath(p)) for p in self._paths)
        parents = list(folders)
        found = find_source(recorded, parents, self._substitutions)
        return found or find_around(
            recorded, parents, lambda file: _is_recorded(file, self._programs)
        )


def _is_recorded(file: SourceFile, programs: Sequence[Program]) -> bool:
    """Whether a file matches the lines that the programs quote.

    If none quotes it, whether at least its folder has the recorded name too.
    """
    fits = [fit for program in programs if (fit := version_fit(program, file)).compared]
    if fits:
        return not any(fit.is_other for fit in fits)
    return shared_suffix(file.recorded, file.shown) > 1
