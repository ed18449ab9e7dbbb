"""Sessions over the bundled samples, a theme, panels, and the timeline alone on screen.

The source of the samples lies beside them.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QWidget

from tests.builders.stretched_dumps import write_arm
from tests.gui.dark_theme import dark_theme
from tests.gui.fake_host import FakeHost
from tests.gui.timeline_harness import TimelineHarness
from viewer.gui.qt.settings import Settings
from viewer.gui.session.comparison import compare_files
from viewer.gui.session.session import Session
from viewer.gui.timeline.painting import labels
from viewer.resources import SAMPLES

PanelT = TypeVar("PanelT", bound=QWidget)

_SAMPLES = {sample.key: sample for sample in SAMPLES}


@pytest.fixture(autouse=True)
def labels_are_written(monkeypatch):
    """Pictures of the same state are equal: a copied label may differ by 1 of 255."""
    monkeypatch.setattr(labels, "OFTEN", sys.maxsize)


@pytest.fixture
def theme(qapp):
    return dark_theme()


@pytest.fixture
def harness(qtbot, theme):
    """A timeline alone on screen, with nothing open."""
    made = TimelineHarness(qtbot, theme)
    yield made
    made.put_away()


@pytest.fixture
def attention(harness):
    """The timeline alone, with the attention sample."""
    harness.open_sample("attention_xnnpack")
    return harness


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))


@pytest.fixture
def sample(opened):
    """Make a session with a bundled sample open."""

    def make(key: str) -> Session:
        return opened(*_SAMPLES[key].paths())

    return make


@pytest.fixture
def compared(opened, data, tmp_path):
    """Make a session that compares two arms of three sessions each, of one small program.

    factors: how much longer the operators of a module take in B, by its path.
    """

    def make(factors: Mapping[str, float]) -> Session:
        source = data / "compare/02_module_renamed"
        a = write_arm(tmp_path, "a", source)
        b = write_arm(tmp_path, "b", source, factors)
        session = opened(source / "a.etrecord", *a, *b)
        assert not compare_files(session, [str(path) for path in b])
        return session

    return make


@pytest.fixture
def attention_record() -> str:
    return _SAMPLES["attention_xnnpack"].paths()[1]


@pytest.fixture
def make_panel(theme, qtbot):
    """Make a panel over a session, with a fake host, and do not show it yet."""

    def make(kind: Callable[[FakeHost], PanelT], session: Session) -> PanelT:
        made = kind(FakeHost(session, theme))
        qtbot.addWidget(made)
        theme.apply_to(made)
        return made

    return make


@pytest.fixture
def show_panel(make_panel):
    """Make a panel over a session and show it; the size is in pixels.

    At the default width, all columns of a table fit.
    """

    def show(
        kind: Callable[[FakeHost], PanelT],
        session: Session,
        width: int = 1100,
        height: int = 400,
    ) -> PanelT:
        made = make_panel(kind, session)
        made.resize(width, height)
        made.show()
        return made

    return show


@pytest.fixture
def show_files(show_panel, opened, data):
    """Show a panel over a session with some files of tests/data open."""

    def show(kind: Callable[[FakeHost], PanelT], *names: str, width: int = 1100) -> PanelT:
        return show_panel(kind, opened(*(data / name for name in names)), width)

    return show
