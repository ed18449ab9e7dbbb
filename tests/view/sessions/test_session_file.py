"""Session files: written, read back, moved with their inputs, and hostile ones."""

import contextlib
import json
import shutil
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import DATA
from viewer.cli import main
from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.file_bytes import stamp_of
from viewer.codecs.reading import UnreadableFile, never_cancelled, no_progress
from viewer.view.sessions.opened_files import is_session
from viewer.view.sessions.session_file import (
    SavedInput,
    SavedSession,
    changed_inputs,
    choices_of,
    encoded,
    find_inputs,
    input_of,
    kept_choices,
    read,
    write,
)
from viewer.workspace.workspace import Workspace

DUMP, RECORD = DATA / "etdump/demo_str_x4.etdp", DATA / "etrecord/demo_str.etrecord"
MULTI = (
    DATA / "etdump/multi_forward_decode_portable_x3.etdp",
    DATA / "etrecord/multi_forward_decode_toedge_portable.etrecord",
)
CYCLES = DATA / "torq/compile_c3_taskid_mtu.csv"


def saved_in(folder: Path, *paths: Path) -> Path:
    """A session file in a folder, with these inputs and nothing else."""
    stamps = [stamp_of(str(path)) for path in paths]
    inputs = [input_of(str(p), s, str(folder)) for p, s in zip(paths, stamps, strict=True)]
    to = folder / "work.opscope"
    write(str(to), SavedSession(1, tuple(inputs)), stamps, no_progress, never_cancelled)
    return to


def found(session: Path) -> list[str | None]:
    return [
        None if one.path is None else Path(one.path).name
        for one in find_inputs(read(str(session)), str(session.parent), never_cancelled)
    ]


@pytest.fixture
def inputs(tmp_path):
    """A folder with two inputs below it."""
    folder = tmp_path / "a" / "runs"
    folder.mkdir(parents=True)
    return [Path(shutil.copy(path, folder)) for path in (DUMP, RECORD)]


def test_it_is_readable_and_names_inputs_from_where_it_stands(inputs):
    to = saved_in(inputs[0].parent.parent, *inputs)
    text = to.read_text()
    assert text.startswith('{\n  "opscope_session": 1,')
    told = json.loads(text)
    assert [one["path"] for one in told["inputs"]] == [
        "runs/demo_str_x4.etdp", "runs/demo_str.etrecord"
    ]  # fmt: skip
    assert told["inputs"][0]["size"] == DUMP.stat().st_size
    assert len(told["inputs"][0]["sha256"]) == 64
    assert is_session(str(to))
    assert not is_session(str(DUMP))
    assert not is_session(str(to.parent))


def test_it_moves_with_its_inputs(inputs, tmp_path):
    saved_in(tmp_path / "a", *inputs)
    (tmp_path / "a").rename(tmp_path / "b")
    assert found(tmp_path / "b" / "work.opscope") == ["demo_str_x4.etdp", "demo_str.etrecord"]


def test_alone_it_finds_them_where_they_were(inputs, tmp_path):
    session = saved_in(tmp_path / "a", *inputs)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    session = session.rename(elsewhere / "work.opscope")
    assert found(session) == ["demo_str_x4.etdp", "demo_str.etrecord"]


def test_beside_it_they_are_found_by_name_and_under_another_by_hash(inputs, tmp_path):
    session = saved_in(tmp_path / "a", *inputs)
    other = tmp_path / "mail"
    other.mkdir()
    session = session.rename(other / "work.opscope")
    inputs[0].rename(other / inputs[0].name)
    inputs[1].rename(other / "renamed.bin")
    (other / "same size.bin").write_bytes(bytes(RECORD.stat().st_size))
    assert found(session) == ["demo_str_x4.etdp", "renamed.bin"]


def test_what_is_nowhere_is_not_found_and_what_changed_is_told(inputs, tmp_path):
    session = saved_in(tmp_path / "a", *inputs)
    inputs[0].unlink()
    inputs[1].write_bytes(RECORD.read_bytes()[:-1] + b"!")
    looked = find_inputs(read(str(session)), str(session.parent), never_cancelled)
    assert [one.path for one in looked] == [None, str(inputs[1])]
    assert changed_inputs(looked, never_cancelled) == [str(inputs[1])]
    inputs[1].write_bytes(RECORD.read_bytes())
    assert changed_inputs(looked, never_cancelled) == []


