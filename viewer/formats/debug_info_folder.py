"""The files to open of a Torq debug-info folder, as torq-compile --torq-debug-info=DIR makes it.

The compiler writes one bytecode file per dispatch (`<dispatch>.mlirb`). Texts that were printed of
them lie beside them (`<dispatch>.mlir`); a bytecode file that has its text is not needed any more.
"""

from __future__ import annotations

import os

TEXT, BYTECODE = ".mlir", ".mlirb"


class NoDebugInfo(Exception):
    """A folder without any debug info; the message says which, and what makes some."""


def files_of(folder: str) -> list[str]:
    """The texts in a folder and the bytecode files without one, by name.

    A bytecode file cannot be read; opening it says with which command it is printed as text. Raises
    NoDebugInfo if there is neither, or no such folder.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise NoDebugInfo(f"{folder}: it cannot be listed ({error.strerror or error})") from error
    texts = {name.removesuffix(TEXT) for name in names if name.endswith(TEXT)}
    found = [
        name
        for name in names
        if name.endswith(TEXT)
        or (name.endswith(BYTECODE) and name.removesuffix(BYTECODE) not in texts)
    ]
    if not found:
        raise NoDebugInfo(
            f"{folder}: no debug info is in this folder, neither {TEXT} nor {BYTECODE} files. "
            "torq-compile --torq-debug-info=DIR writes it"
        )
    return [os.path.join(folder, name) for name in found]
