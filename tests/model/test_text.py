"""Amounts with decimal prefixes, and texts on one line."""

import random

import pytest

from viewer.model.text import (
    LONGEST,
    amount_in_unit,
    bytes_text,
    capped,
    display_name,
    distinct_names,
    listed,
    name_text,
    natural,
    one_line,
    visible_controls,
    visible_line,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.000 kB"), (12_160, "12.160 kB"), (0.5, "0.500 B"),
     (999_999.9, "1.000 MB"), (1_234_567_890, "1.235 GB"), (3e15, "3.000 PB")],
)  # fmt: skip
def test_an_amount_reads_with_its_prefix(value, text):
    assert " ".join(amount_in_unit(value, "B")) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(999, "999 B"), (1000, "1.0 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"),
     (9_940_000, "9.9 MB"), (999_499_999, "999 MB"), (999_891_000, "1.0 GB"),
     (12_300_000_000, "12 GB")],
)  # fmt: skip
def test_a_size_takes_the_next_unit_where_it_rounds_to_a_thousand(size, text):
    assert bytes_text(size).replace("\u202f", " ") == text


def test_a_line_has_no_line_ends_and_the_spaces_of_a_keyboard():
    assert one_line("a\nb at 100\u202fMHz, 1\u2009234") == "a\\nb at 100 MHz, 1 234"


def test_a_text_for_the_screen_has_at_most_so_many_characters_and_states_its_length():
    assert capped("x" * LONGEST) == "x" * LONGEST
    assert capped("x" * (1 << 20)) == "x" * LONGEST + "… (1\u2009048\u2009576 characters)"
    assert len(display_name("/tmp/" + "x" * (1 << 20))) < LONGEST + 50


def test_control_characters_and_direction_overrides_are_visible():
    assert visible_controls("\x1b[31m\x9b\u202e\u2069\t\r") == r"\x1b[31m\x9b\u202e\u2069\t\r"
    assert visible_controls("two\nlines, שלום, 畳み込み") == "two\nlines, שלום, 畳み込み"


def test_numbers_in_names_count():
    for names in (
        ["build 9", "build 10", "build 100"],
        ["1.2", "1.9", "1.10", "1.10.1", "2.0"],
        ["", "a", "A1", "b"],
        ["1", "9" * 18],
        ["core 1", "Core 2", "core 2"],
    ):
        assert sorted([*names[1:], names[0]], key=natural) == names


def test_any_name_has_a_place():
    names = ["9" * 40, "a" * 5, "²", "-1", "1a", "a1b", " "]
    assert len(sorted(names, key=natural)) == len(names)


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")],
)
def test_names_are_listed_as_in_a_sentence(names, text):
    assert listed(names, "or") == text
    assert listed(names) == text.replace(" or ", " and ")


ODD_NAMES = (
    "", " ", "\u00a0\t", "a\nb", "\r\nx\u2028y\u2029", "\u202eabc", "\x00", "n" * 9000, "畳み込み",
)  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_name_is_one_visible_line(name):
    text = name_text(name)
    assert text.strip()
    assert not set("\n\r\t\u2028\u2029\u202e\x00") & set(text)
    assert len(text) <= LONGEST + 40
    assert text == visible_line(name) or len(name) > LONGEST or not name.strip()


def test_names_without_letters_have_different_texts():
    assert (name_text(""), name_text("  ")) == ("(no name)", "(blank)")
    assert display_name("") == ""
    assert display_name("/a/line\n1.json") == "line\\n1.json"


@pytest.mark.parametrize("seed", range(5))
def test_distinct_names_tell_files_apart_with_few_folders(seed):
    chance = random.Random(seed)
    folders = [chance.choices("abc", k=chance.randint(1, 4)) for _ in range(8)]
    paths = dict.fromkeys(f"/{'/'.join(parts)}/run.etdp" for parts in folders)
    paths = [*paths, "/x/other.etdp"]
    names = distinct_names(paths)
    assert len(set(names)) == len(paths)
    assert names[-1] == "other.etdp"
    assert all(path.endswith(name) for path, name in zip(paths, names, strict=True))
