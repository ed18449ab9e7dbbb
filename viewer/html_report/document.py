"""The HTML document of a report: a head, links to its sections, and the sections.

Its policy allows no network, and only the one script and the one style sheet in it, by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence

from viewer import __version__
from viewer.html_report.html import text


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
    shown, body = text(title), "\n".join(sections)
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
<title>{shown} · Opscope</title>
<style>{style}</style>
</head>
<body{name}>
<header>
<h1>{shown}</h1>
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
    found = []
    for one in sections:
        name = one.split('id="', 1)[1].split('"', 1)[0]
        title = one.split(f'<h2 id="{name}-title">', 1)[1].split("</h2>", 1)[0]
        found.append(f'<li><a href="#{name}">{title}</a></li>')
    return "".join(found)
