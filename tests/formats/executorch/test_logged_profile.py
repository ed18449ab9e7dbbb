"""Finds debug buffers and references of logged values."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.builders.logged_runs import LoggedRun, floats
from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats.executorch.logged_profile import (
    array_key,
    array_values,
    case_of,
    expected_values,
    logged_profile,
)
from viewer.formats.executorch.pte.bundled_outputs import read_bundled_cases
from viewer.formats.npz import NpzFile
from viewer.workspace.workspace import Workspace

FOLDER = DATA / "numbers"


def opened(path, *buffers):
    workspace = Workspace()
    return logged_profile(workspace.links(workspace.open(str(path))), [str(one) for one in buffers])


@pytest.fixture
def dump(tmp_path):
    """A dump whose tensors need 24 bytes, without its buffer."""
    run = LoggedRun()
    run.inference(("add.out", [floats(1, 2)]), ("mul.out", [floats(3, 4)]))
    path, buffer = run.write(tmp_path)
    shutil.move(buffer, tmp_path / "kept")
    return Path(path)


def buffer(dump, name, size):
    content = (dump.parent / "kept").read_bytes()
    (dump.parent / name).write_bytes((content + bytes(size))[:size])
    return dump.parent / name


def test_the_buffer_of_its_name_is_taken_also_if_its_end_is_missing(dump):
    buffer(dump, "run.bin", 20)
    buffer(dump, "other.debug.bin", 24)
    found = opened(dump)
    assert found.buffer == str(dump.parent / "run.bin")
    (_, first), (_, second) = found.side(found.inferences[0]).logged
    assert (first[0].fault, second[0].fault) == ("", "tensor outside its buffer")


def test_of_several_buffers_the_one_that_fits_is_taken(dump):
    buffer(dump, "run.bin", 20)
    buffer(dump, "run.debug.bin", 24)
    buffer(dump, "run_debug.bin", 100)
    assert opened(dump).buffer == str(dump.parent / "run.debug.bin")


def test_if_several_fit_the_user_chooses(dump):
    names = ("run.bin", "run.debug.bin")
    files = [buffer(dump, name, size) for name, size in zip(names, (80, 90), strict=True)]
    with pytest.raises(UnreadableFile, match=r"run\.bin, run\.debug\.bin may all be its debug"):
        opened(dump)
    assert opened(dump, files[1]).buffer == str(files[1])


def test_one_of_another_name_must_fit(dump):
    buffer(dump, "debug_output.bin", 20)
    with pytest.raises(UnreadableFile, match=r"a debug buffer of at least 24 B, and none is next"):
        opened(dump)
    buffer(dump, "debug_output2.bin", 24)
    assert opened(dump).buffer == str(dump.parent / "debug_output2.bin")


def test_of_those_that_are_given_each_dump_has_the_one_of_its_name(dump):
    other = dump.with_name("second.etdp")
    shutil.copy(dump, other)
    files = [buffer(dump, name, 24) for name in ("run.bin", "second.bin")]
    assert opened(dump, *files).buffer == str(files[0])
    assert opened(other, *files).buffer == str(files[1])
    third = dump.with_name("third.etdp")
    shutil.copy(dump, third)
    with pytest.raises(UnreadableFile, match=r"Name one: third\.etdp BUFFER\.bin"):
        opened(third, *files)
    small = buffer(dump, "small.bin", 3)
    assert opened(dump, small).buffer == str(small)  # the user's choice
    with pytest.raises(UnreadableFile, match="are all smaller than 24 B"):
        opened(third, small, buffer(dump, "small2.bin", 4))


def test_numbers_need_no_buffer(tmp_path):
    run = LoggedRun()
    run.inference(("sym_size", [7]))
    path, _ = run.write(tmp_path)
    found = opened(path)
    assert found.buffer is None
    ((_, (value,)),) = found.side(found.inferences[0]).logged
    assert value.open().array.tolist() == 7


def test_profiles_without_values_say_how_to_log_them():
    for name in ("pte/cond.etdp", "chrome_json/"):
        path = next(iter(sorted((DATA / name).glob("*.json"))), None) or DATA / name
        with pytest.raises(UnreadableFile, match=r"no logged values.*debug_buffer_size"):
            opened(path)


def test_the_first_inference_of_each_method_is_chosen_or_one_by_its_number():
    found = opened(FOLDER / "xnnpack.etdp")
    assert [one.run.number for one in found.chosen(None)] == [1]
    assert [one.run.number for one in found.chosen(2)] == [2]
    with pytest.raises(ValueError, match="inference 3 logged no values"):
        found.chosen(3)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("8", (8,)), ("1,2,3", (1, 2, 3)), ("(8,)", (8,)), ("[1, 2]", (1, 2)), ("output_0",) * 2,
        ("conv1 · relu",) * 2, ("1,a",) * 2, ("-1",) * 2,
    ],
)  # fmt: skip
def test_names_of_arrays_are_debug_handles_or_labels(name, key):
    assert array_key(name) == key


def test_arrays_are_read_when_they_are_opened(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", **{"1": floats(1, 2), "x": np.array(["text"])})
    values = array_values(NpzFile(str(tmp_path / "a.npz")))
    assert values[(1,)].open().array.tolist() == [1, 2]
    assert "cannot be read" in values["x"].fault


def test_the_test_case_is_stated_or_chosen():
    bundle = read_bundled_cases(str(FOLDER / "mixed.bpte"))
    profile = opened(FOLDER / "portable.etdp")
    (inference,) = profile.chosen(None)
    with pytest.raises(UnreadableFile, match=r"which of 2 test cases it ran.*--case 0"):
        case_of(bundle, inference, None)
    assert case_of(bundle, inference, 1).number == 1
    with pytest.raises(UnreadableFile, match="it has no test case 2"):
        case_of(bundle, inference, 2)
    assert len(expected_values(bundle, case_of(bundle, inference, 0))) == 2
