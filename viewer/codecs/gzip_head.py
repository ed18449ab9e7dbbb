"""The first bytes inside a gzip, so that formats are told by content whether packed or not."""

from __future__ import annotations

import zlib

MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_MOST = 4096


def inflated_head(head: bytes) -> bytes:
    """At most 4096 bytes that the beginning of a gzip unpacks to; b"" if it is none, or damaged."""
    if not head.startswith(MAGIC):
        return b""
    try:
        return zlib.decompressobj(_GZIP).decompress(head, _MOST)
    except zlib.error:
        return b""
