"""The same rows as text, Markdown and JSON."""

import json

import pytest

from viewer.gui.qt.clipboard import CopyFormat, formatted, formatted_list

TSV = "Name\tTime, ns\nlinear\t1200\na|b <c>\t007\n"


def test_text_is_what_the_table_gives():
    assert formatted(TSV, CopyFormat.TEXT) == TSV


def test_markdown_escapes_what_would_end_a_cell():
    assert formatted(TSV, CopyFormat.MARKDOWN) == (
        "| Name | Time, ns |\n| --- | --- |\n| linear | 1200 |\n| a\\|b &lt;c> | 007 |\n"
    )


def test_json_has_whole_numbers_and_leaves_other_text():
    assert json.loads(formatted(TSV, CopyFormat.JSON)) == [
        {"Name": "linear", "Time, ns": 1200},
        {"Name": "a|b <c>", "Time, ns": "007"},
    ]


@pytest.mark.parametrize("form", [CopyFormat.MARKDOWN, CopyFormat.JSON])
def test_the_note_on_missing_rows_is_kept(form):
    text = formatted(TSV + "5 more rows: export writes all of them\n", form)
    assert "5 more rows: export writes all of them" in text


def test_sentences_are_a_list_below_their_title():
    sentences = ["a took 5 ms | half", "b"]
    assert formatted_list("2 findings", sentences, CopyFormat.TEXT) == (
        "2 findings\na took 5 ms | half\nb\n"
    )
    assert formatted_list("2 findings", sentences, CopyFormat.MARKDOWN) == (
        "2 findings\n\n- a took 5 ms \\| half\n- b\n"
    )
    found = json.loads(formatted_list("2 findings", sentences, CopyFormat.JSON))
    assert found == {"title": "2 findings", "rows": sentences}
