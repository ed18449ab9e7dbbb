"""The README and the help are plain American English, in the terms of the glossary.

Only words that are wrong in every sentence are listed here. Code and ids of commands are skipped.
"""

import re

import pytest

from tests.paths import ROOT
from viewer.resources import resource

DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "viewer/README.md", "packaging/README.md")),
        ROOT / "viewer/formats/README.md",
        *resource("help").glob("*.md"),
    ]
)
# What to write instead.
BANNED = {
    r"dearest": "most expensive",
    r"took most": "most expensive",
    r"took over": "delegated to",
    r"stayed outside": "not delegated",
    r"swallowed": "delegated",
    r"anew": "again",
    r"beside": "next to, with, in addition to",
    r"tells?|told": "shows, reports",
    r"lies|stands(?! for)|stood": "is",
    r"odd": "unexpected",
    r"at work": "active",
    r"is none": "none",
    r"so much of": "a percentile",
    r"has it": "includes it",
    r"inside of": "inside",
    r"nobody's": "without an operator",
    r"mend(ed|s)?": "fix",
    r"\w*colour\w*": "color",
    r"grey": "gray",
    r"neighbour\w*": "neighbor",
    r"licenced?|licences": "license",
    r"\w*(recogn|organ|summar|normal|optim|synchron|initial)is(e|ed|es|ing|ation)": "-ize",
    r"behaviour": "behavior",
    r"centre[ds]?": "center",
    r"catalogue": "catalog",
    r"labelled": "labeled",
    r"modelled": "modeled",
}


def prose(text: str) -> str:
    """A Markdown text without code, ids of commands, and targets of links."""
    text = re.sub(r"^( *)```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`|\[\[.*?\]\]|\]\([^)]*\)", " ", text)


def found_in(text: str) -> list[tuple[str, str]]:
    """Every banned word of a Markdown text, with what to write instead."""
    return [
        (match[0], better)
        for word, better in BANNED.items()
        for match in re.finditer(rf"\b(?:{word})\b", prose(text), re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_banned_word_is_written(path):
    assert found_in(path.read_text(encoding="utf-8")) == []


def test_a_banned_word_is_found_in_prose_alone():
    assert found_in("The Dearest one.\nWhat the colours mean.") == [
        ("Dearest", "most expensive"),
        ("colours", "color"),
    ]
    assert found_in("[[view.colour_next]] `grey` [neighbors](grey.md)\n```sh\ntell\n```\n") == []
    assert found_in("`\\*` stands for any call") == []
