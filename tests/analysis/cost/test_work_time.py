"""Work by what it is: every instant once, the same whichever way it is cut, with no record too."""

import numpy as np
import pytest

from tests.builders.delegation_cases import DUMPS, OTHERS, linked, name_of, spans, within
from viewer.analysis.cost.event_times import WorkPart, WorkTime
from viewer.analysis.links.linker import unlinked
from viewer.model.figures import TimeScope
from viewer.model.trace import KeyKind

WORK = (
    KeyKind.OPERATOR_CALL, KeyKind.KERNEL, KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT,
    KeyKind.CONTROL,
)  # fmt: skip


@pytest.fixture(scope="module", params=DUMPS, ids=map(name_of, DUMPS))
def table(request):
    return linked(*request.param)


def test_all_groups_together_are_the_time_in_which_any_event_runs(table):
    trace = table.trace
    for of in (table, unlinked(trace)):
        work = WorkTime(of)
        for run in trace.inferences():
            assert work.ticks(TimeScope(run)).sum() == within(
                spans(trace, *WORK), run.start, run.end
            )


def test_things_add_up_to_their_groups(table):
    work = WorkTime(table)
    ticks = work.ticks()
    assert sum(own for _, own in work.by_thing(ticks)) == ticks.sum()
    assert [own for _, own in work.by_thing(ticks)] == sorted(
        (own for _, own in work.by_thing(ticks)), reverse=True
    )


def test_every_key_of_work_is_in_one_group(table):
    work = WorkTime(table)
    keys = [key for group in work.groups for key in group.keys]
    assert len(keys) == len(set(keys))
    kinds = table.trace.keys.kind
    for group in work.groups:
        outside = np.isin(kinds[list(group.keys)], (KeyKind.OPERATOR_CALL, KeyKind.KERNEL))
        assert outside.all() == (group.part is WorkPart.OUTSIDE)


@pytest.mark.parametrize("files", OTHERS, ids=map(name_of, OTHERS))
def test_other_files_have_work_too(files):
    work = WorkTime(linked(*files))
    assert work.ticks().sum() > 0
    assert all(group.part is WorkPart.OTHER for group in work.groups)
