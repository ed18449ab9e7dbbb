"""The feed of logged values: which profile, which reference, which inference."""

import pytest

from viewer.gui.session.choices import scheme_problem, set_scheme, shown_scheme
from viewer.gui.session.comparison import compare, compare_files
from viewer.gui.session.feeds.numbers import NumbersFeed
from viewer.gui.session.feeds.references import Automatic, Reference
from viewer.gui.session.navigation import pick_run
from viewer.model.inference_views import Inferences
from viewer.render.color_schemes import NO_ERRORS

PAIR = "xnnpack.etdp", "xnnpack.etrecord", "portable.etdp", "portable.etrecord"


@pytest.fixture
def feed_of(opened, data, qtbot):
    """The feed of a session with some files of tests/data/numbers, when all is measured."""

    def make(*names):
        feed = NumbersFeed.of(opened(*(data / "numbers" / name for name in names)))
        settle(feed, qtbot)
        return feed

    return make


def settle(feed, qtbot):
    qtbot.waitUntil(lambda: not feed.is_measuring)


def test_a_profile_without_values_has_no_answer(opened, data, qtbot):
    feed = NumbersFeed.of(opened(data / "pte/cond.etdp"))
    settle(feed, qtbot)
    assert feed.answer is None
    assert feed.open_trace is None


def test_all_rows_are_measured(feed_of):
    feed = feed_of("portable.etdp")
    assert feed.figures.is_complete
    assert len(feed.answer.rows) == 18
    assert feed.answer.reference == ""


def test_the_other_profile_is_offered_and_can_be_chosen(feed_of, data, qtbot):
    feed = feed_of(*PAIR)
    assert [one.name for one in feed.offered] == ["portable.etdp"]
    feed.choose(feed.offered[0])
    settle(feed, qtbot)
    assert len(feed.errors.of) == 12
    assert feed.answer.question.table.trace.path.endswith("xnnpack.etdp")


def test_b_of_a_comparison_is_the_reference(feed_of, data, qtbot):
    feed = feed_of(*PAIR)
    session = feed._session
    assert not compare_files(session, [str(data / "numbers/portable.etdp")])
    settle(feed, qtbot)
    assert feed.automatic == Reference(str(data / "numbers/portable.etdp"))
    assert feed.answer.reference.startswith("portable.etdp")
    feed.choose(Automatic.NOTHING)
    settle(feed, qtbot)
    assert feed.answer.reference == ""
    feed.choose(Automatic.COMPARED)
    compare(session, None)
    settle(feed, qtbot)
    assert feed.answer.reference == ""


def test_a_picked_inference_is_shown(feed_of, qtbot):
    feed = feed_of("xnnpack.etdp")
    trace = feed.open_trace.trace
    numbers = [i for i, run in enumerate(trace.runs) if run in list(trace.inferences())]
    pick_run(feed._session, (0, numbers[1]))
    settle(feed, qtbot)
    assert feed.answer.inference.run is trace.runs[numbers[1]]
    feed.choose_inference(feed.answer.profile.inferences[0].block)
    settle(feed, qtbot)
    assert feed.answer.inference is feed.answer.profile.inferences[0]


def test_a_chosen_buffer_is_read(opened, data, tmp_path, qtbot):
    path = tmp_path / "alone.etdp"
    path.write_bytes((data / "numbers/portable.etdp").read_bytes())
    feed = NumbersFeed.of(opened(path))
    settle(feed, qtbot)
    assert feed.answer.wants_buffer
    feed.add_buffer(str(data / "numbers/portable.bin"))
    settle(feed, qtbot)
    assert feed.figures.is_complete
    assert feed.answer.problem == ""


def test_closing_the_files_releases_them(feed_of):
    feed = feed_of("portable.etdp")
    feed._session.close_all()
    assert feed.answer is None
    assert feed.figures is None


def test_errors_color_the_slices_of_the_program(feed_of, qtbot):
    feed = feed_of(*PAIR)
    session = feed._session
    assert scheme_problem(session, "error") == NO_ERRORS
    feed.choose(feed.offered[0])
    with qtbot.waitSignal(session.coloring_changed):
        settle(feed, qtbot)
    set_scheme(session, "error")
    assert shown_scheme(session) == "error"
    own, other = session.traces
    assert own.errors is feed.errors
    assert other.errors is None, "it has another program"
    session.show_inferences(Inferences.ALIGNED)
    settle(feed, qtbot)
    assert session.traces[0].errors is feed.errors
    feed.choose(Automatic.NOTHING)
    settle(feed, qtbot)
    assert shown_scheme(session) == "name"
