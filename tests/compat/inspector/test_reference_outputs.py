"""Reference outputs are counted as torch.save writes them, and no pickle is loaded."""

from __future__ import annotations

import io
import pickle
import tracemalloc
import zipfile
from collections import OrderedDict
from typing import Any

import pytest

from viewer.compat.inspector.official_record import NoReferenceOutputs, counts_of, read_member


class Storage:
    """Stands for a tensor's storage, which torch.save puts into a file of its own."""


class Tensor:
    """Pickled as torch pickles a tensor: a call with its storage, sizes and hooks."""

    def __reduce__(self) -> Any:
        return OrderedDict, (), {"storage": Storage(), "sizes": (1, 8), "hooks": OrderedDict()}


def saved(value: object, protocol: int = 2, name: str = "archive/data.pkl") -> io.BytesIO:
    """A value in an archive as torch.save writes it."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, item: object) -> object:
            return ("storage", "cpu", 8) if isinstance(item, Storage) else None

    raw, file = io.BytesIO(), io.BytesIO()
    Pickler(raw, protocol).dump(value)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, raw.getvalue())
        archive.writestr("archive/data/0", b"\0" * 32)
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_outputs_of_every_method_are_counted(protocol):
    shared = [Tensor(), Tensor()]
    outputs = {"forward": [shared, shared, [1.5]], "encode": [[Tensor()]], "none": []}
    assert counts_of(saved(outputs, protocol)) == {"forward": 3, "encode": 1, "none": 0}


def test_many_outputs_in_several_batches():
    assert counts_of(saved({"forward": [[Tensor()] for _ in range(2500)]})) == {"forward": 2500}


class Harmful:
    """Would stop the process, if it were loaded."""

    def __reduce__(self) -> Any:
        return exit, (1,)


def test_nothing_in_the_pickle_is_called():
    assert counts_of(saved({"forward": [Harmful()]})) == {"forward": 1}


@pytest.mark.parametrize(
    "member",
    [
        io.BytesIO(b"\x80\x04]\x94."),
        saved({}, name="archive/other"),
        saved([1, 2]),
        saved({"forward": 3}),
        saved({("a",): []}),
    ],
    ids=["a pickle", "no pickle", "a list", "a number", "a method that is no text"],
)
def test_what_is_no_dict_of_lists_is_refused(member):
    with pytest.raises(NoReferenceOutputs):
        counts_of(member)


@pytest.mark.parametrize("raw", [b"", b".", b"a.", b"u.", b"\x80\x02}q\x00(X\x01", b"h\x07."])
def test_a_damaged_pickle_is_refused(raw):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", raw)
    with pytest.raises(NoReferenceOutputs):
        counts_of(file)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_packed_size_beyond_the_file_takes_no_memory(method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("a", b"x" * 1000)
    with zipfile.ZipFile(file) as archive:
        assert read_member(archive, "a") == b"x" * 1000
        archive.getinfo("a").compress_size = 1 << 29
        tracemalloc.start()
        assert read_member(archive, "a") == b"x" * 1000
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1 << 20


def test_a_member_of_another_size_than_stated_is_damaged():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"x" * 1000)
    with zipfile.ZipFile(file) as archive:
        archive.getinfo("a").file_size = 2000
        with pytest.raises((zipfile.BadZipFile, EOFError)):
            read_member(archive, "a")
