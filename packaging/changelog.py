"""Prints Debian's changelog of the releases that the AppStream metainfo tells.

changelog.py "NAME <ADDRESS>"
"""

from __future__ import annotations

import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from datetime import datetime
from email.utils import format_datetime

from application import APPLICATION_ID, ROOT

METAINFO = ROOT / "packaging" / "linux" / f"{APPLICATION_ID}.metainfo.xml"


def changelog(maintainer: str) -> str:
    """One entry a release, the latest first; each paragraph or item of a release is an item."""
    entries = []
    for release in ElementTree.parse(METAINFO).getroot().iter("release"):
        day = datetime.fromisoformat(f"{release.attrib['date']}T12:00:00+00:00")
        told = [" ".join(node.itertext()) for node in release.iter() if node.tag in ("p", "li")]
        lines = [
            textwrap.fill(text, 78, initial_indent="  * ", subsequent_indent="    ")
            for text in (" ".join(text.split()) for text in told)
        ]
        entries.append(
            f"opscope ({release.attrib['version']}) unstable; urgency=medium\n\n"
            + "\n".join(lines)
            + f"\n\n -- {maintainer}  {format_datetime(day)}\n"
        )
    return "\n".join(entries)


if __name__ == "__main__":
    sys.stdout.write(changelog(sys.argv[1]))
