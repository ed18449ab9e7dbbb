"""Arrays of .npz files: stored and packed ones, and files that are not what they say."""

import io
import random
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.reading import FileTooLarge, UnreadableFile
from viewer.codecs.tensor_values import StoredTensor, TensorLayout
from viewer.formats import open_file
from viewer.formats.npz import NpzFile, is_npz


def read(file, key):
    data, start = file.stored(key)
    return StoredTensor(file.layouts[key], data, start).array


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_those_that_numpy_saved(tmp_path, save):
    arrays = {
        "8": np.arange(12, dtype=np.float32).reshape(3, 4),
        "1,2,3": np.asfortranarray(np.arange(24, dtype=np.int64).reshape(2, 3, 4)),
        "conv · convolution": np.float16([[0.5]]),
        "flags": np.array([True, False]),
        "scalar": np.float64(2.5),
        "none": np.empty((0, 3), np.int8),
    }
    save(tmp_path / "a.npz", **arrays)
    file = NpzFile(str(tmp_path / "a.npz"))
    assert list(file.layouts) == list(arrays)
    for key, array in arrays.items():
        assert file.layouts[key].sizes == array.shape
        assert (read(file, key) == array).all()
    file.close()


def test_is_known_by_its_name_and_content(tmp_path):
    np.savez(tmp_path / "a.npz", a=1)
    (tmp_path / "b.npz").write_bytes(b"no archive")
    assert is_npz(str(tmp_path / "a.npz"))
    assert not any(is_npz(str(tmp_path / name)) for name in ("b.npz", "gone.npz"))
    with pytest.raises(UnreadableFile, match=r"an \.npz file of arrays.*together with their ETD"):
        open_file(str(tmp_path / "a.npz"))


def test_pickles_are_never_loaded(tmp_path):
    class Bad:
        def __reduce__(self):
            return print, ("loaded",)

    np.savez(tmp_path / "a.npz", a=np.array([Bad()], object), b=np.float32([1]))
    file = NpzFile(str(tmp_path / "a.npz"))
    assert file.faults == {"a": "Python objects are a pickle, which is never loaded"}
    assert list(file.layouts) == ["b"]


def test_arrays_of_other_types_say_so(tmp_path):
    np.savez(tmp_path / "a.npz", c=np.complex64([1]), t=np.array(["text"]), b=np.array([1], ">f4"))
    file = NpzFile(str(tmp_path / "a.npz"))
    assert set(file.faults) == {"c", "t", "b"}
    assert file.faults["c"] == "values of type <c8 cannot be read: save them as float32"


def bomb(path, size):
    """A packed array of zeros."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "|u1", "fortran_order": False, "shape": (size,)}
    )
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as member,
    ):
        member.write(head.getvalue())
        for _ in range(size >> 20):
            member.write(bytes(1 << 20))
    return str(path)


@pytest.mark.slow
def test_an_array_that_unpacks_to_more_than_the_budget_is_refused(tmp_path, monkeypatch):
    file = NpzFile(bomb(tmp_path / "a.npz", 80 << 20))
    monkeypatch.setattr(BUDGET, "available", lambda: 0)
    monkeypatch.setattr(BUDGET, "_unused", lambda: 1 << 20)
    with pytest.raises(FileTooLarge, match="--max-memory"):
        file.stored("a")


def test_a_shape_beyond_the_member_is_a_fault(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)}
    )
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", head.getvalue() + b"1234")
        archive.writestr("b.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 9000) + b"(" * 9000)
        archive.writestr("c.txt", b"text")
    file = NpzFile(str(tmp_path / "a.npz"))
    assert file.layouts == {}
    assert file.faults["a"] == "it has fewer values than its shape"
    assert "it is no array that can be read" in file.faults["b"]
    assert "it is no array that can be read" in file.faults["c.txt"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_files_give_one_error(tmp_path, save):
    path = tmp_path / "a.npz"
    save(path, a=np.arange(50, dtype=np.float32), b=np.ones((2, 3)))
    whole, dice = path.read_bytes(), random.Random(3)
    for _ in range(300):
        raw = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            raw[dice.randrange(len(raw))] = dice.randrange(256)
        path.write_bytes(raw[: dice.choice([len(raw), dice.randrange(len(raw))])])
        try:
            file = NpzFile(str(path))
            for key, layout in file.layouts.items():
                assert isinstance(layout, TensorLayout)
                data, start = file.stored(key)
                with suppress(ValueError):
                    list(StoredTensor(layout, data, start).blocks())
        except UnreadableFile:
            continue


def test_what_is_no_archive_is_one_error(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 but no more")
    with zipfile.ZipFile(tmp_path / "b.npz", "w"):
        pass
    for name, why in (("a", r"not an \.npz"), ("b", "no arrays"), ("gone", "no such file")):
        with pytest.raises(UnreadableFile, match=why):
            NpzFile(str(tmp_path / f"{name}.npz"))
