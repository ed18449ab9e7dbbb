"""How to install what an extra of Opscope needs, for the distribution that runs. No Qt.

A pip command cannot help in an application that brings its own Python, and in opscope-core it would
install the packages of the window.
"""

from __future__ import annotations

import importlib.util
import sys


def distribution() -> str:
    """Return the name of the distribution for pip: opscope, or opscope-core without a window."""
    has_window = importlib.util.find_spec("viewer.gui") is not None
    return "opscope" if has_window else "opscope-core"


def how_to_install(what: str, extra: str) -> str:
    """Return "queries need duckdb: pip install "opscope[query]"", for what needs a package.

    In an application, where pip installs nothing, the sentence names the Python package instead.
    """
    command = f'pip install "{distribution()}[{extra}]"'
    if getattr(sys, "frozen", False):
        return f"{what}, which this application does not include: install Opscope with {command}"
    return f"{what}: {command}"
