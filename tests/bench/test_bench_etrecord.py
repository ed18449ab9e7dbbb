"""How long a record of 3,200 nodes takes, next to ExecuTorch's own parser, and one with weights.

Prints only: `pytest tests/bench/test_bench_etrecord.py --benchmark-enable -s`. The part of the peer
needs torch and executorch (the `peers` extra); elsewhere it is skipped.
"""

from __future__ import annotations

import gc
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.builders.bench_sizes import rounds, size
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats.executorch.etrecord import reader as etrecord
from viewer.program.program import Program

pytestmark = pytest.mark.nightly

LAYERS = size(800, 50)
GRAPH_ID = 139_914_754_455_952
# One layer of `x = torch.relu(linear(x)) + x`: ATen call, edge operators, inputs, module.
LAYER = (
    ("linear", (("permute_copy.default", "permute_copy_default", ("weight",)),
                ("addmm.default", "addmm_default", ("bias", "x", "permute_copy_default")))),
    ("relu", (("relu.default", "relu_default", ("addmm_default",)),)),
    ("add", (("add.Tensor", "add_tensor", ("relu_default", "x")),)),
)  # fmt: skip


def read(path: Path) -> Program:
    return etrecord.FORMAT.read(str(path), no_progress, never_cancelled)


def program(edge: bool) -> dict:
    """What a 1.5 export writes for a chain of layers: 4 edge or 3 ATen nodes each."""
    nodes, values = [], {}
    specs = [
        {
            "parameter": {
                "arg": {"name": f"p_layers_{i}_{what}"},
                "parameter_name": f"layers.{i}.{what}",
            }
        }
        for i in range(LAYERS)
        for what in ("weight", "bias")
    ]
    last = "x"
    for i in range(LAYERS):
        place = f'  File "/home/user/models/models.py", line {20 + i}, in forward\n'
        trace = f"{place}    x = torch.relu(l(x)) + x\n           {'^' * 14}\n" * 2
        stack = (
            f"L__self__,,models.DeepMLP;{GRAPH_ID + i},layers.{i},torch.nn.modules.linear.Linear"
        )
        for call, members in LAYER:
            aten = f"{call}_{i}"
            source = [{"name": aten, "target": f"aten.{call}.default", "graph_id": GRAPH_ID + step,
                       "pass_name": "Interpreter_PropagateUnbackedSymInts", "action": "create"}
                      for step in (8, 0, 16, 24)]  # fmt: skip
            for outer, inner in pairwise(source):
                outer["from_node"] = [inner]
            for op, short, taken in members if edge else ((f"{call}.default", call, ("x",)),):
                name = f"aten_{short}_{i}" if edge else aten
                inputs = [_named(t, i, last) for t in taken]
                for value in (name, *inputs):
                    values.setdefault(value, _tensor())
                metadata = {"stack_trace": trace, "nn_module_stack": stack,
                            "torch_fn": f"{call}_1;builtin_function_or_method.{call}"}  # fmt: skip
                if edge:
                    metadata |= {
                        "debug_handle": str(3 * i + 1),
                        "from_node": json.dumps(source[:1]),
                    }
                prefix = "executorch.exir.dialects.edge.ops.aten" if edge else "torch.ops.aten"
                nodes.append({
                    "name": name, "target": f"{prefix}.{op}", "metadata": metadata,
                    "inputs": [{"name": "self", "arg": {"as_tensor": {"name": n}}} for n in inputs],
                    "outputs": [{"as_tensor": {"name": name}}],
                })  # fmt: skip
        last = f"aten_add_tensor_{i}"
    graph = {"nodes": nodes, "tensor_values": values, "inputs": [], "outputs": []}
    return {"graph_module": {"graph": graph, "signature": {"input_specs": specs}}}


def _named(what: str, layer: int, last: str) -> str:
    if what == "x":
        return last
    return f"p_layers_{layer}_{what}" if what in ("weight", "bias") else f"aten_{what}_{layer}"


