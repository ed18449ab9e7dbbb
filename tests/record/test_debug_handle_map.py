"""The builder of debug handle maps: its calls, its refusals, and executorch's beside it."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.program.program import GraphNode, Operator
from viewer.record import DelegateMappingBuilder

NO_PEERS = "the extra `peers` is not installed"
# Importing torch warns of many things, and takes seconds.
of_the_peer = pytest.mark.filterwarnings("ignore")


def node(handle: object) -> SimpleNamespace:
    """As an fx node as far as the builder looks."""
    return SimpleNamespace(meta={} if handle is None else {"debug_handle": handle})


def operator(handle: int) -> Operator:
    return Operator(0, "forward", handle, (GraphNode("n", "aten.add.Tensor", handle),))


def test_manual_identifiers_are_the_authors_own():
    builder = DelegateMappingBuilder()
    assert builder.insert_delegate_mapping_entry([node(2), node(1), node(2)], "Fancy Fusion")
    assert builder.insert_delegate_mapping_entry(node(3), "tan") == "tan"
    assert builder.get_delegate_mapping() == {"Fancy Fusion": (1, 2), "tan": (3,)}


def test_generated_identifiers_count_from_0():
    builder = DelegateMappingBuilder(generated_identifiers=True)
    assert [builder.insert_delegate_mapping_entry(node(h)) for h in (7, 8, 7)] == [0, 1, 2]
    assert builder.upsert_delegate_mapping_entry(node(9)) == 3
    assert builder.get_delegate_mapping() == {0: (7,), 1: (8,), 2: (7,), 3: (9,)}


def test_upsert_adds_to_an_entry_or_makes_one():
    builder = DelegateMappingBuilder()
    builder.upsert_delegate_mapping_entry(node(4), 10)
    assert builder.upsert_delegate_mapping_entry([node(2), node(4)], identifier=10) == 10
    builder.upsert_delegate_mapping_entry(identifier=11, handles=1)
    assert builder.get_delegate_mapping() == {10: (2, 4), 11: (1,)}


@pytest.mark.parametrize(
    ("nodes", "handles"),
    [
        (node(5), (5,)),
        (node((6, 5)), (5, 6)),  # a pass fused two
        ((node(5), node(None), node(6)), (5, 6)),  # one without a debug handle is skipped
        (operator(5), (5,)),
        ([operator(5), operator(-1), 6, node(7)], (5, 6, 7)),
        (5, (5,)),
        (np.int64(5), (5,)),
        (iter([5, 6]), (5, 6)),
        (node(0), (0,)),
    ],
)
def test_nodes_are_fx_nodes_operators_or_debug_handles(nodes, handles):
    builder = DelegateMappingBuilder()
    builder.insert_delegate_mapping_entry(nodes, "x")
    assert builder.get_delegate_mapping() == {"x": handles}
    assert all(type(handle) is int for handle in builder.get_delegate_mapping()["x"])


def test_handles_may_be_given_in_place_of_nodes():
    builder = DelegateMappingBuilder()
    builder.insert_delegate_mapping_entry(handles=[3, None, 1, 3], identifier="x")
    builder.insert_delegate_mapping_entry(None, "y", handles=(np.uint32(2),))
    assert builder.get_delegate_mapping() == {"x": (1, 3), "y": (2,)}
    with pytest.raises(TypeError):
        builder.insert_delegate_mapping_entry(None, "z", [4])  # handles come first


@pytest.mark.parametrize(
    ("by_position", "by_name"),
    [
        ((3, "x"), {"identifier": "x"}),  # as ExecuTorch documents it
        ((3, None, "x"), {"identifier": "x"}),  # as its release 1.5.1
        ((None, [1, 2], "x"), {"handles": [1, 2], "identifier": "x"}),
        ((None, (1, None), 5), {"handles": [1], "identifier": 5}),
        ((None, 1, 5), {"handles": [1], "identifier": 5}),
    ],
)
def test_both_orders_of_executorch_mean_the_same(by_position, by_name):
    first, second = DelegateMappingBuilder(), DelegateMappingBuilder()
    first.insert_delegate_mapping_entry(*by_position)
    second.insert_delegate_mapping_entry(by_position[0], **by_name)
    assert first.get_delegate_mapping() == second.get_delegate_mapping()


@pytest.mark.parametrize("call", [(None, [1], "x", 3), (3, None, 4, 5)])
def test_more_than_an_entry_has_is_refused(call):
    with pytest.raises(TypeError, match="1 more"):
        DelegateMappingBuilder().upsert_delegate_mapping_entry(*call)


def test_what_is_stated_twice_is_refused():
    with pytest.raises(TypeError, match=r"identifier .* twice"):
        DelegateMappingBuilder().insert_delegate_mapping_entry(3, "x", identifier="y")


def test_generated_identifiers_take_handles_in_second_place():
    builder = DelegateMappingBuilder(generated_identifiers=True)
    assert builder.insert_delegate_mapping_entry(None, [4, 2]) == 0
    assert builder.get_delegate_mapping() == {0: (2, 4)}


def builders() -> tuple[DelegateMappingBuilder, DelegateMappingBuilder]:
    manual, generated = DelegateMappingBuilder(), DelegateMappingBuilder(True)
    manual.insert_delegate_mapping_entry(1, "there")
    generated.insert_delegate_mapping_entry(1)
    return manual, generated


@pytest.mark.parametrize("put", ["insert_delegate_mapping_entry", "upsert_delegate_mapping_entry"])
@pytest.mark.parametrize(
    ("which", "given", "error", "what_to_do"),
    [
        (1, {"nodes": 1, "identifier": 5}, ValueError, "leave it out"),
        (1, {"nodes": 1, "identifier": 0}, ValueError, "leave it out"),
        (0, {"nodes": 1}, ValueError, "generated_identifiers=True"),
        (0, {"nodes": 1, "identifier": 5}, TypeError, "use one kind"),
        (0, {"nodes": 1, "identifier": True}, TypeError, "an int or a str"),
        (0, {"nodes": 1, "identifier": 1.5}, TypeError, "an int or a str"),
        (0, {"identifier": "x"}, ValueError, "exactly one"),
        (0, {"nodes": 1, "handles": 1, "identifier": "x"}, ValueError, "exactly one"),
        (0, {"nodes": [], "identifier": "x"}, ValueError, "pass nodes"),
        (0, {"nodes": node(None), "identifier": "x"}, ValueError, "pass nodes"),
        (0, {"nodes": [operator(-1)], "identifier": "x"}, ValueError, "pass nodes"),
        (0, {"handles": [None], "identifier": "x"}, ValueError, "pass nodes"),
        (0, {"nodes": "conv", "identifier": "x"}, TypeError, "pass fx nodes"),
        (0, {"nodes": [None], "identifier": "x"}, TypeError, "pass fx nodes"),
        (0, {"nodes": node("1"), "identifier": "x"}, TypeError, "whole numbers"),
        (0, {"nodes": True, "identifier": "x"}, TypeError, "pass fx nodes"),
        (0, {"nodes": -2, "identifier": "x"}, ValueError, "whole numbers"),
        (0, {"handles": "12", "identifier": "x"}, TypeError, "whole numbers"),
        (0, {"handles": [1.0], "identifier": "x"}, TypeError, "whole numbers"),
    ],
)
def test_each_misuse_says_what_to_do_and_changes_nothing(put, which, given, error, what_to_do):
    builder = builders()[which]
    before = builder.get_delegate_mapping()
    with pytest.raises(error, match=what_to_do):
        getattr(builder, put)(**given)
    assert builder.get_delegate_mapping() == before


def test_an_identifier_is_inserted_once():
    builder, _ = builders()
    with pytest.raises(ValueError, match="upsert_delegate_mapping_entry"):
        builder.insert_delegate_mapping_entry(2, "there")
    assert builder.get_delegate_mapping() == {"there": (1,)}


def test_what_is_handed_out_is_a_copy():
    builder, _ = builders()
    builder.get_delegate_mapping().clear()
    assert builder.get_delegate_mapping() == {"there": (1,)}


ENTRIES = st.lists(
    st.tuples(
        st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=4),
        st.one_of(st.none(), st.integers(0, 5), st.sampled_from("abc")),
        st.booleans(),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(st.booleans(), ENTRIES)
def test_a_map_is_what_was_accepted(generated, entries):
    builder = DelegateMappingBuilder(generated)
    expected: dict = {}
    for handles, identifier, upsert in entries:
        put = builder.upsert_delegate_mapping_entry if upsert else None
        put = put or builder.insert_delegate_mapping_entry
        try:
            key = put([node(h) for h in handles], identifier)
        except (ValueError, TypeError):
            continue
        assert identifier in (None, key)
        assert upsert or key not in expected
        expected.setdefault(key, set()).update(h for h in handles if h is not None)
    found = builder.get_delegate_mapping()
    assert found == {key: tuple(sorted(handles)) for key, handles in expected.items()}
    assert len({type(key) for key in found}) <= 1


@pytest.fixture(scope="module")
def peer():
    return pytest.importorskip("executorch.exir.backend.utils", reason=NO_PEERS)


@of_the_peer
@given(st.booleans(), st.sampled_from(["int", "str"]), ENTRIES, st.booleans())
def test_results_are_those_of_executorch(peer, generated, kind, entries, as_handles):
    own, theirs = DelegateMappingBuilder(generated), peer.DelegateMappingBuilder(generated)
    for handles, identifier, _ in entries:
        key = identifier if identifier is None else int(str(identifier), 36)
        given_as = {"handles": handles} if as_handles else {"nodes": [node(h) for h in handles]}
        given_as["identifier"] = str(key) if kind == "str" and key is not None else key
        answers = []
        for builder in (own, theirs):
            try:
                answers.append(builder.insert_delegate_mapping_entry(**given_as))
            except Exception:
                answers.append(None)
        assert answers[0] == answers[1]
        assert type(answers[0]) is type(answers[1])
    assert own.get_delegate_mapping() == theirs.get_delegate_mapping()
    assert list(own.get_delegate_mapping()) == list(theirs.get_delegate_mapping())


@of_the_peer
def test_executorch_takes_the_map_as_it_is():
    details = pytest.importorskip("executorch.exir.backend.backend_details", reason=NO_PEERS)
    manual, generated = builders()
    for builder in (manual, generated):
        mapping = builder.get_delegate_mapping()
        result = details.PreprocessResult(processed_bytes=b"", debug_handle_map=mapping)
        assert result.debug_handle_map is mapping


def test_importing_it_brings_nothing_along():
    code = (
        "import sys, viewer.record; from viewer.record import DelegateMappingBuilder as B; "
        "B(True).insert_delegate_mapping_entry(5); print(*sorted(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    ).stdout
    assert "viewer.record.debug_handle_map" in loaded.split()
    heavy = {"numpy", "pandas", "torch", "executorch", "PySide6", "pyqtgraph"}
    assert not heavy & set(loaded.split())
