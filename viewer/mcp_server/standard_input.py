"""The lines of standard input for a server that can end while it waits for the next one.

A thread of asyncio or anyio that waits for a line keeps the process until the line comes, also at
Ctrl+C. This one is a daemon, and reads a file object of its own, because the interpreter closes
`sys.stdin` when it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator


class StandardInput:
    """Iterates over the lines, with their line ends, in an event loop of asyncio. Only once."""

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
