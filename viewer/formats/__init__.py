"""The registry of file formats: chooses a format by content and reads files.

A format is a module with two functions: `sniff` checks the first 4096 bytes, `read` returns a
`Trace`, a `Program` or an `Executable`. Format modules are imported when a file is opened, not when
formats are listed. Content decides; suffixes are only displayed. The README says how to add one.
"""

from __future__ import annotations

import functools
import importlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from viewer.codecs.memory_budget import BUDGET, NotEnoughMemory, size_of
from viewer.codecs.reading import (
    Cancelled,
    FileTooLarge,
    Progress,
    ReadCancelled,
    UnreadableFile,
    never_cancelled,
    no_progress,
)
from viewer.codecs.unpacking import part_size
from viewer.dataclasses import dataclass, replace
from viewer.formats.column_cache import CACHE
from viewer.formats.metadata_parsers import register_metadata_parser, unregister_metadata_parser

if TYPE_CHECKING:
    from viewer.model.building.builder import TraceBuilder
    from viewer.model.trace import Trace
    from viewer.program.executables import Executable
    from viewer.program.program import Program

__all__ = [
    "HEAD_SIZE",
    "Cancelled",
    "FileTooLarge",
    "Format",
    "Progress",
    "ReadCancelled",
    "TraceBuilder",
    "UnreadableFile",
    "choose",
    "format_of",
    "formats",
    "head_of",
    "never_cancelled",
    "no_progress",
    "open_file",
    "register_metadata_parser",
    "unregister_metadata_parser",
]

HEAD_SIZE = 4096
# Paths that look like regular files but are not: reading some of them blocks forever or has side
# effects.
_KERNEL_FOLDERS = ("/proc/", "/sys/")


@dataclass(frozen=True, slots=True)
class Format:
    """One file format: its name, usual suffixes, and functions to recognize and read it.

    Attributes:
        name: As people call it, in title case.
        suffixes: Usual suffixes, with the dot. They are displayed; content decides.
        kind: "trace", "program" or "executable".
        sniff: `sniff(head)` gets at most the first 4096 bytes, returns whether they are of this
            format, and must not raise.
        read: `read(path, progress, cancelled)` returns a Trace, a Program or an Executable and
            raises only `UnreadableFile` or `ReadCancelled`, besides `NotEnoughMemory`.
        in_order: Whether its first part can be opened alone.
        is_kept: Whether the window keeps the columns of large ones (`column_cache`): what is read
            depends on nothing but the file.
    """

    name: str
    suffixes: tuple[str, ...]
    kind: str
    sniff: Callable[[bytes], bool]
    read: Callable[[str, Progress, Cancelled], Trace | Program | Executable]
    in_order: bool = False
    is_kept: bool = False


PLAIN_CSV, JSON_TABLE, LAYER_TABLE = "Plain CSV", "JSON table", "Layer table"
LOG, PACKED = "Log with a profile", "Packed file"
# Tables of any tool, whose columns a user can state.
WITH_COLUMNS = frozenset((PLAIN_CSV, JSON_TABLE, LAYER_TABLE))
# In the order they are tried: formats with a magic number first, then texts, most specific first.
# The module of ETRecords takes 20 ms to import, and most commands open an ETDump.
_FORMATS = {
    "executorch.etdump.reader": ("ETDump", (".etdp", ".etdump"), "trace"),
    "executorch.etrecord.reader": ("ETRecord", (".etrecord", ".bin"), "program"),
    "executorch.pte.reader": ("ExecuTorch program", (".pte", ".bpte"), "executable"),
    "perfetto.reader": ("Perfetto trace", (".pftrace", ".pb", ".perfetto-trace", ".gz"), "trace"),
    "opscope_report": ("Opscope report", (".html",), "trace"),
    "torq.runtime_csv": ("Torq runtime profile", (".csv",), "trace"),
    "torq.host_csv": ("Torq host profile", (".csv",), "trace"),
    "torq.annotated_csv": ("Torq annotated profile", (".csv",), "trace"),
    "torq.annotated_xlsx": ("Torq annotated workbook", (".xlsx",), "trace"),
    "torq.compile_csv": ("Torq compile profile", (".csv",), "trace"),
    # Before formats that are recognized by any line: a name in a profile CSV may look like it.
    "table.reader": ("Profile CSV", (".csv", ".tsv"), "trace"),
    "runtimes.qnn_csv": ("QNN profile", (".csv",), "trace"),
    "runtimes.qnn_viewer_text": ("QNN viewer text", (".txt",), "trace"),
    "runtimes.snpe_diagview": ("SNPE profile", (".csv", ".txt"), "trace"),
    "executorch.partition_log": ("Partitioner log", (".txt", ".log"), "program"),
    # Before texts that are recognized by any line: a log around them is removed first.
    "in_log": (LOG, (".txt", ".log"), "trace"),
    "runtimes.tflite_benchmark": ("LiteRT benchmark", (".txt", ".csv"), "trace"),
    "runtimes.vela_layers": ("Vela per-layer CSV", (".csv",), "trace"),
    "runtimes.nsys_stats": ("Nsight Systems report", (".csv",), "trace"),
    "layers.layer_info": ("TensorRT layers", (".json",), "program"),
    "executorch.debug_handle_map": ("Debug handle map", (".json",), "program"),
    "runtimes.qnn_optrace": ("QNN optrace", (".json",), "trace"),
    "samples.reader": ("Sampled profile", (".json", ".cpuprofile", ".txt", ".folded"), "trace"),
    "executorch.inspector_tsv": ("Inspector table", (".tsv",), "trace"),
    "executorch.runner_log": ("LLM runner log", (".txt", ".log"), "trace"),
    "layers.reader": (LAYER_TABLE, (".csv", ".json", ".txt"), "trace"),
    "table.json_rows": (JSON_TABLE, (".json", ".jsonl"), "trace"),
    "chrome.reader": ("Chrome trace", (".json", ".json.gz"), "trace"),
    "zipped": ("ZIP archive", (".zip",), "trace"),
    "mlir_text": ("MLIR text", (".mlir",), "program"),
    "python_source": ("Python source", (".py",), "program"),
    "packed": (PACKED, (".zst", ".xz", ".bz2", ".gz"), "trace"),
    # Last: any table of numbers can be one.
    "table.plain_csv": (PLAIN_CSV, (".csv", ".tsv", ".txt", ".csv.gz"), "trace"),
}

