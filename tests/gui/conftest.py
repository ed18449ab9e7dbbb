"""Sessions over the bundled samples, a theme, and the timeline alone on screen.

The source of the samples lies beside them.
"""

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QWidget

from tests.gui.board import Board
from viewer.gui.qt.settings import Settings
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.resources import SAMPLES

_SAMPLES = {sample.key: sample for sample in SAMPLES}


@pytest.fixture
def theme(qapp):
    made = Theme(qapp, "dark")
    yield made
    qapp.setStyleSheet("")
    made.deleteLater()


@pytest.fixture
def board(qtbot, theme):
    """A timeline alone on screen, with nothing open."""
    made = Board(qtbot, theme)
    yield made
    made.put_away()


@pytest.fixture
def attention(board):
    """The timeline alone, with the attention sample."""
    board.open_sample("attention_xnnpack")
    return board


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
def attention_record() -> str:
    return _SAMPLES["attention_xnnpack"].paths()[1]


@pytest.fixture
def shown(opened, data, theme, qtbot):
    """Make a panel of some class over some files of tests/data, wide enough for all columns."""

    def make(kind: type[QWidget], *names: str, width: int = 1100) -> QWidget:
        made = kind(opened(*(data / name for name in names)), theme)
        qtbot.addWidget(made)
        made.resize(width, 400)
        made.show()
        return made

    return make
