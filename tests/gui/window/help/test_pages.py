"""The pages of the help: every dock has one, all that they name exists, and no link leads out."""

import re

import pytest

from tests.gui.window.help.mentioned import commands_in, pictures_in
from viewer.gui.window.frame.panel_table import TABLE
from viewer.gui.window.help.pages import (
    INDEX,
    PAGES,
    RECORDING,
    filled,
    headings_of,
    link_target,
    slug,
    text_of,
    title_of,
)
from viewer.resources import resource

TITLES = {page.help_page: page.title for page in TABLE.pages.values()}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)]*)\)")


def test_every_dock_and_the_timeline_has_a_page():
    assert {*TITLES, "timeline"} <= set(PAGES)
    assert {name: title_of(name) for name in TITLES} == TITLES


def test_every_file_of_the_help_is_a_page_and_the_other_way_round():
    assert {path.stem for path in resource("help").glob("*.md")} == set(PAGES)
    with pytest.raises(KeyError):
        text_of("../samples/README")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_exists(page, command_ids):
    assert set(commands_in(page)) <= command_ids
    # Nothing that looks like one is left over, as a misspelled one would be.
    assert "[[" not in filled(page, lambda id: "")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_heading_of_the_help(page):
    for link in LINK.findall(text_of(page)):
        target = link_target(f"{page}.md{link}" if link.startswith("#") else link)
        assert target is not None, link
        other, heading = target
        assert not heading or heading in map(slug, headings_of(other)), link
    # No page leads out of the help. Addresses of buckets and clusters are no links.
    assert "http://" not in text_of(page)
    assert "https://" not in text_of(page)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in (INDEX, RECORDING)])
def test_a_page_says_what_is_shown_what_it_means_and_what_to_press(page):
    headings = headings_of(page)
    assert len(headings) >= 3
    if page in TITLES:
        assert "Keys" in headings
        assert "What to click" in headings
    first = text_of(page).split("\n\n")[1]
    assert first.endswith(".")
    assert len(first) < 200


def test_what_a_page_of_any_other_name_is_no_target():
    assert link_target("operators.md") == ("operators", "")
    assert link_target("recording.md#etdump") == ("recording", "etdump")
    for odd in ("", "operators", "https://example.org/operators.md", "../operators.md", "x.md"):
        assert link_target(odd) is None


@pytest.fixture(scope="module")
def command_ids(qapp, tmp_path_factory):
    """The ids of all commands of a window."""
    from PySide6.QtCore import QSettings

    from tests.gui.dark_theme import dark_theme
    from tests.gui.events import put_away
    from viewer.gui.qt.settings import Settings
    from viewer.gui.window.main_window import MainWindow

    store = QSettings(
        str(tmp_path_factory.mktemp("help") / "settings.ini"), QSettings.Format.IniFormat
    )
    window = MainWindow(dark_theme(), Settings(store))
    yield set(window.controller.commands.commands)
    put_away(window)


def test_every_picture_of_a_page_exists_and_every_picture_is_on_a_page():
    """Small ones, since the program carries them."""
    shown = {name for page in PAGES for name in pictures_in(page)}
    folder = resource("help")
    assert shown == {f"pictures/{path.name}" for path in (folder / "pictures").iterdir()}
    for name in shown:
        assert (folder / name).stat().st_size < 60_000
