"""A host of panels without a window, which notes what it is asked."""

from functools import partial

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session


class FakeHost:
    """A `PanelHost`. asked: name and arguments of each request. counts: what the tab would show."""

    def __init__(self, session: Session, theme: Theme) -> None:
        self.session, self.theme = session, theme
        self.asked: list[tuple[object, ...]] = []
        self.counts: list[int] = []

    def show_count(self, count: int) -> None:
        self.counts.append(count)

    def refresh_commands(self) -> None:
        """There are none."""

    def __getattr__(self, name: str) -> partial[None]:
        return partial(self._note, name)

    def _note(self, name: str, *arguments: object) -> None:
        self.asked.append((name, *arguments))
