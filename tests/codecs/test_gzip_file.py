"""The first bytes inside a gzip."""

import gzip

from viewer.codecs.unpacking import inflated_head


def test_the_beginning_of_what_was_packed():
    packed = gzip.compress(b"0123456789" * 100_000)
    assert inflated_head(packed) == (b"0123456789" * 410)[:4096]
    assert inflated_head(gzip.compress(b"[1]")[:-9]) == b"[1]"


def test_what_is_no_gzip_or_damaged_has_none():
    assert inflated_head(b"[1]") == b""
    assert inflated_head(b"\x1f\x8b" + b"\xff" * 50) == b""
    assert inflated_head(b"") == b""
