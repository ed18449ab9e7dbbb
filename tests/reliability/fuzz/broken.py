"""The error of an oracle: something that must be true of every file is not."""

from __future__ import annotations


class Broken(Exception):
    """Something that must be true of a file is not. detail: the values, which vary by file."""

    def __init__(self, what: str, detail: str = "") -> None:
        super().__init__(f"{what}: {detail}" if detail else what)
        self.what = what


def must(holds: object, what: str, detail: str = "") -> None:
    """Raise Broken unless something holds."""
    if not holds:
        raise Broken(what, detail)
