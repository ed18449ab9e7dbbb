"""Agreement: real pairs that belong together against all that do not."""

from dataclasses import replace

import pytest

from tests.paths import DATA
from viewer.analysis.links.logged_identities import LoggedIdentities
from viewer.analysis.links.match import BELONG, Match, match_trace, match_with_method
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import Method, Program

# The records of one row hold the same method, so their dumps fit them all.
FAMILIES = {
    "cnn_portable": (
        ["cnn_portable_x1", "cnn_portable_x2_debug", "cnn_portable_x10", "cnn_runtimeapi_x3"],
        ["cnn_toedge_portable", "cnn_standalone_deepcopy", "cnn_standalone_NOdeepcopy"],
    ),
    "cnn_xnnpack": (["cnn_xnnpack_x10"], ["cnn_teal_xnnpack", "cnn_session_xnnpack"]),
    "cond": (["cond_portable_x5"], ["cond_toedge_portable"]),
    "demo_generated_int": (["demo_generated_int_x4"], ["demo_generated_int"]),
    "demo_manual_int": (["demo_manual_int_x4"], ["demo_manual_int"]),
    "demo_portable": (["demo_portable_x3"], ["demo_portable"]),
    "demo_str": (["demo_str_x4"], ["demo_str"]),
    "multi_portable": (
        ["multi_encode_decode_portable_x3", "multi_forward_decode_portable_x3"],
        ["multi_encode_decode_toedge_portable", "multi_forward_decode_toedge_portable"],
    ),
    "cond_nested": (["cond_nested_portable_x4"], ["cond_nested_toedge_portable"]),
    "map": (["map_portable_x3"], ["map_toedge_portable"]),
    "buffer": (["buffer_portable_x3"], ["buffer_toedge_portable"]),
    "words": (["words_failing_x3"], ["words_toedge_portable"]),
    "lstm": (["lstm_portable_x1"], ["lstm_toedge_portable"]),
    "multi_xnnpack": (
        ["multi_forward_decode_xnnpack_x3", "multi_forward_decode_converts_x3"],
        ["multi_forward_decode_teal_xnnpack"],
    ),
}


