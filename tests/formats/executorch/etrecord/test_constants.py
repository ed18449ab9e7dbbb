"""Hashes of parameters, read without loading the pickle and without reading their values."""

import io
import pickle
import zipfile
from collections import OrderedDict

import pytest

from tests.builders.record_cases import read
from tests.paths import DATA
from viewer.formats.executorch.etrecord.archive import hashes


class Storage:
    """What torch.save pickles for a storage: a persistent id."""

    def __init__(self, key, kind="FloatStorage"):
        self.key, self.kind = key, kind


class FloatStorage:
    """Its name is what counts: the pickle refers to a class of torch."""


class Tensor:
    def __init__(self, storage, start=0):
        self.storage, self.start = storage, start

    def __reduce__(self):
        return rebuild, (self.storage, self.start, (2, 2))


def rebuild(*parts):
    raise AssertionError("a pickle was loaded")


def saved(tensors, storages):
    """What torch.save writes: names with tensors, and the bytes of each storage."""
    raw = io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, it):
            if isinstance(it, Storage):
                return "storage", FloatStorage, it.key, "cpu", 4
            return None

    Pickler(raw, 2).dump(OrderedDict(tensors))
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        archive.writestr("archive/data.pkl", raw.getvalue())
        for key, content in storages.items():
            archive.writestr(f"archive/data/{key}", content)
    return found


def test_equal_values_have_equal_hashes():
    tensors = {"a": Tensor(Storage("0")), "b": Tensor(Storage("1")), "c": Tensor(Storage("2"))}
    contents = {"0": b"abcdefgh", "1": b"abcdefgh", "2": b"abcdefgi"}
    found = hashes(saved(tensors, contents))
    assert found["a"] == found["b"] != found["c"]


def test_parts_of_a_storage_differ():
    shared = Storage("0")
    found = hashes(saved({"a": Tensor(shared), "b": Tensor(shared, 4)}, {"0": b"abcdefgh" * 4}))
    assert found["a"] != found["b"]


@pytest.mark.parametrize("content", [bytes(16), b"\0\0\x80\x3f" * 4, b"\1\2\3\4"])
def test_zeros_ones_and_single_values_identify_nothing(content):
    assert hashes(saved({"a": Tensor(Storage("0"))}, {"0": content})) == {"a": ""}


def test_a_damaged_member_has_no_constants():
    content = saved({"a": Tensor(Storage("0"))}, {"0": b"abcdefgh"}).getvalue()
    assert hashes(io.BytesIO(content[: len(content) // 2])) == {}
    assert hashes(io.BytesIO(pickle.dumps({"a": 1}))) == {}
    assert hashes(saved({"a": Tensor(Storage("0"))}, {})) == {}


def test_a_record_has_the_hashes_of_what_its_methods_use():
    (method,) = read(DATA / "compare/02_module_renamed/a.etrecord").methods
    assert len(method.constants["stem.weight"]) > 8
    used = {t.parameter for op in method.operators for n in op.nodes for t in n.inputs}
    assert set(method.constants) <= used
