"""The README, the help, the command line and the texts on screens are plain American English.

They use the terms of the glossary. Only words that are wrong in every sentence are listed here.
Code and ids of commands are skipped.
"""

import re

import pytest

from tests.paths import ROOT
from tests.screen_texts import texts_of
from tests.sources import source_of
from viewer.analysis.links import pairing
from viewer.analysis.links.coverage import remedy
from viewer.analysis.links.link_table import LinkState, LinkTable, Reason
from viewer.analysis.links.linker import link
from viewer.analysis.links.match import MATCH_EXPLANATION, Match
from viewer.cli import main
from viewer.cli.commands import COMMANDS
from viewer.formats import open_file
from viewer.program.executables import XNNPACK
from viewer.resources import resource

DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "viewer/README.md", "packaging/README.md")),
        ROOT / "viewer/formats/README.md",
        *(ROOT / "viewer/decisions").glob("*.md"),
        ROOT / "packaging/CHANGELOG.md",
        *(ROOT / ".github").glob("*.md"),
        *resource("help").glob("*.md"),
    ]
)
DATA = ROOT / "tests" / "data"
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

# Wrong on screens, where a text is short and has no context.
BANNED_ON_SCREENS = {
    **BANNED,
    r"says?|said": "shows, states",
    r"asks?|asked": "requested, requires",
    r"(is|are) of": "belongs to, has",
    r"of (a|an|the) run": "of an inference",
    r"of it": "its",
    r"what (it|they|each) (took|takes|costs?)": "time",
    r"(an?|the|no|open|this|more) records?": "ETRecord",
    r"(a|no|without an?) begin(?! event| or| nor)": "start, begin event",
    r"outside of": "outside",
    r"reach(es)? over": "crosses",
    r"goes": "is removed",
    r"besides|anybody|somebody": "rephrase",
    r"room|house": "package, space",
    r"laws?": "rules",
    r"prov(es?|ing) nothing": "are too few for a verdict",
    r"less its": "the rest of",
    r"known, \w+ not": "in order, without times",
    r"what \S+ (ran|allocates|logs)": "a noun",
    r"the area's boundary|only the part inside": "clipped to the range",
    r"(does|do) not show \S+ names?": "Choose the columns",
    r"without \d+ that": "(3 left out)",
    r"circles?": "cycle",
}
SCREENS = (
    "analysis", "cli", "export", "formats", "gui", "mcp_server", "model", "program", "render",
    "reports", "view", "workspace",
)  # fmt: skip
LONGEST_SENTENCE = 24  # words
# Values of JSON and of tables; screens show `IdentifierStatus.title`.
JSON_VALUES = {"cannot be told", "no record"}


def prose(text: str) -> str:
    """A Markdown text without code, ids of commands, and targets of links."""
    text = re.sub(r"^( *)```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`|\[\[.*?\]\]|\]\([^)]*\)", " ", text)


def is_word(text: str) -> bool:
    """Whether it is a lower-case word alone, which may also be a key."""
    return text.isalpha() and text.islower()


def found_in(text: str, banned: dict[str, str] = BANNED) -> list[tuple[str, str]]:
    """Every banned word of a Markdown text, with what to write instead."""
    plain = prose(text)
    if not re.search(rf"\b(?:{'|'.join(banned)})\b", plain, re.IGNORECASE):
        return []
    return [
        (match[0], better)
        for word, better in banned.items()
        for match in re.finditer(rf"\b(?:{word})\b", plain, re.IGNORECASE)
    ]


@pytest.fixture(scope="module")
def linked() -> LinkTable:
    """The links of a profile of XNNPACK to an ETRecord that matches it only in part."""
    trace = open_file(str(DATA / "etdump" / "demo_str_x4.etdp"))
    return link(trace, open_file(str(DATA / "etrecord" / "demo_str.etrecord")))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_banned_word_is_written(path):
    assert found_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.slow
@pytest.mark.parametrize("package", SCREENS)
def test_no_banned_word_is_on_a_screen(package):
    paths = sorted((ROOT / "viewer" / package).rglob("*.py"))
    texts = [(path, *found) for path in paths for found in texts_of(path)]
    assert len(texts) > 10
    assert [
        f"{path.relative_to(ROOT)}:{line}: {word!r} in {text!r}, write: {better}"
        for path, line, text in texts
        if text not in JSON_VALUES
        for word, better in found_in(text, BANNED if is_word(text) else BANNED_ON_SCREENS)
    ] == []


