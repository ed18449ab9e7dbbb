"""Every wait in the tests for a process, a thread or an event has a limit of time."""

import ast
import re

import pytest

from tests.paths import ROOT

WAITS = {"wait", "communicate", "join"}
PROGRAMS = {"run", "check_call", "check_output"}
# What a text without a wait does not have, so that most are not parsed.
MAY_WAIT = re.compile(rf"\b({'|'.join(WAITS)})\s*\(\s*(\)|\w+\s*=|[*#\\])|\bsubprocess\b")


def endless_waits(text):
    """The lines with a wait that may take for ever."""
    if not MAY_WAIT.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        keywords = {keyword.arg for keyword in node.keywords}
        if keywords & {"timeout", None}:  # None: `**options`
            continue
        name = node.func.attr
        is_wait = name in WAITS and not node.args
        is_program = name in PROGRAMS and ast.unparse(node.func.value) == "subprocess"
        if is_wait or is_program:
            yield node.lineno


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("process.wait()", [1]),
        ("\nthread.join()", [2]),
        ("subprocess.run(command, check=True)", [1]),
        ("thread.join(  # for ever\n)", [1]),
        ("process.wait(\n    check=True)", [1]),
        ("process.communicate(timeout=60)", []),
        ("process.wait(20)", []),
        ("', '.join(names)", []),
        ("cli.run(command)", []),
    ],
)
def test_a_wait_without_a_limit_is_noticed(text, lines):
    assert list(endless_waits(text)) == lines


@pytest.mark.slow
def test_every_wait_has_a_limit():
    endless = [
        f"{path.relative_to(ROOT).as_posix()}:{line}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line in endless_waits(path.read_text(encoding="utf-8"))
    ]
    assert endless == []
