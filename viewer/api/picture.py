"""A picture that notebooks show and that can be written to a file."""

from __future__ import annotations

import os
from dataclasses import dataclass

from viewer.api.outputs import output_path
from viewer.codecs.atomic_file import write_whole


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
