"""The methods of single inferences: chosen, changed, taken back, and in every answer."""

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.model.trace import Trace
from viewer.reports.info import info
from viewer.view.sessions.session_file import choices_of, kept_choices
from viewer.workspace.link_choices import Choices, apply, chosen
from viewer.workspace.user_choices import numbers_text, parse_numbers
from viewer.workspace.workspace import Workspace

DUMP, RECORD = (str(DATA / "pte" / f"multi3.{end}") for end in ("etdp", "etrecord"))


@pytest.fixture
def space() -> Workspace:
    return workspace_of(DUMP, RECORD)


def methods(space: Workspace) -> list[str | None]:
    """The methods of the four inferences of Execute 1; those of Execute 2 are always decode."""
    (trace,) = space.traces
    found = [space.links(trace).method_of_scope(run.scope) for run in trace.inferences()]
    assert found[1::2] == ["decode"] * 4
    return found[::2]


def linked(space: Workspace) -> int:
    table = space.links(space.traces[0])
    return int((table.states[table.trace.slices.key] == 2).sum())


def test_choosing_some_inferences_decides_no_other(space):
    assert methods(space) == [None] * 4
    before = linked(space)
    space.choose_method(DUMP, "Execute 1", "prefill", (1, 3))
    assert methods(space) == ["prefill", None, "prefill", None]
    assert linked(space) == before + 12
    assert "Choose one to link them" in space.warnings(space.traces[0])[0]
    space.choose_method(DUMP, "Execute 1", "forward", [2, 4])
    assert methods(space) == ["prefill", "forward", "prefill", "forward"]
    assert linked(space) == before + 24
    assert space.warnings(space.traces[0]) == []


def test_a_later_choice_replaces_an_earlier_one_and_all_runs_mean_all(space):
    space.choose_method(DUMP, "Execute 1", "prefill", (1, 2, 3))
    space.choose_method(DUMP, "Execute 1", "forward", (2,))
    assert methods(space) == ["prefill", "forward", "prefill", None]
    space.choose_method(DUMP, "Execute 1", "forward")
    assert methods(space) == ["forward"] * 4
    assert [scope.name for scope in space.traces[0].scopes] == ["Execute 1", "Execute 2", "load"]
    space.choose_method(DUMP, "Execute 1", "prefill", (3,))
    assert methods(space) == ["forward", "forward", "prefill", "forward"]


def test_a_choice_is_taken_back(space):
    before = space.traces[0]
    assert not space.is_explicit(before)
    space.choose_method(DUMP, "Execute 1", "prefill", (1, 3))
    assert space.is_explicit(space.traces[0])
    space.match_automatically(DUMP)
    assert methods(space) == [None] * 4
    assert space.traces[0].slices is before.slices


def test_the_trace_stays_the_same_as_long_as_its_parts_do(space):
    def now() -> Trace:
        return space.traces[0]

    space.choose_method(DUMP, "Execute 1", "prefill", (1, 3))
    split = now()
    space.choose_method(DUMP, "Execute 1", "forward", (1, 3))
    assert now() is split
    assert methods(space) == ["forward", None, "forward", None]
    space.open(str(DATA / "etdump" / "demo_str_x4.etdp"))
    assert now() is split


def test_wrong_ones_are_refused(space):
    with pytest.raises(
        ValueError, match=r"Execute 1 of .* has no inference 5,7: they are numbered"
    ):
        space.choose_method(DUMP, "Execute 1", "prefill", (1, 5, 7))
    with pytest.raises(ValueError, match=r"load of .* has no inference 1: it has none"):
        space.choose_method(DUMP, "load", "prefill", (1,))
    with pytest.raises(ValueError, match="has no method 'encode'; it has decode, forward, prefill"):
        space.choose_method(DUMP, "Execute 1", "encode", (1,))
    with pytest.raises(ValueError, match="it has Execute 1, Execute 2, load"):
        space.choose_method(DUMP, "Execute 9", "prefill", (1,))
    assert methods(space) == [None] * 4


def test_info_tells_the_method_of_each_inference(space):
    space.choose_method(DUMP, "Execute 1", "prefill", (1, 3))
    file = info(space)["files"][0]
    own = [(one["label"], one["method"], one["index"]) for one in file["inferences"]]
    assert own[::2] == [
        ("prefill · run 1 of 4", "prefill", 1), ("Execute · run 2 of 4", None, 2),
        ("prefill · run 3 of 4", "prefill", 3), ("Execute · run 4 of 4", None, 4),
    ]  # fmt: skip


def test_choices_come_back_from_a_session_and_from_a_copy(space):
    space.choose_method(DUMP, "Execute 1", "prefill", (1, 3))
    space.choose_method(DUMP, "Execute 1", "forward", (4,))
    saved = kept_choices(space, space.paths)
    for choices in (chosen(space), choices_of(saved, space.paths)):
        again = workspace_of(DUMP, RECORD)
        assert apply(choices, again) == []
        assert methods(again) == ["prefill", None, "prefill", "forward"]
    assert choices_of(saved, [None, None]).inferences_of == ()


def test_inferences_that_a_session_names_and_the_file_lacks_are_told(space):
    (told,) = apply(Choices(inferences_of=((DUMP, "Execute 1", (1, 9), "prefill"),)), space)
    assert told.startswith("the method of Execute 1: Execute 1 of ")
    assert told.endswith("has no inference 9: they are numbered 1-4")


@pytest.mark.parametrize(
    ("numbers", "text"),
    [((), ""), ((3,), "3"), ((1, 2), "1-2"), ((1, 2, 3, 7), "1-3,7"), ((9, 1, 3), "1,3,9")],
)
def test_numbers_are_written_and_read_as_ranges(numbers, text):
    assert numbers_text(numbers) == text
    if text:
        assert parse_numbers(text, 9) == tuple(sorted(numbers))


def test_numbers_may_have_spaces_and_come_twice():
    assert parse_numbers(" 1 - 3, 2 ,7", 7) == (1, 2, 3, 7)


@pytest.mark.parametrize("text", ["", "x", "1,", "-1", "1-", "1-2-3", "1.5", "+1", "²", "1" * 40])
def test_anything_else_is_no_number(text):
    with pytest.raises(ValueError, match='is not a list of inference numbers: write it as "1-3,7"'):
        parse_numbers(text, 9)


def test_ranges_go_up_and_end_at_the_last_inference():
    with pytest.raises(ValueError, match="'3-1' is not a range"):
        parse_numbers("3-1", 9)
    with pytest.raises(ValueError, match="there is no inference 99999999: they are numbered 1-9"):
        parse_numbers("1-99999999", 9)
