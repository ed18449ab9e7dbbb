"""Serves the tools over stdio, in the Model Context Protocol.

The protocol is that of the package `mcp`, an extra of Opscope (`pip install "opscope[mcp]"`), which
is imported here alone and only when the server starts. While it serves, standard output carries the
protocol and nothing else; whatever prints goes to standard error. It opens no connection.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from viewer import __version__
from viewer.extras import how_to_install
from viewer.mcp_server.limits import OpenFiles
from viewer.mcp_server.tools import INSTRUCTIONS, Tool, tools_for
from viewer.model.text import one_line
from viewer.reports.stats import NoSuchGroups

if TYPE_CHECKING:
    from anyio import AsyncFile
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolResult


import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator


class NoProtocol(Exception):
    """The package mcp is not installed; the message says how to install it."""


def require() -> None:
    """Raise `NoProtocol` if the package mcp is not installed, or too old."""
    if any(importlib.util.find_spec(name) is None for name in ("mcp", "mcp_types", "anyio")):
        raise NoProtocol(how_to_install("opscope mcp needs the package mcp", "mcp"))


def serve(opened: OpenFiles) -> None:
    """Answer requests until standard input or output is closed.

    Raises KeyboardInterrupt at Ctrl+C.
    """
    import anyio

    anyio.run(_serve, opened)


async def _serve(opened: OpenFiles) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    server = server_of(opened)
    try:
        async with stdio_server(cast("AsyncFile[str]", StandardInput())) as (received, sent):
            await server.run(received, sent, server.create_initialization_options())
    except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the client has ended


def server_of(opened: OpenFiles) -> Server[dict[str, object]]:
    """Return the server with the tools for the open files."""
    import mcp_types as types
    from anyio import CapacityLimiter, to_thread
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    tools = {tool.name: tool for tool in tools_for(opened)}
    listed = types.ListToolsResult(
        tools=[
            types.Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.schema,
                annotations=types.ToolAnnotations(
                    title=tool.title,
                    read_only_hint=True,
                    destructive_hint=False,
                    idempotent_hint=True,
                    open_world_hint=False,
                ),
            )
            for tool in tools.values()
        ]
    )
    one_at_a_time = CapacityLimiter(1)

    async def list_tools(
        context: ServerRequestContext[dict[str, object]],
        request: types.PaginatedRequestParams | None,
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(
        context: ServerRequestContext[dict[str, object]], request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = tools.get(request.name)
        if tool is None:
            names = ", ".join(tools)
            return result(f"there is no tool {request.name[:40]!r}; the tools are {names}", True)
        work = partial(answer, opened, tool, request.arguments or {})
        # An answer that nobody waits for any more is computed to its end, and dropped.
        text, is_error = await to_thread.run_sync(
            work, limiter=one_at_a_time, abandon_on_cancel=True
        )
        return result(text, is_error)

    def result(text: str, is_error: bool) -> CallToolResult:
        content = types.TextContent(type="text", text=text)
        return types.CallToolResult(content=[content], is_error=is_error)

    server: Server[dict[str, object]] = Server(
        "opscope",
        version=__version__,
        title="Opscope",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # it would report each request to a tracing service, if one is set up
    return server


def answer(opened: OpenFiles, tool: Tool, arguments: Mapping[str, object]) -> tuple[str, bool]:
    """Return the answer of a tool, or the message of an error, and whether it is one."""
    try:
        return tool.call(opened, arguments), False
    except (ValueError, NoSuchGroups) as error:
        return one_line(str(error)), True
    except MemoryError:
        return "there is not enough memory for this answer", True
    except Exception as error:  # a bug in one answer must not end the server
        text = f"{tool.name} failed because of an error in Opscope ({error!r})"
        print(f"opscope: {one_line(text)}", file=sys.stderr)
        return one_line(text), True


class StandardInput:
    """Iterates over the lines, with their line ends, in an event loop of asyncio. Only once.

    A thread of asyncio or anyio that waits for a line keeps the process until the line comes, also
    at Ctrl+C. This one is a daemon, and reads a file object of its own, because the interpreter
    closes `sys.stdin` when it ends.
    """

    def __init__(self) -> None:
        self._file = open(  # noqa: SIM115 - the thread may read it to the end of the process
            os.dup(0), encoding="utf-8", errors="replace", closefd=False
        )

    async def __aiter__(self) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str] = asyncio.Queue()
        wanted = threading.Semaphore(1)  # of lines that wait, so that no client fills the memory

        def read() -> None:
            line = None
            with contextlib.suppress(RuntimeError):  # the loop has ended
                while line != "":
                    try:
                        line = self._file.readline()
                    except OSError:
                        line = ""
                    wanted.acquire()
                    loop.call_soon_threadsafe(lines.put_nowait, line)

        threading.Thread(target=read, daemon=True).start()
        while line := await lines.get():
            wanted.release()
            yield line
