"""The changelog is the one source of the release notes that packages have."""

import re
import sys
import xml.etree.ElementTree as ElementTree
from email.utils import parsedate_to_datetime

import pytest

from tests.paths import ROOT
from viewer import SCHEMA, __version__

TEXT = """\
# Changelog

How to read it.

## Unreleased

### Added

* Nothing that is released.

## 1.2.0 - 2026-12-24

A summary
of two lines.

### Added

* A thing with `code` and a [link](page.md),
  on two lines, and <tags> & more.
* Another.

### Fixed

* A fault.

## 0.9.0 - 2026-12-01

### Removed

* An option.
"""


@pytest.fixture
def changelog(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    before = set(sys.modules)
    import changelog

    yield changelog
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_releases_are_read_with_their_sections(changelog):
    first, second, third = changelog.releases(TEXT)
    assert (first.version, first.date) == ("Unreleased", "")
    assert (second.version, second.date) == ("1.2.0", "2026-12-24")
    assert second.summary == ["A summary of two lines."]
    assert second.items == {
        "Added": ["A thing with code and a link, on two lines, and <tags> & more.", "Another."],
        "Fixed": ["A fault."],
    }
    assert third.items == {"Removed": ["An option."]}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("## 0.9.0 - 2026-12-01", "## 0.9.0", "line 26: the heading must be"),
        ("### Fixed", "### Improved", "line 22: the sections are Added, "),
        ("# Changelog", "### Added", "line 1: the sections are Added, "),
    ],
)
def test_a_wrong_line_is_named(changelog, old, new, message):
    with pytest.raises(ValueError, match=message):
        changelog.releases(TEXT.replace(old, new))


def test_packages_list_what_is_released(changelog):
    known = changelog.releases(TEXT)
    element = ElementTree.fromstring(changelog.metainfo(known))
    assert [release.attrib for release in element] == [
        {"version": "1.2.0", "date": "2026-12-24", "type": "stable"},
        {"version": "0.9.0", "date": "2026-12-01", "type": "development"},
    ]
    texts = [" ".join(node.text.split()) for node in element.iter() if node.tag in ("p", "li")]
    assert texts == [
        "A summary of two lines.", "Added:",
        "A thing with code and a link, on two lines, and <tags> & more.", "Another.",
        "Fixed:", "A fault.", "Removed:", "An option.",
    ]  # fmt: skip
    debian = changelog.debian("A Name <a@example.org>", known)
    assert re.findall(r"^opscope \((.*)\) unstable; urgency=medium$", debian, re.M) == [
        "1.2.0", "0.9.0",
    ]  # fmt: skip
    assert "  * Another.\n" in debian
    assert "Nothing that is released" not in debian
    dates = re.findall(r"^ -- A Name <a@example\.org>  (.*)$", debian, re.M)
    assert [parsedate_to_datetime(date).date().isoformat() for date in dates] == [
        "2026-12-24", "2026-12-01",
    ]  # fmt: skip


def test_the_metainfo_has_the_releases_of_the_changelog(changelog):
    """If not, run `python packaging/changelog.py metainfo`."""
    text = changelog.METAINFO.read_text(encoding="utf-8")
    assert changelog.with_releases(text, changelog.metainfo()) == text


def test_the_releases_replace_those_of_the_metainfo(changelog, tmp_path):
    path = tmp_path / "metainfo.xml"
    path.write_text("<component>\n  <releases>\n    <release/>\n  </releases>\n</component>\n")
    changelog.write_metainfo(path)
    assert path.read_text() == f"<component>\n{changelog.metainfo()}</component>\n"
    with pytest.raises(ValueError, match="one element <releases>"):
        changelog.with_releases("<component/>", changelog.metainfo())


def test_the_changelog_has_this_version_and_this_schema(changelog):
    first, *others = changelog.releases()
    assert first.version == changelog.UNRELEASED
    assert others[0].version == __version__
    assert [release.date for release in others] == sorted((r.date for r in others), reverse=True)
    changes = [text for r in (first, *others) for text in r.items.get("Changed", ())]
    assert any(f"schema {SCHEMA}" in text for text in changes)
