"""The files that the API writes, and a picture that notebooks show or that becomes one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from viewer.codecs.atomic_file import OVERWRITTEN, is_same_file, write_whole
from viewer.dataclasses import dataclass


def output_path(
    path: str | os.PathLike[str], suffixes: Sequence[str], inputs: Iterable[str] = ()
) -> str:
    """Return the path of a file to write.

    Raises ValueError if its name has another suffix, or if it is one of the files that are open.
    """
    name = os.fspath(path)
    if not name.lower().endswith(tuple(suffixes)):
        expected = f"one of {', '.join(suffixes)}" if len(suffixes) > 1 else suffixes[0]
        raise ValueError(f"{name}: the name must end in {expected}")
    if any(is_same_file(input_path, name) for input_path in inputs):
        raise ValueError(f"{name}: {OVERWRITTEN}")
    return name


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG picture.

    Attributes:
        svg: Its text, "" if there is nothing to show.
    """

    svg: str

    def __repr__(self) -> str:
        return f"<Picture of {len(self.svg):,} characters>"

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as an SVG file.

        Args:
            path: The file to write; its name ends in .svg.

        Raises:
            OSError: If the file cannot be written.
            ValueError: For another suffix.
        """
        write_whole(output_path(path, [".svg"]), self.svg.encode("utf-8", "replace"))
