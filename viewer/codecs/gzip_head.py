"""Decompresses the first bytes of a gzip file, so that formats are detected by content."""

from __future__ import annotations

import zlib

MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_MOST = 4096
_STEP = 4096


def inflated_head(head: bytes) -> bytes:
    """At most 4096 decompressed bytes, those before any damage; b"" if `head` is not gzip."""
    if not head.startswith(MAGIC):
        return b""
    try:
        return zlib.decompressobj(_GZIP).decompress(head, _MOST)
    except zlib.error:
        return inflated_before_damage(zlib.decompressobj(_GZIP), head, _MOST)


def inflated_before_damage(unpack: zlib._Decompress, packed: bytes, most: int) -> bytes:
    """What can be decompressed of some damaged bytes, at most so much."""
    found = b""
    size, at = _STEP, 0
    while size and len(found) < most and not unpack.eof:
        before = unpack.copy()
        try:
            found += unpack.decompress(packed[at : at + size], most - len(found))
            at += size
        except zlib.error:
            unpack = before
            size //= 8
    return found
