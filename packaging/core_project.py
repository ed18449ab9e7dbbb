"""Makes the pyproject.toml of opscope-core: the command and the API without Qt, for servers.

A third of what an environment of Opscope takes is the window's: PySide6 has 234 of 640 MB.
`build-wheel` builds a second wheel from the same source archive with what this module returns.
Both wheels install the package `viewer`, so an environment has one of them.
"""

import re

NAME = "opscope-core"
# What only the window imports.
_OF_WINDOW = ("pyqtgraph", "PySide6-Essentials", "rustworkx")


def core_project(project: str) -> str:
    """Return the pyproject.toml of opscope-core, of that of opscope."""
    text = _replaced(r'^name = "opscope"$', f'name = "{NAME}"', project)
    text = _replaced(
        r'^description = ".*"$',
        'description = "Opscope without a window: profiles of on-device ML on the command line and '
        'from Python"',
        text,
    )
    for package in _OF_WINDOW:
        text = _replaced(rf'^    "{package}[^"]*",\n', "", text)
    text = _replaced(r"^\[project\.gui-scripts\]\n.*\n", "", text)
    text = text.replace('"opscope[', f'"{NAME}[')
    return _replaced(
        r'^exclude = \["viewer/\*\*/README\.md", "viewer/decisions"\]$',
        'exclude = ["viewer/**/README.md", "viewer/decisions", "viewer/gui"]',
        text,
    )


def _replaced(pattern: str, new: str, text: str) -> str:
    changed, count = re.subn(pattern, new, text, flags=re.M)
    if not count:
        raise SystemExit(
            f"pyproject.toml has no line {pattern}, which packaging/core_project expects"
        )
    return changed