# Those that are read in order, so that their first part can be opened alone.
_IN_ORDER = frozenset(
    ("perfetto.reader", "torq.runtime_csv", "torq.host_csv", "torq.annotated_csv",
     "torq.compile_csv", "chrome.reader", "executorch.inspector_tsv", "table.reader",
     "runtimes.qnn_csv", "runtimes.snpe_diagview", "runtimes.tflite_benchmark",
     "runtimes.vela_layers", "runtimes.nsys_stats", "runtimes.qnn_optrace", "table.plain_csv",
     "packed")
)  # fmt: skip
# Those of large files whose columns the window keeps. Packed files and logs are what is in them.
_KEPT = frozenset(
    ("perfetto.reader", "chrome.reader", "table.reader", "table.plain_csv", "table.json_rows",
     "samples.reader", "torq.runtime_csv", "torq.host_csv", "executorch.inspector_tsv",
     "runtimes.qnn_csv", "runtimes.qnn_optrace", "packed")
)  # fmt: skip
WHOLE = Fraction(1)

# Estimates are rather too low, so that no file is refused that fits; a part that is offered must
# fit. With 8/10, that of a packed list of the smallest events took 818 MB of 600 MB.
_SAFE = Fraction(1, 2)

_NO_PROFILE = "It contains no profile: open the ETDump and the ETRecord of the model"
# A debug buffer has no header: its tensors are found through the debug events of the ETDump.
_BUFFER_SUFFIX = ".bin"
# Of an .npz file, which numpy.savez writes.
ARRAY_MEMBER = b".npy"
_AS_REFERENCE = "It is a reference for logged values: open it together with their ETDump"
# The first members of a model that torch.export.save wrote, as they stand in the ZIP archive.
PT2_MEMBERS = (b"archive_format", b"serialized_exported_program.json")
# Files that users open by mistake, recognized by their first bytes: what it is, and what to open
# instead.
_STRANGERS: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"\x1f\x8b", "a gzip file", "Unpack it first"),
    (4, b"FT01", "a file of external weights of an ExecuTorch program (.ptd)", _NO_PROFILE),
    (0, b"\x80\x02", "a Python pickle", "Pickles are never loaded, since they can run code"),
    (0, b"\x80\x04", "a Python pickle", "Pickles are never loaded, since they can run code"),
    (0, b"\xff\xfe", "UTF-16 text", "Save it as UTF-8"),
    (0, b"\xfe\xff", "UTF-16 text", "Save it as UTF-8"),
    (0, b"\xff\xd8\xff", "a JPEG image", ""),
    (0, b"\x89PNG", "a PNG image", ""),
    (0, b"\x7fELF", "an executable", ""),
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import `TraceBuilder` on first use, so that listing the formats does not import numpy."""
    if name == "TraceBuilder":
        return importlib.import_module("viewer.model.building.builder").TraceBuilder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def format_of(module: str) -> Format:
    """Return the format that a module of this package reads; the module is imported on first use.

    Args:
        module: Its name in this package, such as "chrome.reader".

    Returns:
        The format.

    Raises:
        KeyError: If `_FORMATS` does not list the module.
    """

    @functools.cache  # asking for a module again took 5 % of recognizing a file
    def reader() -> Any:
        return importlib.import_module(f"{__name__}.{module}")

    def of_module(name: str) -> Callable[..., Any]:
        return lambda *given: getattr(reader(), name)(*given)

    return Format(
        *_FORMATS[module],
        of_module("sniff"),
        of_module("read"),
        in_order=module in _IN_ORDER,
        is_kept=module in _KEPT,
    )


def formats() -> tuple[Format, ...]:
    """Return all formats.

    Returns:
        Them, in the order in which they are tried.
    """
    return tuple(format_of(module) for module in _FORMATS)


def choose(head: bytes, path: str) -> Format:
    """Return the format of a file by its first bytes.

    Args:
        head: The first 4096 bytes, or all of a smaller file.
        path: The file, for the error.

    Returns:
        The first format whose `sniff` accepts the bytes.

    Raises:
        UnreadableFile: If none does; it names what the file is, where that is known.
    """
    from viewer.formats.refusals import foreign_file

    stranger = foreign_file(head, path)
    if stranger is not None:
        raise UnreadableFile(path, f"this is {stranger[0]}", remedy=stranger[1])
    for candidate in formats():
        if candidate.sniff(head):
            if candidate.name == LOG and _is_partition_log(path):
                return format_of("executorch.partition_log")
            return candidate
    if head.startswith(b"PK\x03\x04") and any(member in head for member in PT2_MEMBERS):
        raise UnreadableFile(
            path, "this is a model that torch.export saved (.pt2)", remedy=_NO_PROFILE
        )
    if head.startswith(b"PK\x03\x04") and ARRAY_MEMBER in head:
        raise UnreadableFile(path, "this is an .npz file of arrays", remedy=_AS_REFERENCE)
    for offset, magic, what, remedy in _STRANGERS:
        if head[offset : offset + len(magic)] == magic:
            raise UnreadableFile(path, f"this is {what}", remedy=remedy)
    if b"\0" not in head and os.path.isfile(path):
        from viewer.formats.in_log import holds_profile

        if holds_profile(path):
            return format_of("in_log")
        if _is_partition_log(path):
            return format_of("executorch.partition_log")
    names = ", ".join(f.name for f in formats())
    if path.endswith(_BUFFER_SUFFIX):
        buffer = (
            "If it is a debug buffer, open it together with the ETDump that was written with it. "
        )
    else:
        buffer = ""
    raise UnreadableFile(
        path,
        "Opscope does not recognize the format",
        remedy=f"{buffer}Opscope reads {names}; a profile of another tool opens as a CSV with "
        "columns for name, start and duration",
    )


def _is_partition_log(path: str) -> bool:
    from viewer.formats.executorch.partition_log import is_further_on

    return os.path.isfile(path) and is_further_on(path)


def open_file(
    path: str,
    progress: Progress = no_progress,
    cancelled: Cancelled = never_cancelled,
    *,
    part: Fraction = WHOLE,
    columns: str = "",
    may_be_empty: bool = False,
) -> Trace | Program | Executable:
    """Read one file, whatever its name.

    Args:
        path: The file.
        progress: Is called with the bytes or rows that were read, and with all of them.
        cancelled: Is called now and then; the reading stops if it returns true.
        part: The share of the file to read, from its start, up to 1; the trace then has a problem
            that states it.
        columns: What the columns of a plain CSV or a table of layers are, as the option --columns
            states it.
        may_be_empty: Accept a profile without slices, counters and events without a time.

    Returns:
        What the file has: a trace, the source of a model, or a program file.

    Raises:
        UnreadableFile: If it cannot be read, or has nothing to show; `FileTooLarge` if it needs
            more memory than is available.
        ReadCancelled: If `cancelled` returned true.
        ValueError: If `columns` is not written as the option is.
    """
    head = head_of(path)
    if not head:
        raise UnreadableFile(path, "the file is empty", remedy="Record it again")
    with _stated(columns):
        chosen = choose(head, path)
    if part < WHOLE and not chosen.in_order:
        raise UnreadableFile(
            path,
            f"a file of the format {chosen.name} cannot be opened in part",
            remedy="Open the whole file, and name the file that --part is for: FILE=20%",
        )

    def read() -> Trace | Program | Executable:
        return _read(chosen, path, progress, cancelled, part, columns)

    item = CACHE.open(path, str(part), columns, read) if chosen.is_kept else read()
    if chosen.kind == "trace" and not may_be_empty:
        from viewer.formats.refusals import require_contents

        require_contents(cast("Trace", item))
    return item


def _read(
    chosen: Format,
    path: str,
    progress: Progress,
    cancelled: Cancelled,
    part: Fraction,
    columns: str,
) -> Trace | Program | Executable:
    """Read a file as a format. Raises UnreadableFile and ReadCancelled."""
    try:
        with BUDGET.reading(part, size_of(path)), _stated(columns):
            item = chosen.read(path, progress, cancelled)
    except NotEnoughMemory as error:
        raise too_large(path, error, part if chosen.in_order else None) from error
    except OSError as error:
        raise UnreadableFile(
            path, _os_reason(error), remedy="Check the file and its disk"
        ) from error
    except MemoryError as error:
        raise UnreadableFile(path, f"not enough memory to read it as {chosen.name}") from error
    return item if part >= WHOLE else _as_part(item, part)


def _stated(columns: str) -> AbstractContextManager[None]:
    """State the columns of the file that this thread reads."""
    if not columns:
        return nullcontext()
    from viewer.formats.table.stated_columns import parse_columns, with_columns

    return with_columns(parse_columns(columns))


@contextmanager
def within_memory(path: str) -> Iterator[None]:
    """Count the memory of the block as that of a file that is read. Raises FileTooLarge."""
    try:
        with BUDGET.reading(size=size_of(path)):
            yield
    except NotEnoughMemory as error:
        raise too_large(path, error) from error


def too_large(path: str, error: NotEnoughMemory, part: Fraction | None = None) -> FileTooLarge:
    """The error that a reader states with figures.

    part: the share of the file that it was to read, None if its format cannot be read in part.
    """
    from viewer.model.text import bytes_text

    fits = Fraction(0)
    if part is not None and error.in_proportion:
        fits = _round_share(part * Fraction(error.available, error.needed) * _SAFE)
    what = "it" if part in (None, WHOLE) else f"its first {share_text(part or WHOLE)}"
    if error.times:
        why = f"{error.times:,} times the size of the file, which no usual file does"
        more = f"as much with --max-memory {max(-(-error.needed // 10**9), 1)}G if you trust it"
    else:
        why = f"and {bytes_text(error.available)} are available"
        more = "more with --max-memory"
    instead = f"Open only a part (--part {share_text(fits)}), or allow" if fits else "Allow"
    return FileTooLarge(
        path,
        f"{what} would need about {bytes_text(error.needed)} of memory, {why}",
        remedy=f"{instead} {more}",
        part=fits,
    )


def _round_share(share: Fraction) -> Fraction:
    """Rounded down to 10 %, or below that to 1 %, or to 0.1 %."""
    step = next((Fraction(1, n) for n in (10, 100, 1000) if share * n >= 1), None)
    return Fraction(0) if step is None else min(share, WHOLE) // step * step


def share_text(share: Fraction) -> str:
    """A share as "20%"."""
    return f"{float(share * 100):.4g}%"


def _as_part(item: Trace | Program | Executable, part: Fraction) -> Trace | Program | Executable:
    """The trace of the first part of a file, with a problem that reports it."""
    from viewer.model.text import bytes_text
    from viewer.model.trace import Problem, Trace

    if not isinstance(item, Trace):
        return item
    size = os.path.getsize(item.path)
    unit = bytes_text(size)
    read = bytes_text(part_size(size, part))
    problem = Problem(
        f"Only the first {share_text(part)} of the file ({read} of {unit}) was read", 1, ""
    )
    return replace(item, problems=(problem, *item.problems), is_part=True)


def head_of(path: str) -> bytes:
    """Return the first 4096 bytes of a file.

    Args:
        path: The file.

    Returns:
        At most 4096 bytes; fewer for a smaller file.

    Raises:
        UnreadableFile: If it is not a regular file, or cannot be read.
    """
    try:
        if os.path.realpath(path).startswith(_KERNEL_FOLDERS):
            raise UnreadableFile(path, "this is a kernel file, not a file on a disk")
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise UnreadableFile(path, "this is a folder", remedy="Open its files")
        if not stat.S_ISREG(mode):
            raise UnreadableFile(path, "this is a device or a pipe, not a file")
        with open(path, "rb") as file:
            return file.read(HEAD_SIZE)
    except FileNotFoundError as error:
        raise UnreadableFile(path, "there is no such file", remedy="Check the path") from error
    except PermissionError as error:
        raise UnreadableFile(path, "no permission to read it") from error
    except (OSError, ValueError) as error:
        raise UnreadableFile(path, _os_reason(error)) from error


def _os_reason(error: OSError | ValueError) -> str:
    text = error.strerror if isinstance(error, OSError) else str(error)
    return f"it cannot be read ({text})"
