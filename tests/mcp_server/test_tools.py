"""What the tools are called and take."""

import re

from tests.builders.open_files import DUMP, answered, open_files
from tests.paths import DATA
from tests.test_words import BANNED, found_in
from viewer.mcp_server.limits import Kind
from viewer.mcp_server.tools import INSTRUCTIONS, TOOLS, tools_for


def test_tools_have_the_names_that_clients_rely_on():
    assert [tool.name for tool in TOOLS] == [
        "files", "summary", "stats", "search", "slice", "findings", "compare", "source", "memory",
        "schema", "query",
    ]  # fmt: skip


def test_every_argument_is_described_and_bounded():
    for tool in TOOLS:
        for name, schema in tool.schema["properties"].items():
            assert schema["description"].endswith("."), (tool.name, name)
            bounds = {"string": "maxLength", "integer": "maximum", "array": "maxItems"}
            assert bounds[schema["type"]] in schema or "enum" in schema, (tool.name, name)


def test_no_tool_takes_a_path_but_of_an_open_file():
    """`file` of source is a recorded path; all other texts are queries, keys and numbers."""
    texts = {
        one.name
        for tool in TOOLS
        for one in tool.arguments
        if one.kind is not Kind.NUMBER and not one.choices
    }
    assert texts == {
        "by",
        "profile",
        "query",
        "slice",
        "a",
        "b",
        "a_inferences",
        "b_inferences",
        "file",
        "sql",
        "table",
    }


def test_the_words_are_those_of_the_project():
    texts = [INSTRUCTIONS, *(tool.description for tool in TOOLS)]
    texts += [one.description for tool in TOOLS for one in tool.arguments]
    for text in texts:
        assert found_in(text, BANNED) == []
        assert re.search(r"[.)]$", text), text


def test_the_memory_plan_is_offered_with_a_program_file():
    assert "memory" not in {tool.name for tool in tools_for(open_files(DUMP))}
    with_program = open_files(DUMP, DATA / "pte" / "part_x.pte")
    assert "memory" in {tool.name for tool in tools_for(with_program)}


def test_a_limit_is_that_of_the_rows_if_the_answer_is_short_enough():
    opened = open_files(DUMP)
    found = answered(opened, "search", query="dur >= 0ns", limit=60)
    assert (found["shown"], len(found["rows"]), found["total"]) == (60, 60, 727)
    found = answered(opened, "search", query="dur >= 0ns", limit=200)
    assert 60 < found["shown"] == len(found["rows"]) < found["rows_total"] == 200
