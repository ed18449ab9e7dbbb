"""Open files for the tests of tools, and their answers as data."""

import json
from pathlib import Path

from tests.paths import SAMPLES
from viewer.mcp_server.limits import OpenFiles, with_handles
from viewer.mcp_server.server import answer
from viewer.mcp_server.tools import TOOLS
from viewer.workspace.workspace import Workspace

DUMP = str(SAMPLES / "attention_xnnpack" / "attn_xnnpack_x5.etdp")
RECORD = str(SAMPLES / "attention_xnnpack" / "attn_teal_xnnpack.etrecord")
OTHER = str(SAMPLES / "delegate_handle_map" / "demo_str_x4.etdp")
_BY_NAME = {tool.name: tool for tool in TOOLS}


def open_files(*paths: str | Path) -> OpenFiles:
    """Open files as the command does."""
    workspace = Workspace()
    for path in paths:
        workspace.open(str(path))
    return OpenFiles(workspace)


def as_answered(opened: OpenFiles, facts: dict) -> dict:
    """What a command says, as an answer says it: with handles, without ticks."""
    return with_handles(facts, opened.handles)


def answered(opened: OpenFiles, tool: str, **arguments: object) -> dict:
    """The answer of a tool."""
    text, is_error = answer(opened, _BY_NAME[tool], arguments)
    assert not is_error, text
    return json.loads(text)


def refused(opened: OpenFiles, tool: str, **arguments: object) -> str:
    """The message of a tool that refuses its arguments."""
    text, is_error = answer(opened, _BY_NAME[tool], arguments)
    assert is_error, text
    return text
