"""The protocol: the real client of the package `mcp` over stdio, and how the server ends."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.command_line import run
from tests.builders.open_files import DUMP, RECORD, open_files
from tests.paths import ROOT
from viewer.cli.commands import mcp
from viewer.extras import how_to_install
from viewer.mcp_server import server
from viewer.mcp_server.server import answer
from viewer.mcp_server.tools import TOOLS, Tool

_COMMAND = [sys.executable, "-m", "viewer", "mcp"]
_FIRST = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}  # fmt: skip
pytest.importorskip("mcp")


@pytest.mark.slow
def test_a_client_lists_and_calls_the_tools(tmp_path):
    from mcp import Client, StdioServerParameters, stdio_client

    (tmp_path / "empty.etdp").write_bytes(b"")
    files = [DUMP, RECORD, str(tmp_path / "empty.etdp")]

    async def talk() -> tuple:
        command = StdioServerParameters(
            command=_COMMAND[0], args=[*_COMMAND[1:], *files], cwd=str(ROOT)
        )
        with (tmp_path / "messages").open("w") as messages:
            async with Client(stdio_client(command, errlog=messages)) as client:
                tools = (await client.list_tools()).tools
                good = await client.call_tool("summary", {"inference": 2})
                bad = await client.call_tool("slice", {"number": -1})
                unknown = await client.call_tool("write", {"path": "/tmp/x"})
                opened = await client.call_tool("files", {})
        return tools, good, bad, unknown, opened

    tools, good, bad, unknown, opened = asyncio.run(talk())
    assert [tool.name for tool in tools] == [
        "files", "summary", "stats", "search", "slice", "findings", "compare", "source", "schema",
        "query",
    ]  # fmt: skip
    assert all(tool.annotations.read_only_hint for tool in tools)
    by_name = {tool.name: tool for tool in TOOLS}
    assert all(tool.input_schema == by_name[tool.name].schema for tool in tools)
    assert not good.is_error
    assert json.loads(good.content[0].text)["files"][0]["whole_ns"] == 55212
    assert (bad.is_error, unknown.is_error) == (True, True)
    assert bad.content[0].text == "number must be from 0 to 4294967295"
    assert unknown.content[0].text.startswith("there is no tool 'write'; the tools are files,")
    # What could not be read is reported, and did not stop the server.
    (unreadable,) = json.loads(opened.content[0].text)["unreadable"]
    assert "empty.etdp" in unreadable
    assert "empty.etdp" in (tmp_path / "messages").read_text()


@pytest.fixture
def started():
    """A server that has answered, with its standard streams."""
    process = subprocess.Popen(
        [*_COMMAND, DUMP], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(json.dumps(_FIRST) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "opscope"
    yield process
    process.kill()
    process.communicate(timeout=60)


@pytest.mark.slow
def test_it_ends_silently_when_standard_input_is_closed(started):
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (0, "", "")


@pytest.mark.nightly
@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
def test_it_ends_with_one_line_at_ctrl_c(started):
    """Also while standard input stays open."""
    started.send_signal(signal.SIGINT)
    started.wait(timeout=60)
    assert (started.returncode, started.stdout.read()) == (130, "")
    assert started.stderr.read() == "opscope: interrupted\n"


@pytest.mark.nightly
def test_it_ends_silently_when_nobody_reads_its_answers(started):
    started.stdout.close()
    started.stdin.write('{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
    started.stdin.flush()
    started.wait(timeout=60)
    assert (started.returncode, started.stderr.read()) == (0, "")


def test_without_the_package_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(server.importlib.util, "find_spec", lambda name: None)
    code, out, err = run(capsys, "mcp", DUMP)
    assert (code, out, err) == (
        2,
        "",
        f"opscope: {how_to_install('opscope mcp needs the package mcp', 'mcp')}\n",
    )


def test_what_a_session_opens_is_told_first(tmp_path, monkeypatch, capsys):
    (tmp_path / "run.etdp").write_bytes(Path(DUMP).read_bytes())
    inputs = [{"path": "run.etdp"}, {"path": "gone.csv"}]
    session = tmp_path / "a.opscope"
    session.write_text(json.dumps({"opscope_session": 1, "inputs": inputs}))
    served = []
    monkeypatch.setattr(mcp, "serve", served.append)
    code, out, err = run(capsys, "mcp", str(session))
    assert (code, out, len(served)) == (0, "", 1)
    first = err.splitlines()[0]
    assert first == f"opscope: the session {session} opens: {tmp_path / 'run.etdp'}"


def test_it_needs_files(capsys):
    code, out, err = run(capsys, "mcp")
    assert (code, out) == (2, "")
    assert "FILE" in err


def test_an_error_in_a_tool_does_not_end_the_server(capsys):
    def broken(opened: object) -> dict:
        raise ZeroDivisionError("a\nb")

    found = answer(open_files(DUMP), Tool("broken", "Broken", "Fails.", broken), {})
    assert found == (
        r"broken failed because of an error in Opscope (ZeroDivisionError('a\nb'))",
        True,
    )
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_nothing_is_written(tmp_path, monkeypatch):
    """All tools, in a folder that stays empty."""
    monkeypatch.chdir(tmp_path)
    opened = open_files(DUMP, RECORD)
    for tool in TOOLS:
        answer(opened, tool, {"by": "name", "query": "x"} if tool.name == "x" else {})
    assert list(Path(tmp_path).iterdir()) == []
