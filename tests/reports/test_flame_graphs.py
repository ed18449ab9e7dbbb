"""`opscope calls --svg`: one flame graph of every profile, as the options say."""

import json
import os
import xml.etree.ElementTree as ET

import pytest

from tests.builders.command_line import run
from tests.paths import DATA

CNN = str(DATA / "etdump" / "cnn_portable_x10.etdp")
RECORD = str(DATA / "etrecord" / "cnn_toedge_portable.etrecord")
THREADS = str(DATA / "table_csv" / "two_threads.csv")
KINETO = str(DATA / "chrome_json" / "kineto_cpu.json")
DEMO = [str(DATA / "etdump" / "demo_str_x4.etdp"), str(DATA / "etrecord" / "demo_str.etrecord")]
SVG = "{http://www.w3.org/2000/svg}"


def written(capsys, path, *arguments: str) -> ET.Element:
    assert run(capsys, "calls", *arguments, "--svg", str(path)) == (0, "", "")
    return ET.parse(path).getroot()


def texts(root: ET.Element) -> list[str]:
    return [element.text for element in root.iter(f"{SVG}text")]


def boxes(root: ET.Element) -> list[tuple[str, float]]:
    """Name and width of the boxes, in preorder."""
    return [
        (box.find(f"{SVG}title").text.partition("\n")[0], float(box.get("width")))
        for box in root.iter(f"{SVG}rect")
        if box.find(f"{SVG}title") is not None
    ]


def rows(capsys, *arguments: str) -> tuple[list[dict], int]:
    """The rows of the report, and the time of all threads."""
    facts = json.loads(run(capsys, "calls", *arguments, "--json")[1])
    return facts["rows"], sum(file["total_ns"] for file in facts["files"])


@pytest.mark.parametrize(
    "options",
    [
        [CNN],
        [CNN, "--inference", "4"],
        [CNN, "--range", "1ms:2ms"],
        [CNN, RECORD, "--by", "operator"],
        [CNN, "--depth", "2"],
        [CNN, "--min", "5"],
    ],
)
def test_the_widths_are_the_totals_of_the_report(capsys, tmp_path, options):
    frames = boxes(written(capsys, tmp_path / "f.svg", *options))[2:]  # process, thread
    facts = json.loads(run(capsys, "calls", *options, "--json")[1])
    whole = facts["files"][0]["total_ns"]
    expected = [(row["path"][-1], 1200 * row["total_ns"] / whole) for row in facts["rows"]]
    assert [name for name, _ in frames] == [name for name, _ in expected]
    assert [width for _, width in frames] == pytest.approx([w for _, w in expected], abs=0.0006)


@pytest.mark.parametrize("options", [[], ["--depth", "2"], ["--min", "1"]])
def test_bottom_up_the_widths_are_the_self_times(capsys, tmp_path, options):
    found = boxes(written(capsys, tmp_path / "f.svg", KINETO, "--bottom-up", *options))
    every, whole = rows(capsys, KINETO, "--bottom-up", *options)
    expected = [
        (row["path"][-1], 1200 * row["self_ns"] / whole)
        for row in every
        if row["self_ns"] * 12000 >= whole
    ]
    assert sorted(found) == [
        (name, pytest.approx(width, abs=0.0006)) for name, width in sorted(expected)
    ]


def test_the_lines_above_say_what_it_is(capsys, tmp_path):
    path = tmp_path / "f.svg"
    assert texts(written(capsys, path, CNN))[:3] == [
        "cnn_portable_x10.etdp: ETDump, ExecuTorch 0.2 and later, clock 1 tick = 1 ns (assumed)",
        "Call tree by name, the whole trace: total 3.022 ms",
        "Includes 2 warm-up inferences",
    ]
    line = texts(written(capsys, path, CNN, "--inference", "4", "--bottom-up"))[1]
    assert line.startswith("Call tree by name, bottom-up, ")
    assert " · run 4 of 10: self time " in line
    line = texts(written(capsys, path, CNN, "--range", "1ms:2ms"))[1]
    assert line == "Call tree by name, range 1.000 – 2.000 ms: total 741.394 µs"
    assert "28 derived slices left out" in texts(written(capsys, path, *DEMO))
    assert "There is no time to show" in texts(written(capsys, path, CNN, "--range", "9s:10s"))


def test_several_profiles_are_one_below_the_other(capsys, tmp_path):
    found = texts(written(capsys, tmp_path / "f.svg", CNN, THREADS))
    titles = [text for text in found if text.startswith(("cnn_portable_x10.", "two_threads."))]
    assert [title.partition(":")[0] for title in titles if ":" in title] == [
        "cnn_portable_x10.etdp", "two_threads.csv"
    ]  # fmt: skip


def test_a_profile_without_the_key_is_noted(capsys, tmp_path):
    path = tmp_path / "f.svg"
    code, out, err = run(
        capsys, "calls", CNN, RECORD, THREADS, "--by", "operator", "--svg", str(path)
    )
    assert (code, out) == (0, "")
    assert f"note: {THREADS}: no call tree by operator" in err
    assert not [text for text in texts(ET.parse(path).getroot()) if "two_threads" in text]
    path.unlink()
    code, out, err = run(capsys, "calls", CNN, "--by", "operator", "--svg", str(path))
    assert (code, out) == (1, "")
    assert "no call tree by operator" in err
    assert not path.exists()


def test_wrong_usage(capsys, tmp_path):
    for options, why in (
        (["--svg", CNN], "this is an input file and would be overwritten"),
        (["--svg", "f.svg", "-o", "g.txt"], "-o and --svg cannot be used together"),
        (["--svg", "f.svg", "--json"], "not allowed with argument"),
    ):
        code, out, err = run(capsys, "calls", CNN, *options)
        assert (code, out) == (2, "")
        assert why in err


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_an_error(capsys, tmp_path):
    path = str(tmp_path / "gone" / "f.svg")
    code, out, err = run(capsys, "calls", CNN, "--svg", path)
    assert (code, out) == (1, "")
    assert f"{path}: it cannot be written (No such file or directory)" in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_a_full_disk_is_an_error(capsys, tmp_path):
    full = tmp_path / "full.svg"
    full.symlink_to("/dev/full")
    code, _, err = run(capsys, "calls", CNN, "--svg", str(full))
    assert code == 1
    assert f"{full}: it cannot be written (No space left on device)" in err
