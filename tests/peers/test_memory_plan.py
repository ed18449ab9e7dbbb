"""Bytes in use at each instruction, next to the planning data of ExecuTorch's own export.

Exports models, so it needs the extra `peers`. A TensorSpec of the exported graph has its memory,
offset, bytes (without alignment), and the first and last node that uses it. The union of these at
the node of an instruction is what the plan must show there.
"""

import operator

import pytest

from viewer.analysis.memory.plan import memory_plan
from viewer.formats import open_file

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.exir")
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (  # noqa: E402
    XnnpackPartitioner,
)
from executorch.exir import memory, to_edge_transform_and_lower  # noqa: E402
from executorch.exir.memory_planning import collect_specs_from_nodes  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]


class Attention(nn.Module):
    """A convolution, views and self-attention."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.LayerNorm(16)
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        x = self.stem(x)
        x = (x + torch.relu(x)).flatten(2).transpose(1, 2)
        x = self.norm(x)
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) / 4, -1)
        return (weights @ self.v(x)).mean(1)


class Cache(nn.Module):
    """Two buffers that each inference updates, as a key-value cache."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 8)
        self.register_buffer("keys", torch.zeros(4, 8))
        self.register_buffer("sums", torch.zeros(8))

    def forward(self, x, at):
        self.keys.index_copy_(0, at, self.project(x))
        self.sums.add_(x[0])
        return self.keys @ self.sums


class Recurrent(nn.Module):
    """A GRU: many kernels behind one operator."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 6, 2, batch_first=True)

    def forward(self, x):
        out, state = self.gru(x)
        return out * 2, state


class Dynamic(nn.Module):
    """A dynamic first dimension: views are made while the model runs."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        y = torch.relu(self.linear(x)).reshape(x.shape[0] * 2, 3)
        return torch.cat([y, y * 2], 0).sum(0)


class Partitions(nn.Module):
    """Operators that XNNPACK takes and others, in turn, with several results."""

    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Conv2d(2, 2, 3, padding=1) for _ in range(2))

    def forward(self, x):
        x = torch.cumsum(torch.relu(self.first(x)), 1)
        left, right = torch.split(torch.sin(self.second(x)), 1, 1)
        values, places = torch.topk(torch.cat([right, left], 1).mean((2, 3)), 2)
        return values * 2, places


MODELS = {
    "attention": (Attention, lambda: (torch.randn(1, 3, 8, 8),), None),
    "cache": (Cache, lambda: (torch.randn(1, 8), torch.tensor([2])), None),
    "recurrent": (Recurrent, lambda: (torch.randn(1, 5, 4),), None),
    "dynamic": (Dynamic, lambda: (torch.randn(4, 6),), {"x": {0: torch.export.Dim("n", max=8)}}),
    "partitions": (Partitions, lambda: (torch.randn(1, 2, 8, 8),), None),
}


@pytest.mark.parametrize("partitioner", [None, XnnpackPartitioner], ids=["portable", "xnnpack"])
@pytest.mark.parametrize("name", MODELS)
def test_bytes_in_use_equal_those_of_the_export_at_every_instruction(name, partitioner, tmp_path):
    made, inputs, shapes = MODELS[name]
    with torch.no_grad():
        torch.manual_seed(0)
        exported = torch.export.export(made().eval(), inputs(), dynamic_shapes=shapes)
        partitioners = [partitioner()] if partitioner else None
        program = to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch()
    path = tmp_path / f"{name}.pte"
    path.write_bytes(program.buffer)
    (method,) = open_file(str(path)).methods
    assert memory_plan(method).live.tolist() == planned_by_export(program.exported_program())


def planned_by_export(exported):
    """The bytes in use at every node that becomes an instruction."""
    nodes = list(exported.graph_module.graph.nodes)
    specs = [
        spec
        for spec in collect_specs_from_nodes(
            nodes, exported.graph_signature, ignore_out_var_node=False, do_assertion=False
        )
        if spec.mem_offset is not None
    ]
    return [
        covered(
            (spec.mem_id, spec.mem_offset, spec.mem_offset + spec.nbytes())
            for spec in specs
            if spec.lifetime[0] <= number <= spec.lifetime[1]
        )
        for number, node in enumerate(nodes)
        if becomes_an_instruction(node)
    ]


def becomes_an_instruction(node):
    if node.op != "call_function" or node.target in (memory.alloc, memory.free, operator.getitem):
        return False
    return node.target is not memory.view or not node.meta["spec"].is_static_shape_tensor


def covered(extents):
    """The bytes that extents of (memory, start, end) cover together."""
    total, reached = 0, {}
    for memory_id, start, end in sorted(extents):
        since = max(start, reached.get(memory_id, 0))
        total += max(end - since, 0)
        reached[memory_id] = max(end, since)
    return total
