"""Reads the JSON members of an ETRecord's ZIP archive, without their weights.

All releases store members uncompressed; an ETRecord that was zipped again is supported too. Pickles
are never loaded, that is, reference outputs, representative inputs, and the weights, constants and
example inputs next to a program; `constants` reads hashes of some. A suffix alone does not identify
those, because a method may be named `update_state_dict`: a member is a pickle only if its name is
another member's plus a suffix.

Lowered modules contain their weights as base64 text, about 2.7 bytes per byte of weights. This text
is removed piece by piece while a member is read, so that a member of 90 MB needs only a few MB.
"""

from __future__ import annotations

import lzma
import os
import string
import struct
import zipfile
import zlib
from collections.abc import Iterator

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if

MAGIC = "ETRECORD_V0"
EDGE = "edge_dialect_exported_program"
ATEN = "exported_program"
DEBUG_HANDLES = "debug_handle_map"
DELEGATES = "delegate_map"
NUMBER_OF_OUTPUTS = "instruction_id_to_num_outs_map"
EXPORT_GRAPH = "export_graph_id"

BLOBS = ("_state_dict", "_constants", "_example_inputs")
# The limit for a member without weights; parsed JSON takes about four times its size.
_MOST_TEXT = 1 << 30
# Members are stored uncompressed; a real ETRecord that is zipped again compresses 1:40 at most.
MOST_RATIO = 80
_BASE64 = (string.ascii_letters + string.digits + "+/=").encode()
# A piece of only base64 after another such piece is weights: no name, path or number has 4096 such
# characters in a row, and shorter weights do not matter.
_PIECE = 1 << 12
_CHUNK = 256 * _PIECE
# Everything that zipfile and its decompressors raise for a damaged or encrypted archive.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError, struct.error,
)  # fmt: skip


class Members:
    """The JSON members of one ETRecord, used as a context manager.

    edge: method -> member with its edge dialect graph. is_flat: up to 1.1, there is one such
    member, without the method's name. graphs: members with the ATen program and extra graphs. maps:
    which of the maps exist. All methods raise only UnreadableFile or ReadCancelled.
    """

    def __init__(self, path: str, progress: Progress, cancelled: Cancelled) -> None:
        self._path = path
        self._progress = progress
        self._cancelled = cancelled
        self._done = 0
        self.held = 0  # bytes that the contents of the members read before take
        try:
            self._archive = zipfile.ZipFile(path)
            self._all = {info.filename: info for info in self._archive.infolist()}
        except DAMAGED as error:
            raise self._damaged(error) from error
        programs = [n for n in self._all if not n.endswith("/") and not self._is_blob(n)]
        self.is_flat = EDGE in programs
        self.edge = {n[len(EDGE) + 1 :]: n for n in programs if n.startswith(EDGE + "/")}
        if self.is_flat:
            self.edge["forward"] = EDGE
        edge = set(self.edge.values())
        self.graphs = [n for n in programs if n == ATEN or ("/" in n and n not in edge)]
        member_names = (DEBUG_HANDLES, DELEGATES, NUMBER_OF_OUTPUTS, EXPORT_GRAPH)
        self.maps = frozenset(n for n in member_names if n in self._all)
        selected = {*edge, *self.graphs, *self.maps}
        self._total = sum(self._all[n].file_size for n in selected)
        # Members may share bytes of the file, so their sizes are checked as a sum.
        if self._total > MOST_RATIO * os.path.getsize(path):
            self._archive.close()
            raise self._too_big(f"its members would unpack to {self._total:,} bytes", "")

    def __enter__(self) -> Members:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def read(self, name: str) -> bytearray:
        """The text of a member without its weights."""
        result = bytearray()
        was_weights = False
        try:
            with self._archive.open(self._all[name]) as member:
                while chunk := member.read(_CHUNK):
                    stop_if(self._cancelled)
                    for start in range(0, len(chunk), _PIECE):
                        piece = chunk[start : start + _PIECE]
                        is_weights = not piece.translate(None, _BASE64)
                        # The first piece of a run is kept: it may start inside an escape.
                        if not (is_weights and was_weights):
                            result += piece
                        was_weights = is_weights
                    if len(result) > _CHUNK:
                        allowance().take(self.held + 2 * len(result))
                    if len(result) > _MOST_TEXT:
                        raise self._too_big(f"it holds more than {_MOST_TEXT:,} bytes", name)
                    self._done += len(chunk)
                    self._progress(min(self._done, self._total), self._total)
        except DAMAGED as error:
            raise self._damaged(error) from error
        return result

    def constants(self, program: str) -> Iterator[zipfile.ZipInfo]:
        """The members with the parameters, buffers and constants of a program."""
        for end in BLOBS[:2]:
            if program + end in self._all:
                yield self._all[program + end]

    def _is_blob(self, name: str) -> bool:
        return any(name.endswith(end) and name[: -len(end)] in self._all for end in BLOBS)

    def _damaged(self, error: Exception) -> UnreadableFile:
        return UnreadableFile(
            self._path,
            f"the ETRecord's ZIP archive is damaged ({error})",
            remedy="Copy or save the ETRecord again",
        )

    def _too_big(self, reason: str, where: str) -> UnreadableFile:
        remedy = "ETRecords have uncompressed members: this one was not made by export"
        return UnreadableFile(self._path, reason, where=where, remedy=remedy)
