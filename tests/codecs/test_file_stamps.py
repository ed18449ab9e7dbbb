"""Hashes of inputs: of what was read, or a reason."""

import hashlib
import os

import pytest

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.file_bytes import CHANGED, GONE, hash_facts, stamp_of


def test_a_file_is_told_by_its_sha256(tmp_path):
    path = tmp_path / "a.etdp"
    data = bytes(range(256)) * 5000
    path.write_bytes(data)
    facts = hash_facts(str(path), stamp_of(str(path)))
    assert facts == {"sha256": hashlib.sha256(data).hexdigest()}


def test_a_file_that_changed_since_it_was_read_has_no_hash(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("one")
    stamp = stamp_of(str(path))
    path.write_text("other")
    assert hash_facts(str(path), stamp) == {"sha256_missing": CHANGED}
    path.unlink()
    assert hash_facts(str(path), stamp) == {"sha256_missing": GONE}


def test_what_is_no_plain_file_is_neither_stamped_nor_opened(tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    for path in (pipe, str(tmp_path), str(tmp_path / "missing"), "a\0b"):
        assert stamp_of(path) is None
        assert hash_facts(path, None) == {"sha256_missing": GONE}


def test_a_pipe_in_the_place_of_the_file_does_not_hang(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("one")
    stamp = stamp_of(str(path))
    path.unlink()
    os.mkfifo(path)
    assert hash_facts(str(path), stamp) == {"sha256_missing": CHANGED}


def test_hashing_can_be_cancelled(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("one")
    with pytest.raises(WriteCancelled):
        hash_facts(str(path), stamp_of(str(path)), lambda: True)
