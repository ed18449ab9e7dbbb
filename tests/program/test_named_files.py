"""What a profile may name: sources only, and never a private file, a pipe or a device."""

import os

import pytest

from viewer.program.source_files import MAX_SOURCE, Substitution, find_source, read_named, refusal

KIND = "Opscope reads only .py and .mlir files that a profile names"
REGULAR = "it is not a regular local file"


@pytest.fixture
def key(tmp_path):
    """A private file."""
    path = tmp_path / ".ssh" / "id_rsa"
    path.parent.mkdir()
    path.write_text("secret\n")
    return path


def test_a_private_file_is_not_read(key):
    assert find_source(str(key), []) is None
    assert refusal(str(key), []).startswith(f"{KIND}, not {key}.")


def test_a_private_file_next_to_the_profile_is_not_read(key):
    """The recorded path is that of another machine; its end exists here."""
    assert find_source("/other/.ssh/id_rsa", [str(key.parent.parent)]) is None
    assert str(key) in refusal("/other/.ssh/id_rsa", [str(key.parent.parent)])


def test_a_link_with_the_name_of_a_source_does_not_show_a_private_file(key, tmp_path):
    link = tmp_path / "model.py"
    link.symlink_to(key)
    assert find_source(str(link), []) is None
    assert KIND in refusal(str(link), [])


def test_a_folder_that_is_a_link_does_not_show_a_private_file(key, tmp_path):
    (tmp_path / "models").symlink_to(key.parent)
    chosen = Substitution("/build", str(tmp_path / "empty"), any_kind=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "id_rsa").symlink_to(key)
    assert read_named(str(tmp_path / "models" / "id_rsa")) is None
    assert read_named(str(tmp_path / "empty" / "id_rsa"), [chosen]) is None


def test_a_link_to_a_source_is_read(tmp_path):
    (tmp_path / "real.py").write_text("x = 1\n")
    (tmp_path / "link").symlink_to(tmp_path / "real.py")
    assert read_named(str(tmp_path / "link")) == ("x = 1",)


@pytest.mark.parametrize("name", ["model.py", "MODEL.PY", "model.mlir"])
def test_sources_are_read_wherever_they_are(tmp_path, name):
    (tmp_path / name).write_text("x\n")
    assert read_named(str(tmp_path / name)) == ("x",)
    assert refusal(str(tmp_path / name), []) == ""


def test_below_a_folder_that_the_user_named_any_kind_is_read(tmp_path):
    (tmp_path / "kernel.cu").write_text("x\n")
    for any_kind, lines in ((True, ("x",)), (False, None)):
        chosen = Substitution("/build", str(tmp_path), any_kind)
        assert read_named(str(tmp_path / "kernel.cu"), [chosen]) == lines


def test_a_folder_whose_name_only_starts_like_the_chosen_one_is_another(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models-private").mkdir()
    (tmp_path / "models-private" / "keys").write_text("x\n")
    chosen = Substitution("/build", str(tmp_path / "models"), any_kind=True)
    assert read_named(str(tmp_path / "models-private" / "keys"), [chosen]) is None


@pytest.mark.parametrize(
    "recorded", ["/proc/self/environ", "/dev/zero", "//server/share/a.py", "\\\\server\\a.py"]
)
def test_devices_and_network_paths_say_that_they_are_not_read(recorded):
    assert find_source(recorded, []) is None
    assert refusal(recorded, []).endswith(f"{REGULAR}.")


def test_a_pipe_and_a_link_to_a_device_say_that_they_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to("/dev/zero")
    for name in ("pipe.py", "link.py"):
        assert REGULAR in refusal(str(tmp_path / name), [])


def test_a_file_that_is_too_large_says_so(tmp_path):
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(MAX_SOURCE + 1)
    assert refusal(str(tmp_path / "huge.py"), []).endswith("huge.py: it is larger than 8 MB.")


def test_a_file_that_does_not_exist_is_not_refused_but_missing(tmp_path):
    assert refusal(str(tmp_path / "model.py"), []) == ""


def test_a_control_character_in_a_name_is_escaped(tmp_path):
    path = tmp_path / "a\x1b[2Jb"
    path.write_text("x\n")
    assert "\x1b" not in refusal(str(path), [])
