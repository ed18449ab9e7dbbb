"""The query language of the search: parses a query to a tree, or to one sentence about the error.

    conv                    any text of a slice: name, label, operator, module, source file, ID
    "two words"  -conv      an exact phrase; everything except conv (also: not conv)
    a b   a or b   (a b)    both; at least one; parentheses group
    op:conv  file:model.py:12   a single field, see `FIELDS`
    arg:NAME  arg:NAME > 5      an argument of a slice: any value, or one that compares so
    arg:"a b"=relu  arg:NAME:re a name in quotation marks; equal to a text; containing it
    dur > 1ms  self >= 10us     duration, self time, start: see `MEASURES`
    linked  zero            properties, see `FLAGS`

Case never matters: text is casefolded here. Numbers are exact fractions of ns, or of cycles.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from viewer.dataclasses import dataclass
from viewer.model.times import MINUS, NARROW_SPACE, THIN_SPACE

ARGUMENT = "arg"
FORM = re.compile(rf'{ARGUMENT}:(?:"([^"]+)"|([^\s()"<>=:]+))(?:\s*(>=|<=|>|<|=)|(:))?', re.I)
_NUMBER = re.compile(rf"[-{MINUS}]?[0-9]+(?:\.[0-9]*)?|[-{MINUS}]?\.[0-9]+")
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a slice that has any value (sign ""), or one that compares with a text.

    name, text: casefolded. sign: one of < <= = >= >, or ":" for a value that contains the text.
    number: the text as a number, None if it is none; always one for an order.
    """

    name: str
    sign: str = ""
    text: str = ""
    number: Fraction | None = None


def named_number(text: str) -> Fraction | None:
    """Return a text such as "-2.5" as a number, None if it is none."""
    match = _NUMBER.fullmatch(text)
    return None if match is None else Fraction(text.replace(MINUS, "-").rstrip("."))


def compares(text: str, node: Argument) -> bool:
    """Return whether a casefolded value compares as asked, as a number if both are numbers."""
    if node.sign == ":":
        return node.text in text
    number = named_number(text)
    if node.number is None or number is None:
        return node.sign == "=" and text == node.text
    return bool(COMPARED[node.sign](number, node.number))


FIELDS = {
    "name": "its name in the file",
    "op": "operator",
    "type": "operator type: linear, aten.mm",
    "module": "module path",
    "file": "source file, also file:line",
    "id": "delegate identifier or debug handle",
    "delegate": "backend",
    "thread": "thread",
    "process": "process",
    "category": "category in the file",
    "inference": "inference by its number, or load",
}
_ALIASES = {"run": "inference"}  # fields under their earlier names
MEASURES = {
    "dur": "duration",
    "self": "duration without the slices inside",
    "start": "time from the start of the trace",
}
FLAGS = {
    "linked": "has operators",
    "unlinked": "linkable, but has no operators",
    "shared": "shared by several operators",
    "zero": "without a duration",
    "derived": "computed, not in the file",
}
LONGEST = 500  # characters of a query
DEEPEST = 40  # nesting depth of parentheses and negations

CYCLES = "cycles"
UNITS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 1_000_000_000,
    "cycle": 0, CYCLES: 0,
}  # fmt: skip
_MEASURE = re.compile(rf"({'|'.join(MEASURES)})\s*(>=|<=|>|<|=)", re.I)
_VALUE = re.compile(
    rf"\s*([-{MINUS}]?)([0-9][0-9{THIN_SPACE}]*(?:\.[0-9]*)?|\.[0-9]+)"
    rf"[ {NARROW_SPACE}]*([a-zµμ]*)(?=[\s()]|$)",
    re.I,
)
_WORD = re.compile(r'[^\s()"]+')


# -- the tree --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """A casefolded text in one field; field "" means any field."""

    text: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """A comparison of a duration or time with a value in ns, or in cycles."""

    what: str
    sign: str
    value: Fraction
    cycles: bool = False


@dataclass(frozen=True, slots=True)
class FlagTerm:
    """One of `FLAGS`."""

    name: str


@dataclass(frozen=True, slots=True)
class Not:
    """Matches what its part does not match."""

    part: Node


@dataclass(frozen=True, slots=True)
class AllOf:
    """Matches what all parts match."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Matches what at least one part matches."""

    parts: tuple[Node, ...]


