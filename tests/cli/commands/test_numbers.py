"""`opscope numbers` as scripts call it: which files it takes, exit codes, messages."""

import json
import shutil

import numpy as np
import pytest

from tests.builders.command_line import run
from tests.paths import DATA

FOLDER = DATA / "numbers"
PORTABLE = [str(FOLDER / f"portable.{end}") for end in ("etdp", "etrecord")]
XNNPACK = [str(FOLDER / f"xnnpack.{end}") for end in ("etdp", "etrecord")]


def numbers(capsys, *arguments):
    return run(capsys, "numbers", *arguments)


def found(capsys, *arguments):
    code, out, err = numbers(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_values_of_several_profiles(capsys):
    facts = found(capsys, PORTABLE[0], XNNPACK[0], "--inference", "1")
    assert [file["buffer"] for file in facts["files"]] == [
        str(FOLDER / "portable.bin"), str(FOLDER / "xnnpack.bin"),
    ]  # fmt: skip
    assert {row["inference"] for row in facts["rows"]} == {1}


def test_a_buffer_is_one_of_the_files(capsys, tmp_path):
    dump, buffer = tmp_path / "moved.etdp", tmp_path / "elsewhere.bin"
    shutil.copy(PORTABLE[0], dump)
    shutil.copy(FOLDER / "portable.bin", buffer)
    code, out, err = numbers(capsys, str(dump))
    assert (code, out) == (1, "")
    assert "a debug buffer of at least" in err
    assert found(capsys, str(dump), str(buffer))["files"][0]["buffer"] == str(buffer)


def test_another_profile_is_the_reference(capsys):
    facts = found(capsys, *XNNPACK, "--with", *PORTABLE)
    assert facts["with"] == {
        "path": PORTABLE[0], "kind": "profile", "buffer": str(FOLDER / "portable.bin"),
    }  # fmt: skip
    assert facts["rows"][0]["label"].startswith("XnnpackBackend · 4 ops")
    assert facts["compared"] == 11


def test_a_record_may_stand_on_either_side(capsys):
    once = found(capsys, *PORTABLE, "--with", PORTABLE[0])
    assert once["rows"] == found(capsys, PORTABLE[0], "--with", *PORTABLE)["rows"]
    assert all(row["exact"] for row in once["rows"])
    assert once["rows"][0]["handles"] == [1]


def test_without_a_record_of_one_side_names_decide(capsys):
    code, out, err = numbers(capsys, *XNNPACK, "--with", PORTABLE[0])
    assert code == 0
    assert "portable.etdp does not match" in err
    assert "norm · layer_norm [0]" in out
    assert "only in the reference: convolution.out, relu.out" in out


def test_arrays_are_the_reference(capsys):
    facts = found(capsys, *PORTABLE, "--with", str(FOLDER / "reference.npz"))
    assert (facts["with"]["kind"], facts["compared"], facts["unused"]) == ("arrays", 10, ["3"])
    on_the_other_side = found(
        capsys, PORTABLE[0], "--with", str(FOLDER / "reference.npz"), PORTABLE[1]
    )
    assert on_the_other_side["rows"] == facts["rows"]


def test_expected_outputs_are_the_reference(capsys):
    bundle = str(FOLDER / "mixed.bpte")
    code, _, err = numbers(capsys, PORTABLE[0], "--with", bundle)
    assert code == 1
    assert "does not state which of 2 test cases" in err
    facts = found(capsys, PORTABLE[0], "--with", bundle, "--case", "1")
    assert [row["label"] for row in facts["rows"]] == ["output 0", "output 1"]
    assert all(row["snr"] > 120 for row in facts["rows"])
    facts = found(capsys, PORTABLE[0], "--with", bundle, "--case", "0")  # of another input
    assert all(row["snr"] < 20 for row in facts["rows"])


def test_the_pickle_of_a_record_is_never_loaded(capsys):
    code, out, err = numbers(capsys, *PORTABLE, "--with", PORTABLE[1])
    assert (code, out) == (1, "")
    assert "reference outputs as a pickle, which is never loaded. Save them as .npz" in err


def test_a_profile_without_values_is_an_error(capsys):
    code, out, err = numbers(capsys, str(DATA / "pte/cond.etdp"))
    assert (code, out) == (1, "")
    assert "it has no logged values. ExecuTorch logs values if" in err
    code, _, err = numbers(capsys, str(DATA / "pte/cond.etrecord"))
    assert code == 1
    assert "only these log values" in err


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ([*PORTABLE, "--inference", "9"], 2, "inference 9 logged no values"),
        ([str(FOLDER / "portable.bin")], 2, "give the ETDump of the debug buffer"),
        ([*PORTABLE, "--with", "gone.npz"], 1, "there is no such file"),
        ([*PORTABLE, XNNPACK[0], "--with", *XNNPACK], 2, "give one profile with logged values"),
        ([*PORTABLE, "--with", *[str(FOLDER / "reference.npz")] * 2], 2, "give one reference"),
        (
            [*PORTABLE, "--with", str(FOLDER / "reference.npz"), XNNPACK[0]],
            2,
            "give one reference",
        ),
    ],
)
def test_wrong_usage_is_one_message(capsys, arguments, code, why):
    answer, out, err = numbers(capsys, *arguments)
    assert (answer, out) == (code, "")
    assert why in err
    assert "Traceback" not in err


def test_a_damaged_reference_is_one_line(capsys, tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 no archive")
    code, out, err = numbers(capsys, *PORTABLE, "--with", str(tmp_path / "a.npz"))
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    np.savez(tmp_path / "b.npz", **{"1": np.array([{}], object)})
    facts = found(capsys, *PORTABLE, "--with", str(tmp_path / "b.npz"))
    assert "reference: Python objects are a pickle, which is never loaded" in facts["problems"]
