"""Packets of large files are found on another thread, with the same result."""

from __future__ import annotations

import threading

import pytest

from tests.codecs.protobuf.test_reader import tag, varint
from viewer.codecs.protobuf.fields import LENGTH_DELIMITED, VARINT
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats.perfetto import packets
from viewer.formats.perfetto.packets import packets_of


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file of seven small blocks whose end is cut off."""
    monkeypatch.setattr(packets, "BLOCK", 1 << 12)
    body = b"".join(tag(8, VARINT) + varint(i) for i in range(1 << 14, (1 << 14) + 3))
    packet = tag(1, LENGTH_DELIMITED) + varint(len(body)) + body
    path = tmp_path / "some.pftrace"
    path.write_bytes(packet * (7 * 4096 // len(packet)) + packet[:-1])
    return str(path)


def read(path: str, progress=no_progress, cancelled=never_cancelled) -> list[object]:
    """The times of packets, and the problems between them."""
    found: list[object] = []
    for some in packets_of(path, progress, cancelled, lambda *problem: found.append(problem)):
        found.append(some.fields.get(8, VARINT).value.tolist())
    return found


def test_another_thread_finds_the_same_packets_and_problems_in_the_same_order(path, monkeypatch):
    alone = read(path)
    threads: list[str] = []
    monkeypatch.setattr(packets, "_MANY", 0)
    ahead = read(path, lambda done, size: threads.append(threading.current_thread().name))
    assert ahead == alone
    assert len(ahead) > 5
    assert "the rest of the file is lost" in ahead[-1][0]
    assert set(threads) == {threading.current_thread().name}


def test_the_other_thread_ends_when_nobody_takes_its_packets(path, monkeypatch):
    monkeypatch.setattr(packets, "_MANY", 0)
    with pytest.raises(ReadCancelled):
        read(path, cancelled=lambda: True)
    found = packets_of(path, no_progress, never_cancelled, lambda *problem: None)
    next(found)
    found.close()
    assert "packets" not in {thread.name for thread in threading.enumerate()}


def test_an_error_of_the_other_thread_is_raised_where_its_packets_are_taken(path, monkeypatch):
    monkeypatch.setattr(packets, "_MANY", 0)

    def fails(*_given: object) -> None:
        raise UnreadableFile(path, "it fell apart")

    monkeypatch.setattr(packets, "_block", fails)
    with pytest.raises(UnreadableFile, match="it fell apart"):
        read(path)