Node = Text | Measure | Argument | FlagTerm | Not | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    node: its tree, None for an empty or wrong query. complaint: the error as one sentence, or "".
    """

    text: str = ""
    node: Node | None = None
    complaint: str = ""
    unknown: str = ""  # an unknown field name before a colon; it is searched as text

    @property
    def advice(self) -> str:
        """Why it is an error if it has no matches, or ""."""
        if not self.unknown:
            return ""
        from difflib import get_close_matches

        fields = (*FIELDS, ARGUMENT)
        similar = get_close_matches(self.unknown, fields, 1, 0.5)
        nearest = f"; {similar[0]}: is similar" if similar else ""
        listed = ", ".join(fields)
        return f"No matches. Unknown field {self.unknown}; the fields are {listed}{nearest}."

    @property
    def terms(self) -> Iterator[Node]:
        """All terms of its tree, without what joins them."""
        return iter(()) if self.node is None else _terms(self.node)

    @property
    def asks_cycles(self) -> bool:
        """Whether it compares with a number of cycles."""
        return any(isinstance(term, Measure) and term.cycles for term in self.terms)


def _terms(node: Node) -> Iterator[Node]:
    match node:
        case Not(part):
            yield from _terms(part)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _terms(part)
        case _:
            yield node


# -- reading ---------------------------------------------------------------------------------


class _WrongQuery(Exception):
    """A syntax error; its text says what is wrong, where, and what is expected."""


def parse(text: str) -> Query:
    """Parse a query. Never raises: a wrong one has a `complaint` and no tree."""
    try:
        if len(text) > LONGEST:
            raise _WrongQuery(f"The query has {len(text)} characters; the limit is {LONGEST}")
        reader = _Reader(text)
        return Query(text, reader.read(), unknown=reader.unknown)
    except _WrongQuery as wrong:
        return Query(text, None, str(wrong))


class _Reader:
    """A recursive-descent parser for one query."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self.unknown = ""

    def read(self) -> Node | None:
        if not self._text.strip():
            return None
        node = self._either()
        if self._peek() == ")":
            raise _WrongQuery(
                f"`{self._before()})`: this parenthesis closes nothing; remove it, or quote "
                'it as ")"'
            )
        return node

    def _peek(self) -> str:
        """Skip spaces and return the next character, "" at the end."""
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _keyword(self) -> str:
        """Return the keyword at this position ("or", "and", "not"), else ""."""
        self._peek()
        word = _WORD.match(self._text, self._at)
        found = word[0].casefold() if word else ""
        return found if found in ("or", "and", "not") else ""

    def _before(self) -> str:
        """Return the last 24 characters before this position, for error messages."""
        return self._text[: self._at].strip()[-24:]

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _WrongQuery(
                f"`{self._before()}`: at most {DEEPEST} parentheses and negations can be nested"
            )

    def _either(self) -> Node:
        parts = [self._both()]
        while self._keyword() == "or":
            self._at += 2
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _both(self) -> Node:
        parts: list[Node] = []
        last = ""
        while True:
            keyword, here = self._keyword(), self._peek()
            if keyword == "and" and parts and last != "and":
                last = "and"
                self._at += 3
                continue
            if keyword in ("or", "and") or here in ("", ")"):
                break
            parts.append(self._one())
            last = ""
        if not parts or last:
            self._lacks_a_term(last)
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _lacks_a_term(self, after: str) -> None:
        keyword, before = self._keyword(), self._before()
        if keyword:
            place = f"{before} {keyword}".strip()
            raise _WrongQuery(
                f"`{place}`: expected a term before {keyword}, such as conv {keyword} relu"
            )
        last = before.casefold().rpartition(" ")[2]
        if after or last == "or":
            word = after or last
            raise _WrongQuery(f"`{before}`: expected a term after {word}, such as conv {word} relu")
        raise _WrongQuery(
            f"`{before}{self._peek()}`: expected a term in the parentheses, such as (conv or relu)"
        )

    def _one(self) -> Node:
        here = self._peek()
        if self._keyword() == "not":
            self._at += 3
            return self._negated("not")
        if here == "-" and self._text[self._at + 1 : self._at + 2].strip(" )\t\n"):
            self._at += 1
            return self._negated("-")
        if here == "(":
            return self._group()
        if here == '"':
            return Text(self._phrase())
        if argument := FORM.match(self._text, self._at):
            return self._argument(argument)
        measure = _MEASURE.match(self._text, self._at)
        return self._measure(measure) if measure else self._word()

    def _negated(self, sign: str) -> Node:
        if self._peek() in ("", ")") or self._keyword() in ("or", "and"):
            raise _WrongQuery(f"`{self._before()}`: expected a term after {sign}, such as not conv")
        self._deeper()
        node = Not(self._one())
        self._depth -= 1
        return node

    def _group(self) -> Node:
        start = self._at
        self._at += 1
        self._deeper()
        node = self._either()
        if self._peek() != ")":
            raise _WrongQuery(
                f"`{self._text[start : start + 24].strip()}`: this parenthesis is not closed; add "
                f"a ) after its terms"
            )
        self._at += 1
        self._depth -= 1
        return node

    def _phrase(self) -> str:
        start = self._at
        end = self._text.find('"', start + 1)
        if end < 0:
            inner = self._text[start + 1 :].strip()[:24] or "conv 2d"
            raise _WrongQuery(
                f"`{self._text[start : start + 24].strip()}`: the quotation mark is not closed; "
                f'write "{inner}"'
            )
        self._at = end + 1
        phrase = self._text[start + 1 : end]
        if not phrase.strip():
            raise _WrongQuery(
                f"`{self._before()}`: expected a text between the quotation marks, such as "
                '"conv 2d"'
            )
        return phrase.casefold()

    def _measure(self, found: re.Match[str]) -> Node:
        self._at = found.end()
        what, sign = found[1].casefold(), found[2]
        written = f"{what} {sign}"
        value = _VALUE.match(self._text, self._at)
        thing = "a time" if what == "start" else "a duration"
        if value is None:
            self._peek()
            rest = _WORD.match(self._text, self._at)
            shown = f"{written} {rest[0][:24]}" if rest else written
            raise _WrongQuery(f"`{shown}`: expected {thing} such as 1ms after {sign}")
        minus, digits, unit = value[1], value[2].replace(THIN_SPACE, ""), value[3].casefold()
        self._at = value.end()
        if not float(digits) and unit not in UNITS and value.end(2) < value.start(3):
            # 0 needs no unit, so a word after a space is another term.
            self._at, unit = value.end(2), ""
        if unit not in UNITS and (unit or float(digits)):
            right = "one of ns, us, ms, s, cycles" if unit else f"a unit, such as {digits}us,"
            raise _WrongQuery(f"`{written} {value[0].strip()}`: expected {right} after {value[2]}")
        number = Fraction(digits.rstrip(".") or "0") * (-1 if minus else 1)
        cycles = unit.startswith("cycle")
        return Measure(what, sign, number * (1 if cycles else UNITS.get(unit, 1)), cycles)

    def _argument(self, match: re.Match[str]) -> Node:
        self._at = match.end()
        name, sign = (match[1] or match[2]).casefold(), match[3] or match[4] or ""
        if not sign:
            return Argument(name)
        written = f"{match[0].strip()[-24:]}"
        if (sign == ":" and self._text[self._at : self._at + 1].isspace()) or not self._peek():
            raise _WrongQuery(f"`{written}`: expected a value after {sign}")
        if self._peek() == '"':
            return Argument(name, sign, text := self._phrase(), named_number(text))
        word = _WORD.match(self._text, self._at)
        text = word[0].casefold() if word else ""
        number = named_number(text)
        if not text or (number is None and sign not in (":", "=")):
            raise _WrongQuery(
                f"`{written}{text[:24]}`: expected a number after {sign}, such as "
                f"{ARGUMENT}:batch{sign}8"
            )
        self._at += len(text) if word is None else len(word[0])
        return Argument(name, sign, text, number)

    def _word(self) -> Node:
        found = _WORD.match(self._text, self._at)
        assert found is not None  # the caller has handled everything that is not a word
        self._at = found.end()
        word = found[0].casefold()
        field, colon, rest = word.partition(":")
        field = _ALIASES.get(field, field)
        if colon and field in FIELDS:
            if not rest and self._text[self._at : self._at + 1] == '"':
                rest = self._phrase()
            if not rest:
                raise _WrongQuery(
                    f"`{field}:`: expected a text right after the colon, such as "
                    f"{field}:{_EXAMPLES[field]}"
                )
            return Text(rest, field)
        if colon and field == ARGUMENT:
            raise _WrongQuery(
                f"`{ARGUMENT}:`: expected the name of an argument right after the colon, such "
                f"as {ARGUMENT}:batch>8"
            )
        if rest and field.isalpha() and rest[0] not in ":/\\":  # not a C++ name or URL
            self.unknown = self.unknown or field[:24]
        return FlagTerm(word) if word in FLAGS else Text(word)


_EXAMPLES = {
    "name": "conv", "op": "conv", "type": "linear", "module": "blocks.0", "file": "model.py:12",
    "id": "12", "delegate": "xnnpack", "thread": "forward", "process": "npu", "category": "kernel",
    "inference": "2",
}  # fmt: skip
