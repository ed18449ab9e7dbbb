"""Which files Opscope reads because a profile or an ETRecord names them.

A stack trace or a location is untrusted: it may name a password file, a key or a device. Opscope
reads a file that it names only if it is a regular local file of at most `MAX_SOURCE` bytes whose
real name, behind all symbolic links, ends with one of `SUFFIXES`, or that is below a folder that
the user named for files of any kind (`Substitution.any_kind`).

`Sources` finds them among open files, at paths that the user set, and next to open files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence

from viewer.model.text import one_line
from viewer.program.program import Program
from viewer.program.sources.files import (
    MAX_SOURCE,
    SourceFile,
    Substitution,
    candidates,
    is_kernel_path,
    is_plain_file,
    local_paths,
    parent_folders,
    read_source,
    shared_suffix,
)
from viewer.program.sources.quoted_lines import version_fit

SUFFIXES = (".py", ".mlir")


def is_source_name(path: str) -> bool:
    """Whether the real name of a file, behind symbolic links, is that of a source."""
    return os.path.realpath(path).lower().endswith(SUFFIXES)


def is_readable(path: str, most: int, substitutions: Sequence[Substitution] = ()) -> bool:
    """Whether a profile may name this file, of at most `most` bytes, to have it read."""
    return is_plain_file(path, most) and (
        is_source_name(path) or _is_in_chosen(path, substitutions)
    )


def read_named(path: str, substitutions: Sequence[Substitution] = ()) -> tuple[str, ...] | None:
    """The lines of a file that a profile names; None if it is missing, not text or not allowed."""
    # The resolved path, so that what is read is what was checked.
    real = os.path.realpath(path) if is_readable(path, MAX_SOURCE, substitutions) else None
    return None if real is None else read_source(real)


def find_source(
    recorded_path: str, folders: Sequence[str], substitutions: Sequence[Substitution] = ()
) -> SourceFile | None:
    """The source of a recorded path, from that path or next to the opened files; None if missing.

    folders: those of opened files, in order of preference. substitutions: see `read_named`.
    """
    for candidate in candidates(recorded_path, folders):
        lines = read_named(candidate, substitutions)
        if lines is not None:
            return SourceFile(recorded_path, candidate, lines)
    return None


def find_around(
    recorded_path: str, folders: Sequence[str], is_it: Callable[[SourceFile], bool]
) -> SourceFile | None:
    """The source of a recorded path in parent folders of opened files, nearest first, or None.

    is_it: confirms that a file with the same path suffix is the recorded one.
    """
    for folder in parent_folders(folders):
        for candidate in candidates(recorded_path, [folder]):
            lines = read_named(candidate)
            if lines is not None and is_it(SourceFile(recorded_path, candidate, lines)):
                return SourceFile(recorded_path, candidate, lines)
    return None


def refusal(
    recorded_path: str, folders: Sequence[str], substitutions: Sequence[Substitution] = ()
) -> str:
    """Why a file of a recorded path is not read although there is one; "" if there is none.

    folders: those of opened files.
    """
    if recorded_path.startswith(("//", "\\\\")) or is_kernel_path(recorded_path):
        return f"Opscope does not read {one_line(recorded_path)}: it is not a regular local file."
    paths = [*local_paths(recorded_path, substitutions), *candidates(recorded_path, folders)]
    return next(filter(None, (_why_not(path, substitutions) for path in paths)), "")


def _why_not(path: str, substitutions: Sequence[Substitution]) -> str:
    if is_kernel_path(path):
        return ""  # not even looked at: a stat may contact another machine
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(status.st_mode):
        return ""
    name = one_line(path)
    if stat.S_ISREG(status.st_mode) and status.st_size > MAX_SOURCE:
        return f"Opscope does not read {name}: it is larger than {MAX_SOURCE >> 20} MB."
    if not is_plain_file(path, MAX_SOURCE):
        return f"Opscope does not read {name}: it is not a regular local file."
    if not is_readable(path, MAX_SOURCE, substitutions):
        return (
            f"Opscope reads only .py and .mlir files that a profile names, not {name}. To show it, "
            "locate it once, or name its folder with --source-path."
        )
    return ""


def _is_in_chosen(path: str, substitutions: Sequence[Substitution]) -> bool:
    """Whether a file is below a folder that the user named for files of any kind."""
    real = os.path.realpath(path)
    chosen = (os.path.realpath(s.local) for s in substitutions if s.any_kind)
    return any(real == folder or real.startswith(os.path.join(folder, "")) for folder in chosen)


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

    def source(self, recorded_path: str) -> SourceFile | None:
        """The source of a recorded path, or None if it is not found.

        Sources are open programs, local files, and files near the open ones.
        """
        if recorded_path not in self._found:
            self._found[recorded_path] = self._find(recorded_path)
        return self._found[recorded_path]

    def _find(self, recorded_path: str) -> SourceFile | None:
        texts = [p for p in self._programs if p.text_lines]
        opened = max(texts, key=lambda p: shared_suffix(p.path, recorded_path), default=None)
        if opened is not None and opened.path == recorded_path:
            return SourceFile(recorded_path, recorded_path, opened.text_lines)
        # The user's substitution has priority over an open text with a similar path.
        for path in local_paths(recorded_path, self._substitutions):
            lines = read_named(path, self._substitutions)
            if lines is not None:
                return SourceFile(recorded_path, path, lines)
        if opened is not None and shared_suffix(opened.path, recorded_path):
            return SourceFile(recorded_path, opened.path, opened.text_lines)
        folders = dict.fromkeys(os.path.dirname(os.path.abspath(p)) for p in self._paths)
        parents = list(folders)
        source_file = find_source(recorded_path, parents, self._substitutions)
        return source_file or find_around(
            recorded_path, parents, lambda file: _is_recorded(file, self._programs)
        )


def _is_recorded(file: SourceFile, programs: Sequence[Program]) -> bool:
    """Whether a file matches the lines that the programs quote.

    If none quotes it, whether at least its folder has the recorded name too.
    """
    fits = [fit for program in programs if (fit := version_fit(program, file)).compared]
    if fits:
        return not any(fit.is_other for fit in fits)
    return shared_suffix(file.recorded_path, file.shown) > 1
