"""Sessions and autosaves are input: nothing that they name is written, moved or deleted."""

import os
import stat

import pytest

from tests.reliability.fuzz import byte_changes, json_changes, own_files
from tests.reliability.fuzz.values import Dice
from viewer.codecs.reading import UnreadableFile, never_cancelled
from viewer.view.sessions.opened_files import with_inputs
from viewer.view.sessions.recent_sessions import AutosavedSession, RecentSessions, take_left
from viewer.view.sessions.session_file import VERSION, SavedSession, find_inputs, read

_COUNT, _LONG = 150, 5000


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): (path.lstat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def hostile(dice, witnesses):
    """A session that names files outside its folder, in most cases damaged."""
    data = own_files.session(dice)
    for _ in range(dice.randrange(3)):
        try:
            data = json_changes.changed(data, dice)
        except (ValueError, RecursionError):
            data = byte_changes.changed(data, (data,), dice)
    for name in own_files.INPUTS:
        at = dice.choice(witnesses)
        data = data.replace(name.encode(), dice.choice((at, f"../{os.path.basename(at)}")).encode())
    return data


def check(tmp_path, seeds):
    home, settings = tmp_path / "home", tmp_path / "home" / "settings"
    settings.mkdir(parents=True)
    witnesses = []
    for name in ("a.etdp", "b.opscope", ".profile"):
        (home / name).write_text("witness")
        witnesses.append(str(home / name))
    before = tree(home)
    kept = 0
    for seed in seeds:
        dice = Dice(seed)
        data = hostile(dice, witnesses)
        for name in ("last", "last-new", "last-3", f"autosave-{seed:016x}"):
            (settings / f"{name}.opscope").write_bytes(data)
        (settings / f"autosave-{seed:016x}.lock").touch()
        kept += len(take_left(str(settings)))
        recent = RecentSessions(str(settings))
        for path in (*recent.paths(), str(settings / "last-3.opscope")):
            recent.work(path)
            try:
                saved = read(path)
            except UnreadableFile:
                continue
            find_inputs(saved, str(settings), never_cancelled)
            with_inputs([path])
        for path in settings.iterdir():
            path.unlink()
        assert tree(home) == before, seed
    assert kept > len(seeds) // 20


@pytest.mark.slow
def test_nothing_that_a_session_names_is_touched(tmp_path):
    check(tmp_path, range(_COUNT))


@pytest.mark.nightly
def test_nothing_that_many_sessions_name_is_touched(tmp_path):
    check(tmp_path, range(_COUNT, _LONG))


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_only_the_user_can_read_sessions_that_are_saved_by_themselves(tmp_path):
    saved = SavedSession(VERSION, ())
    (tmp_path / "last.opscope").write_text("{}")
    os.chmod(tmp_path / "last.opscope", 0o644)
    RecentSessions(str(tmp_path)).keep(saved)
    own = AutosavedSession(str(tmp_path))
    own.write(saved, 1)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes["last.opscope"] == stat.S_IMODE(os.stat(own.path).st_mode) == 0o600
    assert set(modes.values()) == {0o600} or modes.pop("last-2.opscope") == 0o644
    own.remove(2)
