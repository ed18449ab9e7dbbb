"""Windows that the tests of a module share, empty or with a sample open."""

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.events import controller_of
from tests.gui.shared_window import SharedWindow

_FOLDER = "tests/gui/window/"


def _shown(item: pytest.Item) -> tuple[str, ...]:
    """The fixtures of a test that show some files in the shared window."""
    fixtures = item._fixtureinfo.name2fixturedefs
    return tuple(name for name, each in fixtures.items() if "shared_window" in each[-1].argnames)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In each module, run the tests together that show the same files: to open others takes longer
    than most tests. They stay in the order of the first of them.
    """
    first: dict[tuple[object, ...], int] = {}
    places = {item: (place, place) for place, item in enumerate(items)}
    for place, item in enumerate(items):
        if item.nodeid.startswith(_FOLDER):
            key = item.path, _shown(item)
            places[item] = first.setdefault(key, place), place
    items.sort(key=places.__getitem__)


@pytest.fixture(scope="module")
def shared_window(qapp, tmp_path_factory, request):
    """A window that the tests of a module share; see `tests.gui.shared_window`.

    It paints by itself if the module has `PAINTS = True`; see `controller_of`.
    """
    paints = getattr(request.module, "PAINTS", False)
    folder, qtbot = tmp_path_factory.mktemp("window"), QtBot(request)
    with pytest.MonkeyPatch.context() as patch:
        shared = SharedWindow(
            lambda: controller_of(qtbot, folder, patch, paints=paints),
            folder / "settings.ini",
            qtbot,
        )
        yield shared
        shared.destroy()


@pytest.fixture
def controller(shared_window):
    """A window on its start page, that other tests of the module may have used."""
    return shared_window.showing()


@pytest.fixture
def attention(shared_window):
    """The attention sample, in a window that other tests of the module may have used."""
    return shared_window.showing_sample("attention_xnnpack")
