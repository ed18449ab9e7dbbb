"""The pages of the help: texts in resources/help, one for each panel, that name commands by id.

A page is Markdown; its first line is its title. `[[view.fit_all]]` stands for a command: its title
with the keys that it has now, so that no page tells a key that was given away. Pages link to one
another by file name, `operators.md`, and to a heading by `recording.md#etrecord`, as on a code
host. Nothing on a page leads out of this machine. No Qt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from viewer.gui.window.frame.panel_table import PANELS
from viewer.resources import resource

INDEX = "index"
TIMELINE = "timeline"
RECORDING = "recording"
GLOSSARY = "glossary"
_PANELS = sorted(PANELS, key=lambda spec: spec.area.value)
# In the order of the list beside the text: first steps, then the panels as they are in the window.
PAGES = (INDEX, RECORDING, TIMELINE, *(spec.help_page for spec in _PANELS), "export", GLOSSARY)
_COMMAND = re.compile(r"\[\[([a-z_]+\.\w+)\]\]")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@cache
def text_of(page: str) -> str:
    """The text of a page as it lies in its file. Raises KeyError for a page that there is not."""
    if page not in PAGES:
        raise KeyError(page)
    return resource("help", f"{page}.md").read_text(encoding="utf-8")


def title_of(page: str) -> str:
    """The first heading of a page."""
    return text_of(page).partition("\n")[0].removeprefix("# ")


def commands_in(page: str) -> Iterator[str]:
    """The ids of all commands that a page names."""
    return (found[1] for found in _COMMAND.finditer(text_of(page)))


def filled(page: str, told: Callable[[str], str]) -> str:
    """The text of a page with its commands in words; `told` makes those from an id."""
    return _COMMAND.sub(lambda found: told(found[1]), text_of(page))


def slug(heading: str) -> str:
    """How a link names a heading, as code hosts make it: "Torq profiles" is `torq-profiles`."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def headings_of(page: str) -> list[str]:
    """The headings of a page, its title first; what looks like one in a piece of code is none."""
    return _HEADING.findall(_FENCE.sub("", text_of(page)))


def link_target(link: str) -> tuple[str, str] | None:
    """Page and heading that a link leads to, None for anything else than a page of the help."""
    path, _, heading = link.partition("#")
    page = path.removesuffix(".md")
    return (page, heading) if page in PAGES and path.endswith(".md") else None
