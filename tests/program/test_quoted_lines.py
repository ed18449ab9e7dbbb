"""The lines that stack traces quote, for a source file that is not here."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.gui.events import SAMPLE
from viewer.formats import open_file
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Method, Operator, Program
from viewer.program.source_files import (
    GAP,
    MOST_CHARACTERS,
    QuotedLines,
    SourceFile,
    quoted_lines,
    version_fit,
)

MODEL = "/home/user/model.py"


def program(*lines, path=MODEL):
    """A program with one operator per (line, text)."""
    operators = tuple(
        Operator(i, "forward", i, (GraphNode(f"n{i}", "aten.add.Tensor", i, (frame,)),))
        for i, frame in enumerate(Frame(path, line, "forward", text) for line, text in lines)
    )
    return Program("a.etrecord", "ETRecord", "", (Method("forward", operators),))


def test_lines_are_in_order_with_gaps_between_those_that_are_not_adjacent():
    quoted = program((9, "return y"), (4, "x = x + 1"), (5, "y = f(x)"), (4, "x = x + 1"))
    assert quoted_lines([quoted], MODEL) == QuotedLines(
        (4, 5, GAP, 9), ("x = x + 1", "y = f(x)", "", "return y"), quoted=3
    )


def test_all_lines_of_the_calls_that_led_to_an_operator_are_quoted():
    record = open_file(SAMPLE["attention_xnnpack"].paths()[1])
    lines = quoted_lines([record], "/home/user/models/models.py")
    assert lines.quoted == 9
    assert lines.numbers == (33, GAP, *range(48, 55), GAP, 64)
    assert lines.texts[0] == "return self.fc2(self.act(self.fc1(x)))"


def test_stack_traces_are_read_once_for_all_files(monkeypatch):
    record, read = program((4, "x = 1")), []
    nodes = record.nodes
    monkeypatch.setattr(Program, "nodes", property(lambda self: read.append(self) or nodes))
    for path in (MODEL, "/b.py", MODEL):
        assert bool(quoted_lines([record], path).quoted) == (path == MODEL)
    assert read == [record]


def test_a_line_without_text_stays_beside_quoted_ones_since_it_may_have_a_cost():
    lines = quoted_lines([program((4, "x = 1"), (5, ""))], MODEL)
    assert lines == QuotedLines((4, 5), ("x = 1", ""), quoted=1)


@pytest.mark.parametrize(
    "no_text", [program((4, ""), (5, "  ")), program((4, "x"), path="/b.py"), program((0, "x"))]
)
def test_without_any_text_there_are_no_lines(no_text):
    assert quoted_lines([no_text], MODEL) == QuotedLines()


def test_a_text_stays_on_one_line_and_shows_what_it_hides():
    hostile = program((1, "a\rb\u2028c\u2029d\x1b[31m\u202ee\0"), (2, "y" * 10**6))
    first, second = quoted_lines([hostile], MODEL).texts
    assert first == "a\\rb\\u2028c\\u2029d\\x1b[31m\\u202ee\\x00"
    assert second == "y" * MOST_CHARACTERS + "…"


def test_programs_of_one_version_of_the_file_add_up():
    both = [program((4, "x = 1"), (6, "")), program((4, "x = 1"), (5, "y = 2"), (6, "z = 3"))]
    assert quoted_lines(both, MODEL).texts == ("x = 1", "y = 2", "z = 3")


def test_a_program_of_another_version_is_left_out():
    other = program((4, "x = 2"), (9, "return x"))
    assert quoted_lines([program((4, "x = 1")), other], MODEL).texts == ("x = 1",)


RECORD = SAMPLE["attention_xnnpack"].paths()[1]
MODELS = Path(RECORD).parent / "models.py"


@pytest.fixture(scope="module")
def program_of_versions():
    return open_file(RECORD)


@pytest.fixture
def file(program_of_versions):
    recorded = next(o.source.path for o in program_of_versions.operators if o.source)
    lines = tuple(MODELS.read_text().split("\n"))
    return SourceFile(recorded, str(MODELS), lines)


def test_the_source_that_a_record_was_made_from_fits(program_of_versions, file):
    fit = version_fit(program_of_versions, file)
    assert fit.compared > 5
    assert not fit.is_other


def test_indentation_and_line_ends_do_not_count(program_of_versions, file):
    other = replace(file, lines=tuple(f"\t{line.strip()}  \r" for line in file.lines))
    assert not version_fit(program_of_versions, other).is_other


def test_a_line_more_at_the_top_is_told_with_every_line_that_moved(program_of_versions, file):
    fit = version_fit(program_of_versions, replace(file, lines=("import os", *file.lines)))
    assert fit.is_other
    assert fit.compared == version_fit(program_of_versions, file).compared
    for line, quoted in fit.unlike:
        assert file.line(line).strip() == quoted
        assert file.line(line - 1).strip() != quoted
    assert [line for line, _ in fit.unlike] == sorted({line for line, _ in fit.unlike})


def test_a_file_that_ends_too_early_is_another_version(program_of_versions, file):
    first = version_fit(program_of_versions, replace(file, lines=())).unlike
    assert len(first) == version_fit(program_of_versions, file).compared


def test_of_another_file_nothing_is_known(program_of_versions, file):
    fit = version_fit(program_of_versions, replace(file, recorded_path="/elsewhere/models.py"))
    assert (fit.compared, fit.unlike) == (0, ())
