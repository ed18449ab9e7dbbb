"""Decompresses the first bytes of a gzip file, so that formats are detected by content."""

from __future__ import annotations

import zlib

MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_MOST = 4096


def inflated_head(head: bytes) -> bytes:
    """At most 4096 decompressed bytes; b"" if `head` is not gzip or is damaged."""
    if not head.startswith(MAGIC):
        return b""
    try:
        return zlib.decompressobj(_GZIP).decompress(head, _MOST)
    except zlib.error:
        return b""
