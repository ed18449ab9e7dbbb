"""Tables read back by the csv module."""

import csv
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.spreadsheet_cells import original
from viewer.export import table_files as tables
from viewer.export.table_files import write_table
from viewer.model.trace import Column


def read(path, delimiter=","):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


AWKWARD = [
    'say "hi"',
    "a,b",
    "two\nlines",
    "dos\r\nlines",
    "tab\there",
    "'",
    " space ",
    "畳み込み 🚀",
]


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".TSV", "\t"), (".tab", "\t")])
def test_awkward_texts_come_back(tmp_path, suffix, delimiter):
    path = tmp_path / f"table{suffix}"
    header = ["plain", 'the "name"', "with,comma", "with\ttab"]
    columns = [[str(i) for i in range(len(AWKWARD))], AWKWARD, AWKWARD[::-1], AWKWARD]
    assert write_table(path, header, columns) == len(AWKWARD)
    assert read(path, delimiter) == [header, *map(list, zip(*columns, strict=True))]


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\0"))] * 2)))
def test_any_text_comes_back(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    columns = [[r[0] for r in rows], [r[1] for r in rows]]
    write_table(path, ["x", "y"], columns, raw=True)
    assert read(path) == [["x", "y"], *map(list, rows)]
    write_table(path, ["x", "y"], columns)
    assert [list(map(original, cells)) for cells in read(path)[1:]] == list(map(list, rows))


def test_the_bytes_of_a_small_table(tmp_path):
    path = tmp_path / "a.csv"
    write_table(path, ["name", "n"], [["a,b", 'c"d', "é"], [1, 2, 3]])
    assert path.read_bytes() == b'name,n\n"a,b",1\n"c""d",2\n\xc3\xa9,3\n'


HARMFUL = ["=1+1", "-conv", " @x", "'=quoted", "\x1b[31m", "＝A1", "plain"]
HARMLESS = ["'=1+1", "'-conv", "' @x", "''=quoted", "\\x1b[31m", "'＝A1", "plain"]


@pytest.mark.parametrize("of", [list, np.array, pd.Series, Column.of_texts])
def test_no_text_is_a_formula_or_has_control_characters(tmp_path, of):
    write_table(tmp_path / "a.csv", ["name"], [of(HARMFUL)])
    assert [cell for (cell,) in read(tmp_path / "a.csv")] == ["name", *HARMLESS]
    write_table(tmp_path / "a.csv", ["name"], [of(HARMFUL)], raw=True)
    assert [cell for (cell,) in read(tmp_path / "a.csv")] == ["name", *HARMFUL]


def test_column_names_are_no_formulas(tmp_path):
    write_table(tmp_path / "a.tsv", ["name", "=x"], [["a"], [1]])
    assert (tmp_path / "a.tsv").read_bytes() == b'"name"\t\'=x\na\t1\n'


def test_numbers_stay_numbers(tmp_path):
    columns = [
        ["=x", "=y"],  # so that texts are changed in this table
        [-5, None],
        np.array([-0.5, -np.inf]),
        Column(np.array([-1, -2])),
        ["-5", "+1.5e-3"],
    ]
    write_table(tmp_path / "a.csv", list("abcde"), columns)
    assert read(tmp_path / "a.csv")[1:] == [
        ["'=x", "-5", "-0.5", "-1", "-5"],
        ["'=y", "", "-inf", "-2", "+1.5e-3"],
    ]


def test_the_first_name_is_in_quotes_if_texts_were_changed(tmp_path):
    for texts, raw, first in (
        (["=1"], False, b'"name",n\n'), (["=1"], True, b"name,n\n"), (["a"], False, b"name,n\n"),
    ):  # fmt: skip
        write_table(tmp_path / "a.csv", ["name", "n"], [texts, [1]], raw=raw)
        assert (tmp_path / "a.csv").read_bytes().startswith(first)


def test_nulls_are_empty_and_integers_stay_integers(tmp_path):
    path = tmp_path / "a.csv"
    columns = [
        [1, None, 2**63 + 1],
        pd.Series([1, None, 3], dtype="Int64"),
        np.array([0.5, np.nan, 1e300]),
        pd.Series(["x", None, "y"], index=[7, 8, 9]),
        pd.Categorical(["p", None, "q"]),
        [True, None, False],
    ]
    write_table(path, list("abcdef"), columns)
    assert read(path)[1:] == [
        ["1", "1", "0.5", "x", "p", "True"],
        ["", "", "", "", "", ""],
        ["9223372036854775809", "3", "1e+300", "y", "q", "False"],
    ]


def test_a_lone_surrogate_does_not_stop_the_rest(tmp_path):
    write_table(tmp_path / "a.csv", ["x"], [["bad\udcff", "good"]])
    assert read(tmp_path / "a.csv") == [["x"], ["bad?"], ["good"]]


def test_chunks_give_one_header_and_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 3)
    seen = []
    columns = [pd.Series(range(7), index=range(10, 17)), [f"r{i}" for i in range(7)]]
    write_table(tmp_path / "a.csv", ["n", "t"], columns, progress=lambda *p: seen.append(p))
    assert read(tmp_path / "a.csv") == [["n", "t"], *([str(i), f"r{i}"] for i in range(7))]
    assert seen == [(3, 7), (6, 7), (7, 7)]


def test_no_rows_is_a_header(tmp_path):
    assert write_table(tmp_path / "a.csv", ["x", "y"], [[], []]) == 0
    assert (tmp_path / "a.csv").read_bytes() == b"x,y\n"


def test_columns_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match="2 names for 1 columns"):
        write_table(tmp_path / "a.csv", ["x", "y"], [[1]])
    with pytest.raises(ValueError, match="different lengths"):
        write_table(tmp_path / "a.csv", ["x", "y"], [[1], [1, 2]])
    assert os.listdir(tmp_path) == []


def test_a_cancelled_table_leaves_the_old_one(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 1)
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    answers = iter([False, True])
    with pytest.raises(WriteCancelled):
        write_table(path, ["x"], [[1, 2, 3]], cancelled=lambda: next(answers))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.csv"]
