"""Every slice of a trace has the row of its call, event or group."""

import numpy as np
import pytest

from tests.analysis.comparison.test_rows import arms
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.rows import rows_of_slices
from viewer.model.trace import KeyKind


def kinds_of(session, which):
    trace = session.table.trace
    return {KeyKind(kind) for kind in trace.keys.kind[trace.slices.key[which]].tolist()}


@pytest.mark.parametrize("side", [0, 1])
def test_calls_kernels_and_events_have_rows_and_the_rest_has_none(side):
    comparison = Comparison(*arms("06_portable_vs_xnnpack"))
    arm = (comparison.a, comparison.b)[side]
    session = arm.sessions[0]
    rows = rows_of_slices(arm, side, comparison.rows, session)
    with_row = kinds_of(session, np.flatnonzero(rows >= 0))
    assert KeyKind.OPERATOR_CALL in with_row or KeyKind.DELEGATE_CALL in with_row
    trace = session.table.trace
    instructions = trace.keys.instruction[trace.slices.key]
    assert (rows[instructions < 0] == -1).all()
    for i in np.flatnonzero(rows >= 0).tolist():
        row = comparison.rows[rows[i]]
        parts = row.b if side else row.a
        assert int(instructions[i]) in {arm.parts[n].id.instruction for n in parts}


def test_events_inside_delegate_calls_have_rows_of_their_own():
    comparison = Comparison(*arms("06_portable_vs_xnnpack"))
    arm = comparison.b
    rows = rows_of_slices(arm, 1, comparison.rows, arm.sessions[0])
    used = {comparison.rows[i].level for i in set(rows[rows >= 0].tolist())}
    assert used == {"operator", "delegate_event"}


def test_slices_of_a_group_have_the_row_of_their_module():
    comparison = Comparison(*arms("12_wrapped"), level="module")
    session = comparison.a.sessions[0]
    rows = rows_of_slices(comparison.a, 0, comparison.rows, session)
    table = session.table
    sets = table.node_set_of_key[table.trace.slices.key]
    assert ((rows >= 0) == (sets >= 0)).all()
