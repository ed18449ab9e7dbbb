"""Makes the lists of releases that packages need from CHANGELOG.md.

changelog.py debian "NAME <ADDRESS>"    prints Debian's changelog
changelog.py metainfo                   writes the releases of the AppStream metainfo

What is under *Unreleased* is in neither of them.
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from html import escape
from pathlib import Path

from application import APPLICATION_ID, ROOT

CHANGELOG = ROOT / "packaging" / "CHANGELOG.md"
METAINFO = ROOT / "packaging" / "linux" / f"{APPLICATION_ID}.metainfo.xml"
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
UNRELEASED = "Unreleased"
_RELEASES = re.compile(r"^  <releases>\n.*?^  </releases>\n", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"(\d+\.\d+\.\d+\S*) - (\d{4}-\d{2}-\d{2})")


@dataclass(slots=True)
class Release:
    """One release; `date` is empty for what is not released yet.

    summary: the paragraphs before the first section. items: what each section lists, as plain text.
    """

    version: str
    date: str
    summary: list[str] = field(default_factory=list)
    items: dict[str, list[str]] = field(default_factory=dict)

    @property
    def is_stable(self) -> bool:
        """Whether its names are a contract: from version 1 on."""
        return not self.version.startswith("0.")


def releases(text: str | None = None) -> list[Release]:
    """Return all releases of the changelog, the latest first. Raises ValueError with the line."""
    found = list[Release]()
    lines = (CHANGELOG.read_text(encoding="utf-8") if text is None else text).splitlines()
    section, joins = "", False
    for number, line in enumerate(lines, 1):
        if line.startswith("## "):
            found.append(_release_of(line[3:], number))
            section, joins = "", False
        elif line.startswith("### "):
            section, joins = line[4:], False
            if not found or section not in SECTIONS:
                raise ValueError(f"line {number}: the sections are {', '.join(SECTIONS)}")
            found[-1].items[section] = []
        elif not line.strip():
            joins = False
        elif found:
            joins = _add(found[-1], section, line, joins)
    return found


def _release_of(heading: str, number: int) -> Release:
    if heading == UNRELEASED:
        return Release(UNRELEASED, "")
    match = _HEADING.fullmatch(heading)
    if match is None:
        raise ValueError(f'line {number}: the heading must be "VERSION - DATE" or "{UNRELEASED}"')
    return Release(match[1], match[2])


def _add(release: Release, section: str, line: str, joins: bool) -> bool:
    """Add a line to an item or a paragraph, which the next line may continue."""
    texts = release.items[section] if section else release.summary
    text = _plain(line.removeprefix("* ").strip())
    if joins and not line.startswith("* "):
        texts[-1] += f" {text}"
    else:
        texts.append(text)
    return True


def _plain(text: str) -> str:
    """Return a Markdown text without links and code marks."""
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text).replace("`", "")


def debian(maintainer: str, known: list[Release] | None = None) -> str:
    """Return Debian's changelog: one entry a release, the latest first."""
    entries = []
    for release in releases() if known is None else known:
        if not release.date:
            continue
        day = datetime.fromisoformat(f"{release.date}T12:00:00+00:00")
        texts = [*release.summary, *(text for part in release.items.values() for text in part)]
        lines = [
            textwrap.fill(text, 78, initial_indent="  * ", subsequent_indent="    ")
            for text in texts
        ]
        entries.append(
            f"opscope ({release.version}) unstable; urgency=medium\n\n"
            + "\n".join(lines)
            + f"\n\n -- {maintainer}  {format_datetime(day)}\n"
        )
    return "\n".join(entries)


def metainfo(known: list[Release] | None = None) -> str:
    """Return the element `releases` of the AppStream metainfo."""
    lines = ["  <releases>"]
    for release in releases() if known is None else known:
        if not release.date:
            continue
        kind = "stable" if release.is_stable else "development"
        lines.append(
            f'    <release version="{release.version}" date="{release.date}" type="{kind}">'
        )
        lines.append("      <description>")
        lines += _element("p", release.summary)
        for section, texts in release.items.items():
            lines += [f"        <p>{section}:</p>", "        <ul>"]
            lines += [f"  {line}" for line in _element("li", texts)]
            lines.append("        </ul>")
        lines += ["      </description>", "    </release>"]
    return "\n".join([*lines, "  </releases>", ""])


def _element(name: str, texts: list[str]) -> list[str]:
    return [
        line
        for text in texts
        for line in textwrap.wrap(
            f"<{name}>{escape(text, quote=False)}</{name}>",
            100,
            initial_indent=" " * 8,
            subsequent_indent=" " * 10,
            break_on_hyphens=False,
        )
    ]


def with_releases(text: str, part: str) -> str:
    """Return the text of a metainfo with another element `releases`."""
    replaced, count = _RELEASES.subn(lambda _: part, text)
    if count != 1:
        raise ValueError("the metainfo must have one element <releases>")
    return replaced


def write_metainfo(path: Path = METAINFO) -> None:
    """Write the releases of the changelog into the metainfo."""
    path.write_text(with_releases(path.read_text(encoding="utf-8"), metainfo()), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["metainfo"]:
        write_metainfo()
    elif len(sys.argv) == 3 and sys.argv[1] == "debian":
        sys.stdout.write(debian(sys.argv[2]))
    else:
        sys.exit(__doc__)