def test_what_the_user_decided_comes_back_for_the_same_files_elsewhere():
    space = Workspace()
    for path in (*MULTI, DUMP, CYCLES):
        space.open(str(path))
    dump, record = map(str, MULTI)
    space.pair(str(DUMP), None)
    space.pair(dump, record)
    scope = space.open_trace(dump).scopes[0].name
    space.choose_method(dump, scope, "decode")
    space.set_clock(str(CYCLES), Fraction(10))
    kept = kept_choices(space, space.paths)
    again = choices_of(kept, [f"/other/{Path(path).name}" for path in space.paths])
    assert dict(again.pairs) == {
        "/other/demo_str_x4.etdp": None,
        "/other/multi_forward_decode_portable_x3.etdp":
            "/other/multi_forward_decode_toedge_portable.etrecord",
    }  # fmt: skip
    assert again.methods_of == (("/other/multi_forward_decode_portable_x3.etdp", scope, "decode"),)
    assert again.clocks == (("/other/compile_c3_taskid_mtu.csv", Fraction(10)),)
    # Nothing is decided about what is not there.
    assert choices_of(kept, [None] * len(space.paths)).pairs == ()


def test_a_cancelled_save_leaves_the_old_file(inputs):
    to = saved_in(inputs[0].parent, *inputs)
    before = to.read_bytes()
    stamps = [stamp_of(str(path)) for path in inputs]
    with pytest.raises(WriteCancelled):
        write(
            str(to), SavedSession(1, (SavedInput("x", absolute=str(inputs[0])),)), stamps[:1],
            no_progress, lambda: True,
        )  # fmt: skip
    assert to.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"opscope_session": 2, "inputs": []}', "a newer Opscope wrote it"),
        ('{"opscope_session": 1}', "Object missing required field `inputs`"),
        ('{"opscope_session": 1, "inputs": [{"path": 3}]}', "Expected `str`, got `int`"),
        ('{"opscope_session": 1, "inputs": [', "not a session file"),
        ('{"opscope_session": 1, "inputs": [], "view": {"start_ns": 1e99}}', "$.view.start_ns"),
        ("[" * 100_000, "not a session file"),
    ],
)
def test_what_is_no_session_file_says_where(text, said, tmp_path):
    path = tmp_path / "odd.opscope"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=r"odd\.opscope") as error:
        read(str(path))
    assert said in str(error.value)


def test_paths_of_other_machines_and_devices_are_never_looked_at(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr(
        "viewer.view.sessions.session_file.stamp_of", lambda path: looked.append(path)
    )
    names = ("//server/share/x", "\\\\server\\x", "/dev/zero", "a\0b", "", "../../etc/x")
    session = SavedSession(1, tuple(SavedInput(name, 5, "f" * 64, name) for name in names))
    assert [one.path for one in find_inputs(session, str(tmp_path), never_cancelled)] == (
        [None] * len(names)
    )
    assert not [path for path in looked if path.startswith(("//", "\\\\")) or "\0" in path]


@pytest.mark.slow
@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_file_is_read_or_refused(tmp_path_factory, tail, at, byte):
    session = SavedSession(1, (SavedInput("a.etdp", 3, "0" * 64, "/a.etdp"),))
    data = bytearray(encoded(session))
    data[at % len(data)] = byte
    path = tmp_path_factory.mktemp("odd") / "x.opscope"
    path.write_bytes(bytes(data) + tail)
    with contextlib.suppress(UnreadableFile):
        choices_of(read(str(path)).choices, [None])


def test_commands_without_a_window_take_the_inputs_of_a_session(inputs, tmp_path, capsys):
    session = saved_in(tmp_path / "a", *inputs)
    assert main(["info", str(session)]) == 0
    told = capsys.readouterr().out
    assert "demo_str_x4.etdp" in told
    assert "demo_str.etrecord" in told
    inputs[1].unlink()
    assert main(["info", str(session)]) == 1
    both = capsys.readouterr()
    assert "demo_str_x4.etdp" in both.out
    assert "runs/demo_str.etrecord was not found" in both.err


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's files are those of /proc")
def test_a_file_of_the_kernel_is_not_waited_for(tmp_path, monkeypatch):
    """One that looks like a plain file may have its next bytes tomorrow."""
    link = tmp_path / "kernel.opscope"
    link.symlink_to("/proc/kmsg")
    opened = []
    monkeypatch.setattr("builtins.open", lambda *given, **_: opened.append(given))
    assert not is_session(str(link))
    assert opened == []
