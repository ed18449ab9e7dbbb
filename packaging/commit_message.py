"""Checks the form of a commit message: `area: verb object`, a blank line, and why.

commit_message.py FILE

Prints what is wrong, one line each, and exits with 1. Merges, reverts and commits that are squashed
later keep the subject that git gives them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST_SUBJECT, LONGEST_LINE = 72, 80
_OF_GIT = re.compile(r"(Merge|Revert|fixup!|squash!|amend!) ")
_SUBJECT = re.compile(r"(?P<area>[a-z0-9][a-z0-9_./-]*): (?P<verb>[^\s,;:]+)(?P<object> .+)?")
# Not imperative: "adds", "added", "adding". Verbs that end so by themselves are exceptions.
_FORM = re.compile(r"\w+(?:[^su]s|ed|ing)\Z")
_IMPERATIVE = frozenset(
    ("alias", "bias", "bring", "embed", "exceed", "feed", "heed", "need", "proceed",
     "seed", "shed", "speed", "string", "succeed", "weed")
)  # fmt: skip


def problems(message: str) -> list[str]:
    """Return what is wrong with a message, without its comments; empty if nothing is."""
    lines = [line.rstrip() for line in message.splitlines() if not line.startswith("#")]
    while lines and not lines[-1]:
        lines.pop()
    if not lines or not lines[0]:
        return ["the subject is missing"]
    if _OF_GIT.match(lines[0]):
        return []
    found = list(_problems_of_subject(lines[0]))
    if len(lines) > 1 and lines[1]:
        found.append("the line after the subject must be blank")
    # A line of one word, such as an address, cannot be wrapped; a table or output is indented.
    long = [
        number
        for number, line in enumerate(lines[2:], 3)
        if len(line) > LONGEST_LINE and " " in line.strip() and not line.startswith("    ")
    ]
    if long:
        found.append(f"line {long[0]} is longer than {LONGEST_LINE} characters")
    return found


def _problems_of_subject(subject: str) -> list[str]:
    found = []
    if len(subject) > LONGEST_SUBJECT:
        found.append(f"the subject has {len(subject)} characters; at most {LONGEST_SUBJECT}")
    match = _SUBJECT.fullmatch(subject)
    if match is None:
        return [*found, 'the subject must be "area: verb object", such as "chrome: read counters"']
    verb = match["verb"]
    if not verb.isascii() or verb != verb.lower():
        found.append(f'"{verb}" must be a verb in lower case')
    elif _FORM.match(verb) and verb not in _IMPERATIVE:
        found.append(f'"{verb}" must be imperative, such as "add" instead of "adds" or "added"')
    if match["object"] is None:
        found.append(f'"{verb}" what? The subject lacks an object')
    if ";" in subject:
        found.append('";" joins two topics: make two commits')
    if subject.endswith("."):
        found.append("the subject must not end with a period")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(*(f"commit message: {text}" for text in wrong), sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
