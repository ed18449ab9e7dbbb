"""Where the sources of the open files are found: opened, where the user said, or beside them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from viewer.program.program import Program
from viewer.program.sources.files import (
    SourceFile,
    Substitution,
    find_around,
    find_source,
    local_paths,
    read_source,
    shared_suffix,
)
from viewer.program.sources.versions import version_fit


class Sources:
    """Looks up the sources of what is open at one moment, each once.

    programs, paths: what is open. substitutions: recorded folders and where they are here, in the
    order in which they were given.
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
        """The source of a recorded path among open programs, on this machine, or by open files."""
        if recorded not in self._found:
            self._found[recorded] = self._find(recorded)
        return self._found[recorded]

    def _find(self, recorded: str) -> SourceFile | None:
        texts = [p for p in self._programs if p.text_lines]
        opened = max(texts, key=lambda p: shared_suffix(p.path, recorded), default=None)
        if opened is not None and opened.path == recorded:
            return SourceFile(recorded, recorded, opened.text_lines)
        # What the user said about a path wins over a text that is only called alike.
        for path in local_paths(recorded, self._substitutions):
            lines = read_source(path)
            if lines is not None:
                return SourceFile(recorded, path, lines)
        if opened is not None and shared_suffix(opened.path, recorded):
            return SourceFile(recorded, opened.path, opened.text_lines)
        folders = dict.fromkeys(os.path.dirname(os.path.abspath(p)) for p in self._paths)
        beside = list(folders)
        found = find_source(recorded, beside)
        return found or find_around(
            recorded, beside, lambda file: _is_recorded(file, self._programs)
        )


def _is_recorded(file: SourceFile, programs: Sequence[Program]) -> bool:
    """Whether a file is what the programs quote; of what none quotes, whether its folder is called
    as the recorded one."""
    fits = [fit for program in programs if (fit := version_fit(program, file)).compared]
    if fits:
        return not any(fit.is_other for fit in fits)
    return shared_suffix(file.recorded, file.shown) > 1
