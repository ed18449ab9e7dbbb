"""Pieces of HTML from texts of strangers: everything is escaped here, and nowhere else.

A name is shown on one line, with control characters and overrides of the direction as escapes, and
limited in length. The policy of a page forbids inline styles, event attributes and the network. It
allows only the one script and the one style sheet in it, by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

from viewer import __version__
from viewer.dataclasses import dataclass, field
from viewer.model.text import one_line
from viewer.model.times import counted

_MOST_LETTERS = 300
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def text(value: object, most: int = _MOST_LETTERS) -> str:
    """Return a text as HTML: one line, escaped, at most some letters."""
    full = str(value)
    short = one_line(full[:most] + ("…" if len(full) > most else ""))
    return html.escape(short)


def attributes(values: dict[str, object]) -> str:
    """Return attributes of an element: ' data-n="3"'; those that are None are left out."""
    return "".join(
        f' {name}="{text(value)}"' for name, value in values.items() if value is not None
    )


def embedded_json(name: str, value: Any) -> str:
    """Return data for the script. It is ASCII, and has no sign that could end its element."""
    data = json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_UNSAFE)
    return f'<script type="application/json" id="{name}">{data}</script>'


def section(name: str, title: str, *parts: str) -> str:
    """Return a section with a heading; "" if it has no content."""
    content = "\n".join(part for part in parts if part)
    if not content:
        return ""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{text(title)}</h2>\n{content}\n</section>'
    )


def paragraph(content: str, kind: str = "") -> str:
    """Return a paragraph of plain text; "" for an empty one."""
    name = f' class="{kind}"' if kind else ""
    return f"<p{name}>{text(content, 2000)}</p>" if content else ""


def rest_note(count: int, noun: str) -> str:
    """Return a note that there are so many more of something; "" if there are none."""
    return paragraph(counted(count, noun), "note") if count > 0 else ""


def figures(pairs: Iterable[tuple[str, str]]) -> str:
    """Return key figures, as (value, meaning)."""
    items = "".join(
        f"<div><dt>{text(meaning)}</dt><dd>{text(value)}</dd></div>" for value, meaning in pairs
    )
    return f'<dl class="figures">{items}</dl>' if items else ""


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Return facts, as (name, value)."""
    items = "".join(
        f"<dt>{text(name)}</dt><dd>{text(value, 1000)}</dd>" for name, value in pairs if value
    )
    return f'<dl class="facts">{items}</dl>' if items else ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its text, and the number that it is sorted by, if it is a number.

    is_code: whether it is a line of source, whose spaces matter.
    """

    text: str
    number: float | int | None = None
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table, and the `data-` attributes that say what it is about."""

    cells: Sequence[Cell]
    data: dict[str, object] = field(default_factory=dict)


def table(
    caption: str, titles: Sequence[str], rows: Sequence[Row], *, left: int, sortable: bool = True
) -> str:
    """Return a table; the last `left` columns are texts, the others are numbers.

    sortable: whether the reader can sort it, if scripts run.
    """
    if not rows:
        return ""
    numbers = len(titles) - left
    head = "".join(
        f'<th scope="col"{"" if i >= numbers else _NUMBER}>{text(title)}</th>'
        for i, title in enumerate(titles)
    )
    body = "\n".join(_row(row, numbers) for row in rows)
    kind = ' class="sortable"' if sortable else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">'
        f"<table{kind}><caption>{text(caption)}</caption><thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


_NUMBER = ' class="n"'


def _row(row: Row, numbers: int) -> str:
    cells = "".join(
        f"<td{_NUMBER if i < numbers else ''}{attributes({'data-v': cell.number})}>"
        f"{_content(cell)}</td>"
        for i, cell in enumerate(row.cells)
    )
    data = attributes({f"data-{name}": value for name, value in row.data.items()})
    return f"<tr{data}>{cells}</tr>"


def _content(cell: Cell) -> str:
    escaped = text(cell.text)
    return f"<code>{escaped}</code>" if cell.is_code and escaped else escaped


def details(summary: str, content: str, *, is_open: bool = False) -> str:
    """Return content that the reader can fold."""
    if not content:
        return ""
    return (
        f"<details{' open' if is_open else ''}><summary>{text(summary)}</summary>\n"
        f"{content}\n</details>"
    )


def document(
    title: str,
    sections: Sequence[str],
    style: str,
    *,
    generator: str = "",
    head: str = "",
    kind: str = "",
    data: str = "",
    script: str = "",
) -> str:
    """Return a whole page. sections: as of `html.section`, none of them "".

    generator: what follows the version of Opscope. head: HTML below the title. kind: the class of
    the body. data: elements after the sections. script: "" for a page without one.
    """
    scripts = f"script-src {_hash(script)}; " if script else ""
    policy = f"default-src 'none'; {scripts}style-src {_hash(style)}; "
    policy += "base-uri 'none'; form-action 'none'"
    heading, body = text(title), "\n".join(sections)
    name = f' class="{kind}"' if kind else ""
    below = f"{head}\n" if head else ""
    after = f"{data}\n<script>{script}</script>\n" if script else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="Opscope {html.escape(__version__)}{generator}">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{heading} · Opscope</title>
<style>{style}</style>
</head>
<body{name}>
<header>
<h1>{heading}</h1>
{below}<nav aria-label="Sections"><ul>{_links(sections)}</ul></nav>
</header>
<main>
{body}
</main>
{after}</body>
</html>
"""


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _links(sections: Sequence[str]) -> str:
    links = []
    for section_html in sections:
        name = section_html.split('id="', 1)[1].split('"', 1)[0]
        title = section_html.split(f'<h2 id="{name}-title">', 1)[1].split("</h2>", 1)[0]
        links.append(f'<li><a href="#{name}">{title}</a></li>')
    return "".join(links)
