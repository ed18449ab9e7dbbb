"""Damaged Chrome traces in the layouts that writers use, made from events that are known."""

import json
from collections.abc import Callable
from random import Random

BEFORE = '{"schemaVersion":1,"traceEvents":['
AFTER = '],"displayTimeUnit":"ms","otherData":{"a":[1]}}'


def event(i: int, *, is_large: bool = False) -> dict:
    """The event of a number, from which all of it follows."""
    name = (f"op{i}", f"aten::add[{i}]", f'a "quoted" {{{i}}}', f"C:\\dir\\{i}", f"é{i}")[i % 5]
    args = ({"k": i, "dims": [[i, 3], [], [64]]}, {"name": "x", "in": {"a": [{"b": 1}]}}, {})[i % 3]
    if is_large:
        args = args | {"stack": "frame;" * 200}
    return {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5, "args": args}


LAYOUTS: dict[str, tuple[Callable[[dict], str], str]] = {
    "one a line": (json.dumps, ",\n"),
    "two a line": (json.dumps, ", "),
    "comma first": (lambda one: json.dumps(one, separators=(",", ":")), "\n,"),
    "one line": (lambda one: json.dumps(one, separators=(",", ":")), ","),
    "pretty": (lambda one: json.dumps(one, indent=2), ",\n"),
    "indented": (lambda one: json.dumps(one, indent="\t").replace("\n", "\n\t\t"), ",\n\t\t"),
    "sorted": (lambda one: json.dumps(one, sort_keys=True), ",\r\n"),
}


def without(text: str, what: str, random: Random) -> str:
    """A text without one of some characters."""
    places = [i for i, char in enumerate(text) if char == what]
    at = random.choice(places)
    return text[:at] + text[at + 1 :]


def with_more(text: str, what: str, random: Random) -> str:
    """A text with something put anywhere into it, between its first and its last bracket."""
    at = random.randrange(1, len(text))
    return text[:at] + what + text[at:]


def number(text: str, spelled: str) -> str:
    """A text whose duration is spelled so."""
    for space in ("", " "):
        text = text.replace(f'"dur":{space}5', f'"dur":{space}{spelled}')
    return text


DAMAGES: dict[str, Callable[[str, Random], str]] = {
    "quote missing": lambda text, random: without(text, '"', random),
    "quote too many": lambda text, random: with_more(text, '"', random),
    "comma missing": lambda text, random: without(text, ",", random),
    "comma doubled": lambda text, random: text.replace(",", ",,", 1),
    "colon missing": lambda text, random: without(text, ":", random),
    "colon doubled": lambda text, random: text.replace(":", "::", 1),
    "brace missing": lambda text, random: without(text, random.choice("{}"), random),
    "bracket too many": lambda text, random: with_more(text, random.choice("{}[]"), random),
    "truncated": lambda text, random: text[: random.randrange(1, len(text))],
    "start missing": lambda text, random: text[random.randrange(1, len(text)) :],
    "control character": lambda text, random: with_more(
        text, random.choice("\0\1\t\n\x0b"), random
    ),
    "bad escape": lambda text, random: with_more(text, "\\", random),
    "not UTF-8": lambda text, random: with_more(text, "\udcff", random),
    "trailing comma": lambda text, random: text[:-1] + ",}",
    "letter": lambda text, random: with_more(text, random.choice("xe0-+."), random),
    "unterminated": lambda text, random: text.replace('"X"', '"X'),
    **{
        f"number {spelled}": lambda text, random, spelled=spelled: number(text, spelled)
        for spelled in ("1.2.3", "0x10", "+5", ".5", "5.", "1e", "--5", "05", "tru", "5 5", "")
    },
    "behind: }": lambda text, random: text + "}",
    "behind: ]": lambda text, random: text + "]",
    "before: {": lambda text, random: "{" + text,
    "before: [": lambda text, random: "[" + text,
}  # fmt: skip


def written(layout: str, texts: list[str], *, is_bare: bool) -> bytes:
    """A file with events written in a layout."""
    gap = LAYOUTS[layout][1]
    if layout == "two a line":
        body = "".join(
            text + ("" if i == len(texts) - 1 else gap if i % 2 else ",\n")
            for i, text in enumerate(texts)
        )
    else:
        body = gap.join(texts)
    start, end = ("[", "]") if is_bare else (BEFORE, AFTER)
    line = "" if layout == "one line" else "\n"
    text = start + line + body + line + end + line
    return text.encode("utf-8", "surrogateescape")
