"""The largest error of each line, while slices are colored by error."""

import pytest

from viewer.analysis.numbers.compared import OperatorErrors
from viewer.gui.panels.source.code_view import ERROR_TITLE, error_notes
from viewer.gui.panels.source.panel import SourcePanel
from viewer.gui.session.choices import set_scheme


@pytest.fixture
def session(sample):
    return sample("attention_xnnpack")


@pytest.fixture
def lines(session):
    """Recorded lines with the operators on each, of the first file."""
    shown = session.traces[0]
    found = {}
    for operator in shown.table.program.operators:
        if operator.source is not None:
            place = operator.source.path, operator.source.line
            found.setdefault(place, []).append(operator.index)
    return found


def test_a_line_has_the_largest_error_of_its_operators(session, lines):
    shown = session.traces[0]
    place = next(place for place, own in lines.items() if len(own) > 1)
    own = lines[place]
    assert error_notes(session, shown, place[0]) is None
    shown.errors = OperatorErrors({own[0]: 1e-4, own[1]: 0.25})
    assert error_notes(session, shown, place[0]) is None, "slices have other colors"
    set_scheme(session, "error")
    notes = error_notes(session, shown, place[0])
    assert {line: note.text for line, note in notes.items()} == {place[1]: "0.25"}
    assert notes[place[1]].share == 1.0


def test_the_gutter_has_errors_in_place_of_times(session, lines, show_panel):
    panel = show_panel(SourcePanel, session, 900, 500)
    before = panel.gutter_title.text()
    path = panel.place[0]
    own = next(own for place, own in lines.items() if place[0] == path)
    session.traces[0].errors = OperatorErrors({own[0]: 2e-6})
    set_scheme(session, "error")
    assert panel.gutter_title.text() == ERROR_TITLE
    assert [note.text for note in panel.code.gutter.notes.values()] == ["2e−06"]
    set_scheme(session, "operator")
    assert panel.gutter_title.text() == before
