"""Shared by all tests: offscreen Qt, settings in a throw-away folder, the bundled data."""

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.paths import DATA
from tests.reliability.properties import PROFILE as EXPLORE

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Before Qt is imported: QSettings of any test must not touch those of the user, and a window of the
# user must not get the files of a test. A folder for temporary files of its own, since each command
# looks through it for what dead processes left; `tmp_path` stays where it is.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
for _variable in ("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
    os.environ[_variable] = tempfile.mkdtemp(prefix="opscope-test-")
    atexit.register(shutil.rmtree, os.environ[_variable], ignore_errors=True)
tempfile.tempdir = None

# Widgets of earlier tests must not be collected in the thread of a reader; see
# viewer/gui/qt/background.py.
gc.disable()

# A time limit fails on a busy machine and proves nothing. Examples are the same in each run, so a
# change fails only for what it changed; `tests/reliability/properties.py` tries new ones. By night,
# there are more of them.
_DAILY = settings(
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("opscope", _DAILY)
settings.register_profile("nightly", _DAILY, max_examples=400)
settings.register_profile(EXPLORE, _DAILY, derandomize=False, max_examples=1000)
settings.load_profile("opscope")

_PATIENCE_MS = 30_000
_DAILY_SEEDS = 3


def pytest_configure(config: pytest.Config) -> None:
    """Benches that are measured have their full size, in the processes of xdist too.

    Tests of windows wait longer than the usual 5 s: on a busy machine, some waits took 3 s.
    """
    from pytestqt.qtbot import QtBot

    from tests.builders.bench_sizes import MEASURED

    for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitExposed):
        wait.__kwdefaults__["timeout"] = _PATIENCE_MS
    if config.getoption("benchmark_enable"):
        os.environ[MEASURED] = "1"


@pytest.hookimpl(tryfirst=True)  # before -m chooses among them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need Qt's application, since they show a widget.

    Of a test over seeds, the first few run by day, all by night.
    """
    for item in items:
        if "qapp" in getattr(item, "fixturenames", ()):
            item.add_marker("window")
        indices = getattr(getattr(item, "callspec", None), "indices", {})
        if indices.get("seed", 0) >= _DAILY_SEEDS:
            item.add_marker("nightly")


def pytest_collection_finish() -> None:
    """Tests and modules stay to the end: no collection needs to look at them."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """Collect between tests what the program collects by its timer, and delete what is due.

    Widgets that wait for an event loop to delete them take part in every change of the look.
    """
    from PySide6.QtCore import QCoreApplication, QEvent

    from viewer.gui.qt.background import collect_due

    try:
        yield
    finally:
        if QCoreApplication.instance() is not None:
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        collect_due()


@pytest.fixture
def data() -> Path:
    """The folder of small real and synthesized input files."""
    return DATA


@pytest.fixture
def dump(tmp_path: Path) -> Callable[..., Path]:
    """Writes runs, given as (name, events), as an ETDump of a schema generation."""
    from tests.builders.etdump_writer import Event, Run, write_dump

    def write(*runs: tuple[str | None, list[Event]], prefix: bool = True, g1: bool = False) -> Path:
        listed = [Run(name, events) for name, events in runs]
        generation = "G1" if g1 else "G3"
        return write_dump(tmp_path / "built.etdp", listed, prefix=prefix, generation=generation)

    return write


@pytest.fixture
def reads(monkeypatch):
    """The paths that readers read."""
    from viewer import formats

    read = formats._read
    paths: list[str] = []

    def counted(chosen, path, *rest):
        paths.append(path)
        return read(chosen, path, *rest)

    monkeypatch.setattr(formats, "_read", counted)
    return paths


@pytest.fixture
def opened(qapp):
    """Make a session with some files open."""
    from viewer.formats import open_file
    from viewer.gui.session.session import Session

    def make(*paths):
        session = Session()
        session.add([open_file(str(path)) for path in paths])
        return session

    return make


@pytest.fixture
def controller(qtbot, qapp, tmp_path, monkeypatch):
    """The controller of the shown main window, on its start page."""
    from tests.gui.events import controller_of, put_away

    made = controller_of(qtbot, tmp_path, monkeypatch, paints=True)
    yield made
    put_away(made.window)


@pytest.fixture
def fresh_places():
    """No place in the program has reported a fault yet."""
    from viewer.gui.qt import crash_report

    crash_report.forget()
    yield
    crash_report.forget()
