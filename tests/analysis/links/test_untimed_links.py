"""Whose events without a time are: the operator of their call, or the reason why no one's."""

from collections import Counter

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.links.labels import NO_CALL, OUTSIDE, keys_of, link_reason, runs_of
from viewer.analysis.links.link_table import LinkTable
from viewer.model.untimed import value_text


def table(*names: str) -> LinkTable:
    workspace = workspace_of(*(DATA / name for name in names))
    return workspace.links(workspace.traces[0])


@pytest.fixture(scope="module")
def cnn() -> LinkTable:
    return table("etdump/cnn_portable_x2_debug.etdp", "etrecord/cnn_toedge_portable.etrecord")


def test_each_value_has_the_operator_that_made_it(cnn):
    events = cnn.trace.untimed
    told = [
        (" + ".join(o.op for o in cnn.operators(key)) if key >= 0 else None, value_text(events, i))
        for i, key in enumerate(keys_of(cnn.trace).tolist())
    ]
    assert told[:14] == told[14:]
    assert told[:14] == [
        ("convolution", "f32 1 × 8 × 16 × 16"),
        ("batch_norm", "f32 1 × 8 × 16 × 16"),
        ("batch_norm", "f32 0"),
        ("batch_norm", "f32 0"),
        ("relu", "f32 1 × 8 × 16 × 16"),
        ("max_pool2d", "f32 1 × 8 × 8 × 8"),
        ("max_pool2d", "i64 1 × 8 × 8 × 8"),
        ("convolution", "f32 1 × 16 × 8 × 8"),
        ("relu", "f32 1 × 16 × 8 × 8"),
        ("mean", "f32 1 × 16"),
        ("linear", "f32 16 × 10"),
        ("linear", "f32 1 × 10"),
        ("softmax", "f32 1 × 10"),
        (None, "f32 1 × 10"),
    ]


def test_the_shapes_are_those_of_the_operators_in_the_record(cnn):
    """The record states each operator's outputs by itself; nothing but the link joins the two."""
    events, shown = cnn.trace.untimed, 0
    for i, key in enumerate(keys_of(cnn.trace).tolist()):
        if key < 0 or events.offset.value(i) == -1:
            continue
        outputs = [t for o in cnn.operators(key) for n in o.nodes for t in n.outputs]
        texts = {f"{t.dtype} {' × '.join(map(str, t.shape or ()))}" for t in outputs}
        assert value_text(events, i) in texts
        shown += 1
    assert shown == 22


def test_every_value_says_why_it_is_linked_or_not(cnn):
    reasons = Counter(link_reason(cnn, i) for i in range(len(cnn.trace.untimed)))
    assert reasons == {"instruction in the debug handle map": 26, OUTSIDE: 2}
    apart = table("etdump/SYN_debug_values.etdp")
    assert {link_reason(apart, i) for i in range(len(apart.trace.untimed))} == {NO_CALL}
    kinds = table("etdump/SYN_untimed_kinds.etdp")
    assert [link_reason(kinds, i) for i in (0, 4)] == ["", "no ETRecord or source is linked"]


def test_runs_have_names_even_where_nothing_in_them_has_a_time(cnn):
    codes, texts = runs_of(cnn)
    named = [texts[code] for code in codes.tolist()]
    assert Counter(named) == {"forward · run 1 of 2": 14, "forward · run 2 of 2": 14}
    kinds = table("etdump/SYN_untimed_kinds.etdp")
    codes, texts = runs_of(kinds)
    named = [texts[code] for code in codes.tolist()]
    assert Counter(named) == {"load": 3, "Execute · run 1": 15, "Execute · block 3": 2}
