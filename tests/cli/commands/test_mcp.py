"""The skill file: all its calls are answered, and it is printed without a file."""

import json
import re
from pathlib import Path

import pytest

from tests.builders.command_line import run
from tests.builders.open_files import DUMP, RECORD, answered, open_files
from viewer.mcp_server.tools import TOOLS
from viewer.resources import resource

SKILL = resource("assistant_skill.md").read_text("utf-8")
CALLS = [json.loads(line) for line in re.findall(r'^\{"tool".*$', SKILL, re.MULTILINE)]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Two profiles of one program."""
    other = tmp_path_factory.mktemp("other") / "other.etdp"
    other.write_bytes(Path(DUMP).read_bytes())
    return open_files(DUMP, other, RECORD)


def test_the_command_prints_it(capsys):
    code, out, error = run(capsys, "mcp", "--skill")
    assert (code, out, error) == (0, SKILL, "")
    code, _, error = run(capsys, "mcp")
    assert code == 2
    assert "FILE" in error


def test_it_begins_with_the_head_that_clients_read():
    head = re.match(r"---\nname: ([a-z]+)\ndescription: (.+)\n---\n", SKILL)
    assert head is not None
    assert (head[1], len(head[2]) < 1024) == ("opscope", True)


def test_it_answers_six_questions_with_most_tools():
    assert len(re.findall(r"^## ", SKILL, re.MULTILINE)) == 6
    assert {call["tool"] for call in CALLS} >= {tool.name for tool in TOOLS} - {"files", "memory"}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call["tool"])
def test_each_call_is_answered(opened, call):
    facts = answered(opened, call["tool"], **call["arguments"])
    assert len(facts) > 2
    rows = facts.get("rows", facts.get("files", facts.get("lines", facts.get("tables", [1]))))
    assert rows, "a recipe finds something in the sample"