@pytest.mark.slow
def test_no_sentence_in_the_window_takes_long_to_read():
    texts = [
        (path, line, sentence)
        for path in sorted((ROOT / "viewer" / "gui").rglob("*.py"))
        for line, text in texts_of(path)
        for sentence in re.split(r"(?<=[.;:!?])\s", text)
    ]
    assert len(texts) > 1000
    assert [
        f"{path.relative_to(ROOT)}:{line}: {sentence}"
        for path, line, sentence in texts
        if len(sentence.split()) > LONGEST_SENTENCE
    ] == []


@pytest.mark.slow
def test_no_text_of_the_program_names_a_key_that_can_be_chosen():
    """A key with Ctrl or Shift, or F1 to F12, in a sentence is asked of the table of commands."""
    fixed = (
        "Ctrl+Shift+wheel", "Ctrl+wheel", "Shift+wheel", "Shift+drag", "Ctrl+click", "Shift+Enter",
        "Ctrl+Enter", "Ctrl+C)",
    )  # fmt: skip
    told = re.compile(r"(?<![\w+])(?:Ctrl|Shift|Alt)\+[^\s\"']+|\bF(?:[1-9]|1[0-2])\b")
    found = []
    for path in (ROOT / "viewer").rglob("*.py"):
        for literal in source_of(path).literals:
            # Of an f-string, each part is looked at by itself.
            if literal.is_docstring or literal.is_formatted or " " not in literal.text:
                continue
            text = literal.text
            for word in fixed:
                text = text.replace(word, "")
            if told.search(text):
                found.append((path.name, literal.text))
    assert found == []


def test_screen_texts_are_distinguished_from_code(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        '"""Docstring of a module."""\n'
        'TITLE, KEY, PATTERN = "Open", "open_all", r"a (\\d+), b"\n'
        'STYLE = "color: red; border: 0;"\n\n\n'
        "def shown(count):\n"
        '    """Docstring of a function."""\n'
        '    return f"{count} slices took most"\n'
    )
    assert list(texts_of(path)) == [(2, "Open"), (8, "… slices took most")]


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=" ".join)
def test_no_banned_word_is_in_the_help_of_a_command(capsys, command):
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    out = capsys.readouterr().out
    assert out.startswith(" ".join(["usage: opscope", *command]))
    assert found_in(out) == []


@pytest.mark.slow
def test_no_banned_word_is_in_a_reason_or_its_remedy(linked):
    texts = [MATCH_EXPLANATION, *(reason.text for reason in Reason)]
    texts += [
        remedy(linked.trace, reason, backend, calls, operators, ["Npu logged 5", "Npu logged 6"])
        for reason in Reason
        if reason.state is not LinkState.LINKED
        for backend in ("", XNNPACK, "EnnBackend", "Npu")
        for calls, operators in ((0, 0), (1, 1), (2, 3))
    ]
    assert [found for text in texts if (found := found_in(text))] == []


def test_no_banned_word_is_in_the_detail_of_a_link(linked):
    texts = {each.detail for each in linked.links}
    assert len(texts) > 1
    assert [found for text in texts if (found := found_in(text))] == []


def test_no_banned_word_is_in_a_message_about_a_pair(linked):
    pair = linked.trace, linked.program
    texts = [
        pairing.mismatch(*pair, Match(0.0, 30)),
        pairing.partial(*pair, Match(0.7, 30)),
        pairing.uncheckable(*pair, Match(0.0, 0)),
        pairing.replaced(*pair, 2),
        *pairing.warnings_of_linked(linked, ""),
    ]
    assert texts[0] == (
        "demo_str_x4.etdp does not match demo_str.etrecord (match 0.00, 30 names compared). The "
        "ETRecord is probably from a different model or export, or was saved without deepcopy."
    )
    assert [found for text in texts if (found := found_in(text))] == []


def test_a_banned_word_is_found_in_prose_alone():
    assert found_in("The Dearest one.\nWhat the colours mean.") == [
        ("Dearest", "most expensive"),
        ("colours", "color"),
    ]
    assert found_in("[[view.colour_next]] `grey` [neighbors](grey.md)\n```sh\ntell\n```\n") == []
    assert found_in("`\\*` stands for any call") == []
