"""Which texts are found for a profile, and what no location can make anybody look for."""

import os
import shutil
from pathlib import Path

import pytest

from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.program.source_files import Substitution
from viewer.workspace.open_paths import MAX_COMPANION, companions, read_companion, recorded_texts

TORQ = DATA / "torq"


def profile(folder: Path, *locations: str, name: str = "p.csv"):
    """A compile profile with a row per location."""
    path = folder / name
    path.write_text("".join(f"DI{i},0,128,{loc},DMA_IN\n" for i, loc in enumerate(locations)))
    return open_file(str(path))


def text(path: Path, content: str = "module {\n}\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return str(path)


def test_the_text_beside_a_profile_is_found_whatever_folder_was_recorded(tmp_path):
    beside = text(tmp_path / "m.mlir")
    trace = profile(tmp_path, 'loc(callsite("/build/m.mlir":11:10 at "/build/m.mlir":2:3))')
    assert recorded_texts(trace) == ["/build/m.mlir"]
    assert companions(trace, [trace.path]) == [beside]


@pytest.mark.parametrize(
    "name", sorted(p.name for p in TORQ.glob("compile_*.csv") if "hostile" not in p.name)
)
def test_every_generation_names_its_text(name):
    trace = open_file(str(TORQ / name))
    assert companions(trace, []) == [str(TORQ / "tiny_cnn.mlir")]


def test_a_text_that_is_open_is_not_found_again(tmp_path):
    text(tmp_path / "m.mlir")
    trace = profile(tmp_path, 'loc("m.mlir":1:1)')
    assert companions(trace, ["/elsewhere/m.mlir"]) == []


def test_a_substitution_says_where_else_it_lies_and_wins(tmp_path):
    moved = text(tmp_path / "models" / "a" / "m.mlir")
    (tmp_path / "runs").mkdir()
    trace = profile(tmp_path / "runs", 'loc("/build/a/m.mlir":1:1)')
    assert companions(trace, []) == []
    to = Substitution("/build", str(tmp_path / "models"))
    assert companions(trace, [], [to]) == [moved]
    text(tmp_path / "runs" / "m.mlir")
    assert companions(trace, [], [to]) == [moved]


def test_escaped_names_and_fused_locations_are_read(tmp_path):
    names = ("é, x.mlir", "b.mlir")
    found = [text(tmp_path / name) for name in names]
    trace = profile(
        tmp_path,
        'loc(fused<"C">["Conv, 0"("\\C3\\A9, x.mlir":1:2), callsite(unknown at "b.mlir":3:4)])',
    )
    assert companions(trace, []) == found


@pytest.mark.parametrize(
    "recorded",
    ["../secret.mlir", "/dev/zero.mlir", "\\\\\\\\server\\\\share\\\\other.mlir", "model.py",
     ".mlir/",
     "\\00.mlir", "pipe.mlir", "link.mlir", "folder.mlir", "huge.mlir"],
)  # fmt: skip
def test_what_is_no_plain_text_beside_it_is_never_looked_at(tmp_path, recorded):
    text(tmp_path / "secret.mlir")
    folder = tmp_path / "runs"
    folder.mkdir()
    text(folder / "model.py")
    os.mkfifo(folder / "pipe.mlir")
    (folder / "link.mlir").symlink_to("/dev/zero")
    (folder / "folder.mlir").mkdir()
    with (folder / "huge.mlir").open("wb") as file:
        file.truncate(MAX_COMPANION + 1)
    assert companions(profile(folder, f'loc("{recorded}":1:1)'), []) == []


@pytest.mark.slow
def test_of_very_many_names_few_are_looked_for(tmp_path):
    trace = profile(tmp_path, *(f'loc("m{i}.mlir":1:1)' for i in range(50_000)))
    assert len(recorded_texts(trace)) == 32
    assert companions(trace, []) == []


def test_only_mlir_text_is_read(tmp_path):
    assert read_companion(str(TORQ / "tiny_cnn.mlir")).methods
    shutil.copy(TORQ / "compile_c0_callsite.csv", tmp_path / "table.mlir")
    text(tmp_path / "code.mlir", "import torch\n")
    for name in ("table.mlir", "code.mlir"):
        with pytest.raises(UnreadableFile, match="that of an MLIR text, but it has no operations"):
            read_companion(str(tmp_path / name))


def test_debug_info_names_the_text_that_it_was_compiled_from():
    info = open_file(str(TORQ / "tiny_cnn.lowered_generic.mlir"))
    assert recorded_texts(info) == ["tiny_cnn.mlir"]
    assert companions(info, [info.path]) == [str(TORQ / "tiny_cnn.mlir")]