def _tensor() -> dict:
    return {"dtype": 7, "sizes": [{"as_int": 1}, {"as_int": 8}], "requires_grad": True,
            "device": {"type": "cpu"}, "strides": [{"as_int": 8}, {"as_int": 1}],
            "storage_offset": {"as_int": 0}, "layout": 7}  # fmt: skip


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "deep.etrecord"
    handles = {str(i): 3 * (i // 4) + 1 for i in range(4 * LAYERS)}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ETRECORD_V0", "")
        archive.writestr("exported_program", json.dumps(program(edge=False)))
        archive.writestr("edge_dialect_exported_program/forward", json.dumps(program(edge=True)))
        archive.writestr("debug_handle_map", json.dumps({"forward": handles}))
        archive.writestr("delegate_map", '{"forward": {}}')
        archive.writestr("export_graph_id", str(GRAPH_ID))
    return path


def test_read_a_record_of_3200_nodes(benchmark, record):
    found = benchmark(read, record)
    nodes = [node for operator in found.operators for node in operator.nodes]
    assert (len(nodes), found.problems) == (4 * LAYERS, ())
    assert all(node.aten for node in nodes)
    print(f"\n{record.stat().st_size / 1e6:.1f} MB")


def test_floor_parse_its_json(benchmark, record):
    def parse() -> int:
        with zipfile.ZipFile(record) as archive:
            return sum(bool(json.loads(archive.read(n))) for n in archive.namelist()[1:])

    assert benchmark(parse) == 5


def test_read_a_member_of_90_mb_of_weights(benchmark, tmp_path):
    path, weights = tmp_path / "weights.etrecord", "Aa9+/zZ0" * (size(45_000_000, 4_000_000) // 8)
    lowered = {"backend_id": "XnnpackBackend", "processed_bytes": "AAAA",
               "original_module": program(edge=True), "original_state_dict": weights,
               "named_data_store": json.dumps({"buffers": [weights]})}  # fmt: skip
    argument = {"name": "lowered_module_0", "arg": {"as_string": json.dumps(lowered)}}
    target = "torch.ops.higher_order.executorch_call_delegate"
    call = {"name": "call", "target": target, "inputs": [argument], "outputs": [], "metadata": {}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ETRECORD_V0", "")
        archive.writestr(
            "edge_dialect_exported_program/forward",
            json.dumps({"graph_module": {"graph": {"nodes": [call], "tensor_values": {}}}}),
        )
        archive.writestr("debug_handle_map", '{"forward": {"0": [1, 1]}}')
    found = benchmark.pedantic(read, (path,), rounds=rounds(3))
    assert len(found.operators) == LAYERS
    tracemalloc.start()
    read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\n{path.stat().st_size / 1e6:.1f} MB on disk, {peak / 1e6:.1f} MB at most in memory")


# Importing torch and exporting with it warns of much that is not ours.
of_the_peer = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def peer_record(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same model, exported by the official tools; some 50 s."""
    torch = pytest.importorskip("torch", reason="the peers extra is not installed")
    exir = pytest.importorskip("executorch.exir", reason="the peers extra is not installed")

    class Deep(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(LAYERS))

        def forward(self, x):
            for layer in self.layers:
                x = torch.relu(layer(x)) + x
            return x

    path = tmp_path_factory.mktemp("bench") / "peer.etrecord"
    exported = torch.export.export(Deep().eval(), (torch.randn(1, 8),))
    edge = exir.to_edge(exported, generate_etrecord=True)
    edge.to_executorch().get_etrecord().save(str(path))
    gc.collect()
    gc.freeze()  # what torch keeps alive is not swept while either of the two is measured
    yield path
    gc.unfreeze()


@of_the_peer
def test_read_the_peers_record(benchmark, peer_record):
    found = benchmark(read, peer_record)
    assert sum(len(o.nodes) for o in found.operators) == 4 * LAYERS
    print(f"\n{peer_record.stat().st_size / 1e6:.1f} MB")


@of_the_peer
def test_the_peer_reads_its_record(benchmark, peer_record):
    devtools = pytest.importorskip("executorch.devtools", reason="the peers extra is not installed")
    found = benchmark.pedantic(devtools.parse_etrecord, (str(peer_record),), rounds=1)
    assert found.edge_dialect_program is not None
