"""A source file that reads otherwise than a record quotes it is another version."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.gui.events import SAMPLE
from viewer.formats import open_file
from viewer.program.sources.files import SourceFile
from viewer.program.sources.versions import version_fit

RECORD = SAMPLE["attention_xnnpack"].paths()[1]
MODELS = Path(RECORD).parent / "models.py"


@pytest.fixture(scope="module")
def program():
    return open_file(RECORD)


@pytest.fixture
def file(program):
    recorded = next(o.source.path for o in program.operators if o.source)
    lines = tuple(MODELS.read_text().split("\n"))
    return SourceFile(recorded, str(MODELS), lines)


def test_the_source_that_a_record_was_made_from_fits(program, file):
    fit = version_fit(program, file)
    assert fit.compared > 5
    assert not fit.is_other


def test_indentation_and_line_ends_do_not_count(program, file):
    other = replace(file, lines=tuple(f"\t{line.strip()}  \r" for line in file.lines))
    assert not version_fit(program, other).is_other


def test_a_line_more_at_the_top_is_told_with_every_line_that_moved(program, file):
    fit = version_fit(program, replace(file, lines=("import os", *file.lines)))
    assert fit.is_other
    assert fit.compared == version_fit(program, file).compared
    for line, quoted in fit.unlike:
        assert file.line(line).strip() == quoted
        assert file.line(line - 1).strip() != quoted
    assert [line for line, _ in fit.unlike] == sorted({line for line, _ in fit.unlike})


def test_a_file_that_ends_too_early_is_another_version(program, file):
    first = version_fit(program, replace(file, lines=())).unlike
    assert len(first) == version_fit(program, file).compared


def test_of_another_file_nothing_is_known(program, file):
    fit = version_fit(program, replace(file, recorded="/elsewhere/models.py"))
    assert (fit.compared, fit.unlike) == (0, ())
