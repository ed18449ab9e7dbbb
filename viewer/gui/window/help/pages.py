"""The help pages in resources/help: one per panel, and some general ones.

A page is Markdown; its first line is its title. `[[view.fit_all]]` is replaced with a command's
title and current shortcuts, so that pages stay correct when shortcuts change. Pages link to one
another by file name, `operators.md`, and to headings as in `recording.md#etrecord`, as on code
hosts. No page links to a website. This module does not use Qt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from viewer.gui.window.frame.panel_table import PANELS
from viewer.resources import resource

INDEX = "index"
TIMELINE = "timeline"
RECORDING = "recording"
GLOSSARY = "glossary"
KEYS = "keys"
_PANELS = sorted(PANELS, key=lambda spec: spec.area.value)
# In the order of the page list: first steps, the panels by their area in the window, then pages
# about the whole program.
PAGES = (
    INDEX, RECORDING, "formats", "pytorch", "onnxruntime", KEYS, TIMELINE, "clocks",
    *(page.help_page for spec in _PANELS for page in spec.pages), "export", "report",
    "command_line", "sql", "fleets", "python", "api", "assistants", "delegates", "migrating",
    "trust", "accessibility", GLOSSARY,
)  # fmt: skip
_COMMAND = re.compile(r"\[\[([a-z_]+\.\w+)\]\]")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@cache
def text_of(page: str) -> str:
    """The Markdown text of a page, unchanged. Raises KeyError if there is no such page."""
    if page not in PAGES:
        raise KeyError(page)
    return resource("help", f"{page}.md").read_text(encoding="utf-8")


def title_of(page: str) -> str:
    """The first heading of a page."""
    return text_of(page).partition("\n")[0].removeprefix("# ")


def filled(page: str, command_text: Callable[[str], str]) -> str:
    """The text of a page with each command replaced with `command_text(id)`."""
    return _COMMAND.sub(lambda match: command_text(match[1]), text_of(page))


def slug(heading: str) -> str:
    """The anchor of a heading, as code hosts form it: "Torq profiles" gives `torq-profiles`."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def headings_of(page: str) -> list[str]:
    """The headings of a page, starting with its title; skips code blocks."""
    return _HEADING.findall(_FENCE.sub("", text_of(page)))


def link_target(link: str) -> tuple[str, str] | None:
    """The page and heading of a link, None if it does not lead to a help page."""
    path, _, heading = link.partition("#")
    page = path.removesuffix(".md")
    return (page, heading) if page in PAGES and path.endswith(".md") else None
