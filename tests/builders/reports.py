"""Reports of samples and of hostile files, and what is in them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from tests.builders.workspaces import workspace_of
from viewer.html_report.contents import ReportOptions
from viewer.html_report.report import write_report
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace
from viewer.resources import SAMPLES
from viewer.workspace.workspace import Workspace

HOSTILE = (
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror=window.pwned=1>",
    "--><!--<script>",
    "\x00\x1b[31m\u202eevil\u2028\u2029",
    "\"'`&lt;&#x3c;",
    "]]>\\u003c\\",
    "\ud800",
    "",
)


def sample(key: str) -> Workspace:
    """The workspace of a bundled sample."""
    return workspace_of(*next(s.paths() for s in SAMPLES if s.key == key))


def trace_named(names: tuple[str, ...], process: str = "p", thread: str = "t") -> Trace:
    """A trace with a slice of 100 ns for each name."""
    builder = TraceBuilder("/home/someone/secret/run.csv", "Profile CSV", "", Clock())
    start = np.arange(len(names), dtype=np.int64) * 1000
    builder.add(
        track=builder.track(process, thread),
        start=start,
        end=start + 100,
        name=builder.intern_all(list(names)),
        key=np.array([builder.key(KeyKind.PLAIN, name) for name in names]),
    )
    return builder.build()


def hostile_workspace() -> Workspace:
    """A workspace with hostile names of slices, tracks and processes."""
    workspace = Workspace()
    workspace.add(trace_named(HOSTILE, HOSTILE[0], HOSTILE[1]))
    return workspace


class Page(HTMLParser):
    """A parsed page: its tags with attributes, and the texts of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self._inside: tuple[str, dict[str, str | None]] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside = tag, dict(attrs)
            if tag == "script":
                self.scripts.append((dict(attrs), ""))
            else:
                self.styles.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.texts.append(data)
        elif self._inside[0] == "script":
            attrs, before = self.scripts[-1]
            self.scripts[-1] = attrs, before + data
        else:
            self.styles[-1] += data

    @property
    def text(self) -> str:
        """All visible text, with single spaces."""
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def data(self, name: str = "opscope-timeline") -> Any:
        """The embedded JSON."""
        return json.loads(next(text for attrs, text in self.scripts if attrs.get("id") == name))


def page_of(workspace: Workspace, folder: Path, options: ReportOptions | None = None) -> Page:
    """Write a report and parse it."""
    path = folder / "report.html"
    write_report(workspace, path, options)
    return Page(path.read_text(encoding="utf-8"))
