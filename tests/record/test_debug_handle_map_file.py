"""Debug handle map files as they are written, and read again."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import DATA
from viewer.formats import open_file
from viewer.program.program import Program
from viewer.record import DelegateInstance, DelegateMappingBuilder, write_debug_handle_map

NO_PEERS = "the extra `peers` is not installed"


def read(path: Path) -> Program:
    found = open_file(str(path))
    assert isinstance(found, Program)
    return found


def node(handle: int, op: str, path: str = "", line: int = 1) -> SimpleNamespace:
    trace = f'  File "/home/user/model.py", line {line}, in forward\n    y = x\n'
    meta = {"debug_handle": handle, "stack_trace": trace, "nn_module_stack": {"m": (path, "M")}}
    return SimpleNamespace(name=op, target=f"aten.{op}.default", meta=meta)


def test_the_file_is_as_specified(tmp_path):
    builder = DelegateMappingBuilder()
    conv, relu = node(1, "convolution", "features.0", 12), node(2, "relu")
    builder.insert_delegate_mapping_entry([conv, relu], "Fancy Fusion")
    numbers = DelegateMappingBuilder(generated_identifiers=True)
    numbers.insert_delegate_mapping_entry([1, node(2, "clamp")])
    path = tmp_path / "map.json"
    write_debug_handle_map(
        path,
        DelegateInstance(builder, "ToyNpu"),
        DelegateInstance(numbers, "ToyNpu", instruction=3),
        DelegateInstance({10: (1, 2)}, "Other", "decode"),
    )
    assert json.loads(path.read_text()) == {
        "opscope_debug_handle_map": 1,
        "methods": {
            "forward": {
                "*": {"delegate": "ToyNpu", "entries": [["Fancy Fusion", [1, 2]]]},
                "3": {"delegate": "ToyNpu", "entries": [[0, [1, 2]]]},
            },
            "decode": {"*": {"delegate": "Other", "entries": [[10, [1, 2]]]}},
        },
        "operators": {
            "1": {
                "target": "aten.convolution.default", "name": "convolution",
                "module": "features.0", "file": "/home/user/model.py", "line": 12,
            },
            "2": {
                "target": ["aten.relu.default", "aten.clamp.default"], "name": "relu",
                "file": "/home/user/model.py", "line": 1,
            },
        },
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == [path]


def test_operators_of_a_record_name_those_of_a_plain_mapping(tmp_path):
    record = read(DATA / "etrecord" / "demo_str.etrecord")
    entries = record.methods[0].delegates[0].entries
    path = tmp_path / "map.json"
    write_debug_handle_map(
        path, DelegateInstance(entries, "BackendStrDemo"), nodes=record.operators
    )
    assert path.read_bytes() == (DATA / "debug_handle_map" / "demo_str.json").read_bytes()
    read_again = read(path).operators
    for operator, known in zip(read_again, record.operators, strict=True):
        assert (operator.debug_handle, operator.label) == (known.debug_handle, known.label)
        assert (operator.ops, operator.module_path) == (known.ops, known.module_path)
        assert (operator.source.path, operator.source.line) == (
            known.source.path, known.source.line,
        )  # fmt: skip


def test_an_instruction_is_no_negative_number(tmp_path):
    with pytest.raises(ValueError, match="None where it is not known"):
        write_debug_handle_map(tmp_path / "m.json", DelegateInstance({1: (1,)}, instruction=-1))


def test_a_file_without_an_instance_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="at least one DelegateInstance"):
        write_debug_handle_map(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_two_instances_of_one_call_are_refused(tmp_path):
    one = DelegateInstance({1: (1,)}, "A", instruction=3)
    with pytest.raises(ValueError, match="two delegate instances at instruction 3 of forward"):
        write_debug_handle_map(tmp_path / "m.json", one, one)
    any_call = DelegateInstance({1: (1,)}, "A")
    with pytest.raises(ValueError, match="of any call"):
        write_debug_handle_map(tmp_path / "m.json", any_call, any_call)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mapping", [{1.5: (1,)}, {True: (1,)}, {1: ("2",)}, {1: (-1,)}])
def test_a_mapping_that_is_none_leaves_the_file_as_it_was(mapping, tmp_path):
    path = tmp_path / "m.json"
    path.write_text("before")
    with pytest.raises((TypeError, ValueError)):
        write_debug_handle_map(path, DelegateInstance(mapping))
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
IDENTIFIERS = st.one_of(st.integers(-(2**63), 2**63 - 1), TEXTS)
MAPPINGS = st.dictionaries(IDENTIFIERS, st.lists(st.integers(0, 2**63 - 1)), max_size=6)


@pytest.mark.slow
@given(
    st.dictionaries(
        st.tuples(TEXTS, st.one_of(st.none(), st.integers(0, 2**31))), MAPPINGS, max_size=5,
        min_size=1,
    )
)  # fmt: skip
def test_what_is_written_is_read(tmp_path_factory, instances):
    path = tmp_path_factory.getbasetemp() / "any.json"
    write_debug_handle_map(
        path,
        *(DelegateInstance(m, "B", method, at) for (method, at), m in instances.items()),
    )
    program = read(path)
    assert program.problems == ()
    found = {
        (method.name, None if at < 0 else at): {
            key: list(handles) for key, handles in delegate.entries.items()
        }
        for method in program.methods
        for at, delegate in method.delegates.items()
    }
    assert found == instances
    for method in program.methods:
        own = [m for (name, _), m in instances.items() if name == method.name]
        named = {handle for m in own for handles in m.values() for handle in handles}
        assert {operator.debug_handle for operator in method.operators} == named
    assert [operator.index for operator in program.operators] == list(range(len(program.operators)))


@pytest.mark.filterwarnings("ignore")
def test_nodes_of_a_real_export_name_their_operators(tmp_path):
    """The edge program of a linear layer, where one debug handle is of two graph nodes."""
    torch = pytest.importorskip("torch", reason=NO_PEERS)
    exir = pytest.importorskip("executorch.exir", reason=NO_PEERS)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    edge = exir.to_edge(torch.export.export(model, (torch.ones(1, 4),)))
    nodes = list(edge.exported_program().graph_module.graph.nodes)
    builder = DelegateMappingBuilder()
    builder.insert_delegate_mapping_entry(nodes, "all")
    write_debug_handle_map(tmp_path / "m.json", DelegateInstance(builder, "B"))
    program = read(tmp_path / "m.json")
    assert [operator.label for operator in program.operators] == ["0 · linear", "1 · relu"]
    assert program.operators[0].ops == ("aten.permute_copy.default", "aten.addmm.default")
    assert list(program.methods[0].delegates[-1].entries.items()) == [("all", (1, 2))]