@pytest.fixture(scope="module")
def traces() -> dict[str, Trace]:
    return {
        name: open_file(str(DATA / "etdump" / f"{name}.etdp"))
        for dumps, _ in FAMILIES.values()
        for name in dumps
    }


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {
        name: open_file(str(DATA / "etrecord" / f"{name}.etrecord"))
        for _, records in FAMILIES.values()
        for name in records
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_true_pairs_reach_the_threshold(family, traces, programs):
    dumps, records = FAMILIES[family]
    for dump in dumps:
        for record in records:
            found = match_trace(traces[dump], programs[record]).match
            assert found.value >= BELONG, (dump, record, str(found))
            assert found.belongs


@pytest.mark.parametrize("family", FAMILIES)
def test_false_pairs_with_evidence_stay_at_half_or_below(family, traces, programs):
    others = [r for name, (_, records) in FAMILIES.items() if name != family for r in records]
    for dump in FAMILIES[family][0]:
        for record in others:
            found = match_trace(traces[dump], programs[record]).match
            assert found.value <= 0.5 or not found.checkable, (dump, record, str(found))


def test_a_fully_delegated_pair_is_checked_by_the_types_of_xnnpacks_events(traces, programs):
    """A linear layer in both methods, and a sigmoid in one."""
    found = match_trace(
        traces["multi_forward_decode_xnnpack_x3"], programs["multi_forward_decode_teal_xnnpack"]
    )
    assert (found.match.value, found.match.evidence) == (1, 3)
    assert found.methods == ("forward", "decode", None)
    of_others = match_trace(
        traces["multi_forward_decode_xnnpack_x3"], programs["cnn_teal_xnnpack"]
    ).match
    assert of_others.checkable
    assert not of_others.belongs


def test_a_fully_delegated_pair_whose_events_prove_nothing_cannot_be_checked(traces, programs):
    found = match_trace(
        traces["multi_forward_decode_converts_x3"], programs["multi_forward_decode_teal_xnnpack"]
    )
    assert not found.match.checkable
    assert str(found.match) == "cannot be checked: nothing to compare"
    assert set(map(frozenset, found.undecided)) == {frozenset(), frozenset({"decode", "forward"})}


@pytest.mark.parametrize(
    ("family", "evidence"),
    [("cond", 3), ("cond_nested", 3), ("map", 1), ("buffer", 9), ("words", 7), ("lstm", 44)],
)
def test_what_no_map_has_does_not_speak_against_its_record(family, evidence, traces, programs):
    """Kernels in branches and bodies, write-backs of buffers, views, and what a failed run left."""
    (dump,), (record,) = FAMILIES[family]
    found = match_trace(traces[dump], programs[record]).match
    assert (found.value, found.evidence) == (1.0, evidence)


def test_a_method_that_is_nothing_but_branches_cannot_be_checked():
    record = open_file(str(DATA / "etrecord" / "cond_alone_toedge_portable.etrecord"))
    trace = open_file(str(DATA / "etdump" / "cond_alone_portable_x2.etdp"))
    own = match_trace(trace, record)
    assert own.methods[0] == "forward"
    assert own.match == Match(1.0, 0)
    nested = open_file(str(DATA / "etdump" / "cond_nested_portable_x4.etdp"))
    assert match_trace(nested, record).match.value < BELONG  # its cos is in no branch
    # A dump that took no branch never entered such a method.
    other = open_file(str(DATA / "etdump" / "lstm_portable_x1.etdp"))
    assert match_trace(other, record).match.value == 0.0


def test_a_handle_of_many_kernels_has_each_of_them_so_many_times():
    """All of a GRU is one debug handle, as is all of an LSTM, with operators of the same names."""
    lstm = open_file(str(DATA / "etdump" / "lstm_portable_x1.etdp"))
    gru = open_file(str(DATA / "etrecord" / "gru_toedge_portable.etrecord"))
    found = match_trace(lstm, gru).match
    assert round(found.value, 2) == 0.73
    assert found.is_partial


def test_an_operator_that_a_pass_replaced_agrees_under_its_new_name():
    dump = open_file(str(DATA / "etdump" / "cnn_transform_x3.etdp"))
    record = open_file(str(DATA / "etrecord" / "cnn_transform_portable.etrecord"))
    assert match_trace(dump, record).match == Match(1.0, 10)
    (method,) = record.methods
    without = replace(record, methods=(replace(method, later_names={}),))
    assert round(match_trace(dump, without).match.value, 9) == 0.9  # two of ten count half


@pytest.mark.parametrize(
    ("dump", "record", "methods"),
    [
        ("prefix_portable_x4", "prefix_toedge_portable", ("short", "long", None)),
        (
            "cond_prefix_portable_x8", "cond_prefix_toedge_portable",
            ("ends", "short", "long", None),
        ),
    ],
)  # fmt: skip
def test_methods_that_begin_alike_are_told_apart(dump, record, methods):
    found = match_trace(
        open_file(str(DATA / "etdump" / f"{dump}.etdp")),
        open_file(str(DATA / "etrecord" / f"{record}.etrecord")),
    )
    assert found.methods == methods
    assert found.match.value == 1.0


def test_an_unknown_identifier_costs_its_share_of_the_call(traces, programs):
    found = match_trace(traces["demo_str_x4"], programs["demo_str"]).match
    assert (round(found.value, 4), found.evidence) == (0.8333, 6)  # 5 of 6 identifiers


def test_scopes_are_attributed_to_methods(traces, programs):
    found = match_trace(
        traces["multi_forward_decode_portable_x3"], programs["multi_forward_decode_toedge_portable"]
    )
    assert {m for m in found.methods if m} == {"forward", "decode"}
    assert not any(found.undecided)


# -- debug handle map files ------------------------------------------------------------------------


def map_of(*calls: tuple[int, dict]) -> Program:
    """A debug handle map of `forward`; -1 is any call."""
    delegates = {at: DelegateMap("Npu", entries) for at, entries in calls}
    method = Method("forward", (), delegates=delegates, delegates_only=True)
    return Program("m.json", "Debug handle map", "", (method,))


def logged(**identifiers: list) -> LoggedIdentities:
    """What was logged at instructions: i0=["a"] at 0; `anywhere` without one."""
    found = {-1 if at == "anywhere" else int(at[1:]): set(ids) for at, ids in identifiers.items()}
    return LoggedIdentities({9: {"add"}}, {9}, {i for i in found if i >= 0}, found, set())


WORDS = {"a": (1,), "b": (2,), "c": (3,), "d": (4,)}
NUMBERS = {0: (1,), 1: (2,), 2: (3,)}


@pytest.mark.parametrize(
    ("calls", "events", "value", "evidence"),
    [
        # Kernels and calls of other backends are in no such file, and do not count.
        ([(0, WORDS)], {"i0": "abcd"}, 1.0, 4),
        ([(0, WORDS)], {"i0": "ab", "i1": "xyz"}, 1.0, 2),
        ([(-1, WORDS)], {"i0": "ab", "i1": "xyz"}, 1.0, 2),
        # What the map of a call does not know does, and so does a call that nobody made.
        ([(0, WORDS)], {"i0": "abxy"}, 0.5, 4),
        ([(-1, WORDS)], {"i0": "abx", "i1": "d"}, 5 / 6, 4),
        ([(0, WORDS), (3, WORDS)], {"i0": "ab"}, 0.5, 2),
        ([(-1, WORDS)], {"i0": "xy", "i1": "z"}, 0.0, 3),
        # Numbers are in every map: what is known proves nothing, what is not speaks against it.
        ([(0, NUMBERS)], {"i0": [0, 1, 2]}, 1.0, 0),
        ([(0, NUMBERS)], {"i0": [0, 1, 7, 8]}, 0.5, 2),
        # Without calls the share is of the fewer: of the map, or of what was logged.
        ([(-1, WORDS)], {"anywhere": "abcdefgh"}, 1.0, 4),
        ([(-1, WORDS)], {"anywhere": "a"}, 1.0, 1),
        ([(0, WORDS), (1, NUMBERS)], {"anywhere": "abxyzuvw"}, 2 / 7, 2),
        ([(-1, WORDS)], {"anywhere": "xy"}, 0.0, 2),
        ([(-1, NUMBERS)], {"anywhere": [0, 1, 2, 3, 4]}, 1.0, 0),
        # Nothing to compare.
        ([(0, WORDS)], {"i0": ""}, 0.0, 0),
        ([(-1, WORDS)], {}, 0.0, 0),
    ],
)
def test_a_debug_handle_map_is_compared_with_what_delegates_logged(calls, events, value, evidence):
    (method,) = map_of(*calls).methods
    found = match_with_method(logged(**events), method)
    assert (round(found.value, 9), found.evidence) == (round(value, 9), evidence)


def test_a_map_fits_its_dump_and_no_other(traces):
    program = open_file(str(DATA / "debug_handle_map" / "demo_str.json"))
    for name, trace in traces.items():
        found = match_trace(trace, program).match
        assert found.belongs is (name == "demo_str_x4"), (name, str(found))
