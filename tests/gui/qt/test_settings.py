"""Settings come back with their type, and damaged ones as their default."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QSettings

from viewer.gui.qt import settings
from viewer.gui.qt.settings import (
    DRAG_PANS,
    HEADER_WIDTH,
    LARGEST_SET,
    LAST_FOLDER,
    PANEL_LAYOUT,
    RECENT,
    SOURCE_PATHS,
    THEME,
    WINDOW_GEOMETRY,
    Settings,
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "opscope.ini"


def opened(file):
    return Settings(QSettings(str(file), QSettings.Format.IniFormat))


def test_an_empty_store_gives_the_defaults(file):
    store = opened(file)
    assert store.get(THEME) == "system"
    assert store.get(DRAG_PANS) is False
    assert store.get(LAST_FOLDER) == ""
    assert store.recent_sets() == []
    assert store.get(WINDOW_GEOMETRY) == QByteArray()
    assert store.get(PANEL_LAYOUT) == ""


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (THEME, "dark"),
        (DRAG_PANS, True),
        (DRAG_PANS, False),
        (RECENT, []),
        (RECENT, ["/only"]),
        (RECENT, ["/a, b", "/µ.etdp"]),
        (LAST_FOLDER, "/home/x y"),
        (HEADER_WIDTH, 7),
    ],
)
def test_a_value_comes_back_from_disk_as_it_was(file, setting, value):
    store = opened(file)
    store.set(setting, value)
    assert store.get(setting) == value
    store.sync()
    again = opened(file).get(setting)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    ("line", "setting"),
    [
        ("theme=purple", THEME),
        ("theme=@Variant(\\0\\0\\0", THEME),
        ("drag_pans=maybe", DRAG_PANS),
        ("drag_pans=@Rect(0 0 1 1)", DRAG_PANS),
        ("recent_files=@ByteArray(\\0\\xff)", RECENT),
        ("recent_files=@Invalid()", RECENT),
        ("recent_files=, ,", RECENT),
    ],
)
def test_a_damaged_value_counts_as_not_there(file, line, setting):
    file.write_text(f"[General]\n{line}\n")
    value = opened(file).get(setting)
    if setting is RECENT:
        assert all(isinstance(path, str) and path for path in value)
    else:
        assert value == setting.default


def test_a_file_that_is_no_settings_file_gives_the_defaults(file):
    file.write_bytes(bytes(range(256)) * 20)
    assert opened(file).get(THEME) == "system"


def test_a_value_that_makes_no_sense_is_refused(file):
    store = opened(file)
    with pytest.raises(ValueError, match="purple"):
        store.set(THEME, "purple")
    with pytest.raises(TypeError, match="bool"):
        store.set(DRAG_PANS, "yes")
    with pytest.raises(TypeError, match="int"):
        store.set(HEADER_WIDTH, True)


def test_the_default_list_cannot_be_changed_by_who_asked_for_it(file):
    store = opened(file)
    store.get(RECENT).append("/x")
    assert store.get(RECENT) == []


def test_recent_sets_are_ten_and_each_once_most_recent_first(file, tmp_path):
    store = opened(file)
    for number in range(12):
        store.add_recent_set([str(tmp_path / f"{number}.etdp")])
    store.add_recent_set([str(tmp_path / "5.etdp")])
    names = [Path(paths[0]).stem for paths in store.recent_sets()]
    assert names == ["5", "11", "10", "9", "8", "7", "6", "4", "3", "2"]
    assert store.get(LAST_FOLDER) == str(tmp_path)
    store.clear_recent_sets()
    assert store.recent_sets() == []


def test_files_added_to_what_is_open_extend_the_newest_set(file):
    store = opened(file)
    store.add_recent_set(["/a.etdp"])
    store.add_recent_set(["/b.etdp"])
    store.add_recent_set(["/b.etdp", "/b.etrecord"])
    assert store.recent_sets() == [("/b.etdp", "/b.etrecord"), ("/a.etdp",)]


def test_very_large_sets_are_not_listed(file):
    store = opened(file)
    store.add_recent_set([f"/{number}.etdp" for number in range(LARGEST_SET + 1)])
    assert store.recent_sets() == []


def test_single_files_of_earlier_versions_are_sets_and_damaged_ones_are_left_out(file):
    store = opened(file)
    store.set(RECENT, ["/a.etdp", '["/b.etdp"]', "[1]", "[", '{"a": 1}'])
    assert store.recent_sets() == [("/a.etdp",), ("/b.etdp",), ('{"a": 1}',)]


def test_a_recent_file_that_is_gone_is_known_as_missing(tmp_path):
    here = tmp_path / "here.csv"
    here.write_text("x")
    assert not settings.is_missing(str(here))
    assert settings.is_missing(str(tmp_path / "gone.csv"))
    assert settings.is_missing("a\0b")


def test_columns_of_identifiers_come_back_by_the_form_of_their_profile(file):
    store = opened(file)
    store.set_identifier_columns({"Torq:1": "job_id", "Plain:2": "", "Plain:3": "a=b, ünder"})
    store.sync()
    assert opened(file).identifier_columns() == {
        "Torq:1": "job_id", "Plain:2": "", "Plain:3": "a=b, ünder"
    }  # fmt: skip


def test_of_very_many_columns_the_last_are_kept_and_no_endless_name(file):
    store = opened(file)
    store.set_identifier_columns({**{f"f{i}": "id" for i in range(70)}, "long": "x" * 300})
    assert list(store.identifier_columns()) == [f"f{i}" for i in range(20, 70)]


def test_damaged_columns_are_left_out(file):
    store = opened(file)
    store.set(settings.COLUMNS, ["no form", "=id", "f=id"])
    assert store.identifier_columns() == {"f": "id"}


def test_what_columns_are_comes_back_by_the_header_of_their_table(file):
    store = opened(file)
    header = ["Op", "Start, us", 'a "b"']
    assert store.table_columns(header) == ""
    store.set_table_columns(header, "unit=us")
    store.set_table_columns(["Op"], "unit=ns")
    store.set_table_columns(header, "unit=ms")
    store.sync()
    assert opened(file).table_columns(header) == "unit=ms"
    assert opened(file).table_columns(["Op"]) == "unit=ns"
    assert len(store.get(settings.TABLE_COLUMNS)) == 2
    store.set_table_columns(["x" * 10_000], "unit=us")
    assert store.table_columns(["x" * 10_000]) == ""
    store.set(settings.TABLE_COLUMNS, ["nonsense", "[1]", '[["Op"], 7]', "[" * 9000])
    assert store.table_columns(["Op"]) == ""


def test_source_paths_come_back_and_damaged_ones_are_left_out(file):
    store = opened(file)
    assert store.source_paths() == []
    pairs = [("/home/user", "/data, x"), ("", "/é"), ("C:\\work", "/w=1")]
    store.set_source_paths(pairs)
    store.sync()
    assert opened(file).source_paths() == pairs
    store.set(SOURCE_PATHS, ["nonsense", "[1, 2]", '["a"]', "[" * 9000, '["/a", "/b"]'])
    assert store.source_paths() == [("/a", "/b")]


@pytest.mark.parametrize("mark", ["@Variant(", "\\x40Variant(", "@\\\nVariant(", "\\100Variant("])
def test_a_python_object_in_the_file_is_never_loaded(file, tmp_path, mark):
    """PySide unpickles such a value, which can run code: here, it would make a folder."""
    made = tmp_path / "made"

    class Deed:
        def __reduce__(self):
            return os.mkdir, (str(made),)

    store = QSettings(str(file), QSettings.Format.IniFormat)
    store.setValue(THEME.name, Deed())
    store.setValue(LAST_FOLDER.name, "/kept")
    store.sync()
    assert "@Variant(" in file.read_text("latin-1")
    copy = tmp_path / "copy.ini"
    copy.write_bytes(file.read_bytes().replace(b"@Variant(", mark.encode()))
    settings_of_copy = opened(copy)
    assert settings_of_copy.get(THEME) == "system"
    assert settings_of_copy.get(LAST_FOLDER) == "/kept"
    assert not made.exists()


@pytest.mark.parametrize("text", ["--5", "9" * 5000, "-", "٣", "1e3"])
def test_a_number_that_is_none_gives_the_default(file, text):
    file.write_text(f"[timeline]\nheader_width={text}\n", encoding="utf-8")
    assert opened(file).get(HEADER_WIDTH) == HEADER_WIDTH.default
