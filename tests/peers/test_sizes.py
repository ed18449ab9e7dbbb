"""The bytes of program files, next to the parameters of torch that were exported.

Exports models, so it needs the extra `peers`. Every parameter must be found under its own name,
with the operator and the module that use it, and its bytes in the file must be those of torch, in
the layout of the backend.
"""

import numpy as np
import pytest

from viewer.analysis.sizes.file_parts import ItemKind, file_parts
from viewer.analysis.sizes.groups import duplicates
from viewer.formats import open_file

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.exir")
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (  # noqa: E402
    XnnpackPartitioner,
)
from executorch.exir import (  # noqa: E402
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge_transform_and_lower,
)
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]


class Block(nn.Module):
    """Two layers of equal shapes, so that only names and nodes tell their parameters apart."""

    def __init__(self):
        super().__init__()
        self.one, self.two = (nn.Linear(12, 12) for _ in range(2))

    def forward(self, x):
        return self.two(torch.relu(self.one(x)))


class Model(nn.Module):
    """Convolutions, blocks, a norm, a tied layer, and a buffer that each inference updates."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.up = nn.ConvTranspose2d(12, 12, 2, stride=2, bias=False)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(12)
        self.head = nn.Linear(12, 5)
        self.register_buffer("seen", torch.arange(12.0))

    def forward(self, x):
        x = self.up(self.depthwise(torch.relu(self.stem(x)))).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x) + x
        self.seen.add_(x[0, 0])
        return self.head(self.norm(self.blocks[0].one(x))).sum(1) + self.seen[:5]


def exported(tmp_path, partitioners):
    torch.manual_seed(0)
    model = Model().eval()
    with torch.no_grad():
        made = to_edge_transform_and_lower(
            torch.export.export(model, (torch.randn(1, 3, 4, 4),)),
            partitioner=partitioners,
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            generate_etrecord=True,
        ).to_executorch(
            # Without this pass, export stores no initial states.
            ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(["seen"])])
        )
    (tmp_path / "model.pte").write_bytes(made.buffer)
    made.get_etrecord().save(str(tmp_path / "model.etrecord"))
    executable = open_file(str(tmp_path / "model.pte"))
    return model, file_parts(executable, open_file(str(tmp_path / "model.etrecord")))


@pytest.mark.parametrize("backend", ["portable", "xnnpack"])
def test_every_parameter_has_its_bytes_its_operator_and_its_module(backend, tmp_path):
    model, found = exported(tmp_path, [XnnpackPartitioner()] if backend == "xnnpack" else None)
    data = (tmp_path / "model.pte").read_bytes()
    assert sum(part.size for part in found.parts) == len(data)
    of_name = {name: part for part in found.parts for name in part.names}
    state = model.state_dict()
    assert set(state) <= set(of_name)
    for name, tensor in state.items():
        part = of_name[name]
        assert part.extent == part.size == tensor.nbytes, name
        stored = np.frombuffer(data[part.start : part.start + part.size], np.float32)
        assert sorted(stored.tolist()) == sorted(tensor.flatten().tolist()), name
        assert (stored == in_layout_of(part, tensor).flatten()).all(), name
        labels = {found.program.operators[i].label for i in part.operators}
        module = name.rpartition(".")[0]
        if not module:
            assert part.kind is ItemKind.STATE
            continue
        assert {label.partition(" · ")[0] for label in labels} == {module}, name
        assert found.tree.modules[part.module].path == module, name
    assert len(of_name["blocks.0.one.weight"].operators) == 2
    is_named = of_name["stem.weight"].kind is ItemKind.NAMED_DATA
    assert is_named == (backend == "xnnpack")


def in_layout_of(part, tensor):
    """The values of a parameter in the order in which the backend stores them."""
    values = tensor.numpy()
    if part.users == ("XNNConvTranspose2d",):
        return values.transpose(1, 2, 3, 0)
    if part.users == ("XNNDepthwiseConv2d",) and values.ndim == 4:
        return values.transpose(1, 2, 3, 0)
    return (
        values.transpose(0, 2, 3, 1)
        if part.users == ("XNNConv2d",) and values.ndim == 4
        else values
    )


class Twice(nn.Module):
    """Two tables with equal values under two names."""

    def __init__(self):
        super().__init__()
        self.one, self.two = (nn.Linear(16, 16, bias=False) for _ in range(2))
        self.two.weight.data.copy_(self.one.weight)

    def forward(self, x):
        return torch.cumsum(self.one(torch.sin(self.two(x))), 0) @ self.one.weight


def test_export_stores_equal_parameters_once_under_both_names(tmp_path):
    with torch.no_grad():
        made = to_edge_transform_and_lower(
            torch.export.export(Twice().eval(), (torch.randn(4, 16),)), generate_etrecord=True
        ).to_executorch()
    (tmp_path / "a.pte").write_bytes(made.buffer)
    made.get_etrecord().save(str(tmp_path / "a.etrecord"))
    program = open_file(str(tmp_path / "a.etrecord"))
    found = file_parts(open_file(str(tmp_path / "a.pte")), program)
    (weight,) = [part for part in found.parts if part.size == 1024]
    assert set(weight.names) == {"one.weight", "two.weight"}
    assert duplicates(found).groups == ()
