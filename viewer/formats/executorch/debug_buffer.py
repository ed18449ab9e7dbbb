"""The debug buffer of an ETDump: the bytes of the tensors that its debug events point into.

It has no header. The runtime aligns each tensor in its own memory, so offsets in the file may have
any alignment. `write_etdump_result_to_file` writes the whole buffer, used or not; a FileDataSink
writes only what is used. See devtools/etdump/data_sinks of ExecuTorch.
"""

from __future__ import annotations

import os

from viewer.codecs.file_bytes import FileBytes
from viewer.codecs.reading import UnreadableFile
from viewer.formats import choose, head_of

SUFFIX = ".bin"
# What is added to the name of an ETDump, or replaces its suffix.
_ENDS = (".bin", ".debug.bin", "_debug.bin", ".buffer.bin", "_buffer.bin", "_debug_buffer.bin")


def is_debug_buffer(path: str) -> bool:
    """Whether a file can be one: it is named .bin and is of no other format."""
    if not path.lower().endswith(SUFFIX):
        return False
    try:
        head = head_of(path)
    except UnreadableFile:
        return False
    try:
        choose(head, path)
    except UnreadableFile:
        return bool(head)
    return False


def open_debug_buffer(path: str) -> FileBytes:
    """Open a debug buffer. Raises UnreadableFile."""
    head_of(path)
    try:
        return FileBytes(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(path, f"it cannot be read ({reason})") from error


def buffers_next_to(path: str) -> list[tuple[str, ...]]:
    """Return the files next to an ETDump that may be its debug buffer, those to prefer first.

    Those with its own name come before all others named debug.
    """
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    # "run.debug.etdp", and "run_debug.etdp" next to "run.bin"
    likely_names = {f"{start}{end}" for start in (name, stem) for end in _ENDS}
    try:
        inside = sorted(os.listdir(folder or "."))
    except OSError:
        return []
    paths = [os.path.join(folder, other) for other in inside if is_buffer_name(other)]
    tiers = (
        tuple(file for file in paths if os.path.basename(file) in likely_names),
        tuple(file for file in paths if "debug" in os.path.basename(file).lower()),
    )
    return [files for tier in tiers if (files := tuple(filter(is_debug_buffer, tier)))]


def is_buffer_name(name: str) -> bool:
    """Whether a file is named as debug buffers are."""
    return name.lower().endswith(SUFFIX)
