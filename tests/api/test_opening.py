"""`viewer.open`: files and options as on the command line, and errors that name what is wrong."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import viewer
from tests.api import example
from tests.builders.profiles import ATTENTION
from tests.paths import DATA
from viewer.api.profile import Profile

DUMP, RECORD = ATTENTION


@pytest.mark.slow
def test_importing_the_package_loads_no_library():
    code = (
        "import sys, viewer; viewer.UnreadableFile; found = set(sys.modules);"
        "print([m for m in ('pandas', 'PySide6', 'pyqtgraph', 'torch') if m in found])"
    )
    code_first = "import sys, viewer; print([m for m in ('numpy', 'pandas') if m in sys.modules])"
    for one in (code, code_first):
        done = subprocess.run(
            [sys.executable, "-c", one], capture_output=True, text=True, timeout=60
        )
        assert done.stdout.strip() == "[]", done.stderr


def test_paths_and_texts():
    profile = viewer.open(Path(DUMP), RECORD)
    assert profile.files == [DUMP, RECORD]
    assert profile.links.linked.sum() > 0
    assert profile.warnings == []
    assert "attn_xnnpack_x5.etdp" in repr(profile)


def test_what_cannot_be_read_is_an_error_with_its_path(tmp_path):
    with pytest.raises(viewer.UnreadableFile) as caught:
        viewer.open(DUMP, tmp_path / "none.etdp")
    assert caught.value.path == str(tmp_path / "none.etdp")
    with pytest.raises(ValueError, match="nothing to open"):
        viewer.open()


def test_options_are_those_of_the_command_line():
    other = DATA / "etrecord" / "demo_str.etrecord"
    linked = viewer.open(DUMP, RECORD, other, pair={DUMP: str(other)})
    assert set(linked.links.program) == {str(other)}
    assert viewer.open(DUMP, RECORD, pair=f"{DUMP}={RECORD}").links.program[0] == RECORD
    cycles = str(DATA / "torq" / "compile_c0_callsite.csv")
    slow, fast = (viewer.open(cycles, clock=rate).slices for rate in ("100MHz", "1GHz"))
    assert slow.dur_ns.sum() > 9 * fast.dur_ns.sum()
    assert slow.dur_ticks.tolist() == fast.dur_ticks.tolist()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pair": "nothing"}, r"^pair nothing: write it as DUMP=RECORD"),
        ({"clock": "fast"}, "^clock fast: "),
        ({"method": {"Execute 9": "forward"}}, "Execute 9"),
        ({"pair": {DUMP: "none.etrecord"}}, "none.etrecord is not an open ETRecord"),
    ],
)
def test_an_option_that_does_not_fit_is_an_error(options, said):
    with pytest.raises(ValueError, match=said):
        viewer.open(DUMP, RECORD, **options)


@pytest.mark.parametrize(
    "columns",
    [
        {"start": "Start, ns", "dur": "Took", "unit": "us"},
        '"start=Start, ns",dur=Took,unit=us',
        ['mine.csv="start=Start, ns",dur=Took,unit=us'],
        {"mine.csv": '"start=Start, ns",dur=Took,unit=us'},
    ],
)
def test_the_columns_of_a_table_can_be_stated(tmp_path, columns):
    path = tmp_path / "mine.csv"
    path.write_text('op,"Start, ns",Took\nconv,1,2\n')
    profile = viewer.open(path, columns=columns)
    assert profile.slices.dur_ns.tolist() == [2000]
    with pytest.raises(viewer.UnreadableFile, match="does not show the unit of Took"):
        viewer.open(path)
    with pytest.raises(ValueError, match=r"^columns foo=x: 'foo=x': write it as WHAT"):
        viewer.open(path, columns="foo=x")


def test_the_metadata_parser_is_used_for_these_files_alone(tmp_path):
    from viewer.record import EventTracer

    path = tmp_path / "run.etdp"
    with (
        EventTracer(str(path)) as tracer,
        tracer.create_event_block("Execute"),
        tracer.start_profiling("DELEGATE_CALL", chain_index=0, instruction_id=0),
        tracer.start_profiling_delegate("a") as entry,
    ):
        entry.metadata = b"\x07"
    parsed = viewer.open(path, metadata=lambda raw: {"code": raw[0]})
    assert parsed.slices.code.dropna().tolist() == [7]
    assert "code" not in viewer.open(path).slices


def test_the_example_runs(capsys):
    assert example.main(*ATTENTION) == 0
    assert "linked slices" in capsys.readouterr().out
    assert example.main("/none.etdp") == 1


def test_lists_folders_and_patterns(tmp_path):
    for name in ("b.etdp", "a.etdp"):
        shutil.copy(DUMP, tmp_path / name)
    shutil.copy(RECORD, tmp_path / "model.etrecord")
    names = ["a.etdp", "b.etdp", "model.etrecord"]
    every = [tmp_path / name for name in names]
    for files in ([every], every, [tmp_path], [every[:2], every[2]], [str(tmp_path / "*")]):
        assert sorted(map(os.path.basename, viewer.open(*files).files)) == names
    assert viewer.open(str(tmp_path / "*.etdp")).files == [str(one) for one in every[:2]]


def test_a_name_with_the_signs_of_a_pattern_is_a_name(tmp_path):
    path = tmp_path / "run[1].etdp"
    shutil.copy(DUMP, path)
    assert viewer.open(path).files == [str(path)]


@pytest.mark.parametrize(("name", "said"), [("*.etdp", "no file matches"), ("", "no profile")])
def test_a_pattern_or_folder_without_a_file_is_an_error(tmp_path, name, said):
    with pytest.raises(ValueError, match=said):
        viewer.open(str(tmp_path / name))


def test_a_pickle_opens_the_same_files_with_the_same_options(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(DUMP).parent)
    opened = viewer.open(Path(DUMP).name, clock="1GHz")
    dumped = pickle.dumps(opened)
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(dumped)
    assert again.files == [DUMP]
    assert again.operators.equals(opened.operators)
    assert again.slices.dur_ns.tolist() == opened.slices.dur_ns.tolist()
    with pytest.raises(TypeError, match=r"viewer\.open"):
        pickle.dumps(Profile(opened.workspace))
