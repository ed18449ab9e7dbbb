"""Which panels a window has: each is created on demand, once, and with its host.

What a file opens with is a table: which panels are where and in front, by what the file holds. This
table alone decides, not what was opened before. What users arrange is a `SavedPanels`: it is stored
with their session, and for all files only if they make it their default. The layouts of the View
menu have the same form.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from PySide6.QtWidgets import QWidget

from viewer.dataclasses import dataclass, field
from viewer.gui.panels.base.panel import PanelHost, PanelWidget
from viewer.gui.panels.base.panel_spec import PanelArea, PanelCommand, PanelTable
from viewer.gui.qt.command_table import Command, Precondition
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.view.sessions.session_file import SavedPanels

_Widget = TypeVar("_Widget", bound=QWidget)


class MadeOnUse(Mapping[str, _Widget]):
    """Widgets by name, each made when it is first looked up.

    `existing`: those that were made. `begun`: the names of those, and of those that are being made.
    """

    def __init__(self, names: Iterable[str], make: Callable[[str], _Widget]) -> None:
        self._names, self._make = tuple(names), make
        self.existing: dict[str, _Widget] = {}
        self.begun: set[str] = set()

    def __getitem__(self, name: str) -> _Widget:
        if name not in self.existing:
            if name not in self._names:
                raise KeyError(name)
            self.begun.add(name)
            self.existing[name] = self._make(name)
        return self.existing[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class PanelRegistry:
    """Creates the timeline and the panels of one session, each on first use.

    `pages` are by id, and so are `panels`, of which some have several pages. Importing and creating
    all of them takes half a second, and few are in front when a file opens.
    """

    def __init__(
        self, session: Session, theme: Theme, host_of: Callable[[str], PanelHost], table: PanelTable
    ) -> None:
        """host_of: creates the host of a page, given by its id."""
        self.session, self.table = session, table
        self._theme, self._host_of = theme, host_of
        self._timeline: Timeline | None = None
        self._followers: list[Callable[[str, PanelWidget], object]] = []
        self.pages: MadeOnUse[PanelWidget] = MadeOnUse(table.pages, self._make_page)
        self.panels: MadeOnUse[QWidget] = MadeOnUse(table.panels, self._make_panel)

    @property
    def timeline(self) -> Timeline:
        """The timeline."""
        if self._timeline is None:
            self._timeline = Timeline(self.session, self._theme)
        return self._timeline

    def __getitem__(self, page: str) -> PanelWidget:
        return self.pages[page]

    def prepare(self) -> bool:
        """Create the timeline; False if it exists."""
        return self._timeline is None and self.timeline is not None

    def make(self, page: str) -> None:
        """Make a page, unless it exists or is being made."""
        if page not in self.pages.begun:
            self.pages[page]

    def follow(self, follower: Callable[[str, PanelWidget], object]) -> None:
        """Call a function with the id and widget of each page: now, or once it is made."""
        self._followers.append(follower)
        for page, widget in self.pages.existing.items():
            follower(page, widget)

    def _make_page(self, page: str) -> PanelWidget:
        widget: PanelWidget = made_by(self.table.pages[page].factory)(self._host_of(page))
        for follower in self._followers:
            follower(page, widget)
        return widget

    def _make_panel(self, name: str) -> QWidget:
        spec = self.table.panels[name]
        if len(spec.pages) == 1:
            return self.pages[spec.id]
        titles = {page.id: page.choice or page.title for page in spec.pages}
        pages = MadeOnUse(titles, self.pages.__getitem__)
        panel: QWidget = made_by(spec.factory)(spec.switch, pages, titles, self._theme)
        return panel

    def commands(self) -> list[Command]:
        """The commands of all panels."""
        return [
            self._command(page.id, command)
            for page in self.table.pages.values()
            for command in page.commands
        ]

    def _command(self, page: str, command: PanelCommand) -> Command:
        ready = command.ready

        def is_ready() -> bool:
            if not isinstance(ready, str):
                return ready(self.session)
            return bool(getattr(self.pages.existing.get(page), ready, False))

        return Command(
            command.id,
            command.title,
            lambda: getattr(self.pages[page], command.method)(),
            command.keys,
            Precondition(command.needs, is_ready) if command.needs else None,
            repeats=command.repeats,
            keywords=command.keywords,
            after=command.after,
            menu=command.menu,
        )


def made_by(factory: str) -> Any:
    """The class that a spec names; imports its module on the first call."""
    module, name = factory.split(":")
    return getattr(importlib.import_module(module), name)


_LEFT, _RIGHT = PanelArea.LEFT, PanelArea.RIGHT


@dataclass(frozen=True, slots=True)
class Home:
    """Where files of a kind start.

    front: the panels in front of their areas; narrow: those where the side panels are tabs of the
    left half. moved: the areas of panels that are elsewhere than in other files.
    """

    front: tuple[str, ...]
    narrow: tuple[str, ...]
    moved: Mapping[str, PanelArea] = field(default_factory=dict)


# Of a narrow window the answer is in view, and what it is about beside it.
WITH_SOURCE = Home(("operators", "source", "summary"), ("summary", "source"))
# The right half has no source lines, so it has the flame graph.
WITHOUT_SOURCE = Home(("operators", "calls", "summary"), ("summary", "calls"), {"calls": _RIGHT})
WITHOUT_TIMES = Home(("operators", "source", "summary"), ("operators", "source"))

DEFAULT = SavedPanels()
ONLY_TIMELINE = SavedPanels(hidden=tuple(area.name.lower() for area in PanelArea))
SOURCE = SavedPanels(
    recent=("operators", "source"), hidden=(PanelArea.SIDE.name.lower(),), sizes=(372, 380, 620)
)
COMPARE = SavedPanels(opened=("compare",), recent=("operators", "compare"), sizes=(520, 530, 450))


def layout_text(panels: SavedPanels) -> str:
    """Return a layout as the settings store it."""
    return msgspec.json.encode(panels).decode()


def stored_layout(text: str) -> SavedPanels:
    """Return the layout that a text of the settings states, `DEFAULT` if it states none."""
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=SavedPanels)
    except msgspec.MsgspecError:
        return DEFAULT
