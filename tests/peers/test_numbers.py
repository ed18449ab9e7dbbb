"""The gap of logged values, next to `Inspector.calculate_numeric_gap`.

Exports and runs models, so it needs the extra `peers`. The reference of both is what the ATen graph
computes, which the Inspector captures itself and Opscope takes as an .npz.
"""

import numpy as np
import pytest

from tests.builders.command_line import run
from tests.builders.workspaces import workspace_of
from viewer.analysis.numbers.compared import compared, paired_arrays
from viewer.analysis.numbers.logged_values import value_of
from viewer.codecs.tensor_values import TensorLayout
from viewer.formats.executorch.logged_profile import array_values, logged_profile
from viewer.formats.npz import NpzFile

torch = pytest.importorskip("torch")
pytest.importorskip("executorch.devtools")
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (  # noqa: E402
    XnnpackPartitioner,
)
from executorch.devtools import Inspector  # noqa: E402
from executorch.exir import to_edge_transform_and_lower  # noqa: E402
from torch import nn  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]
METRICS = {"MSE": "mse", "L1": "l1", "SNR": "snr"}


class Mixed(nn.Module):
    """Operators of several kernels, kernels of several results, a list of tensors."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.LayerNorm(8)
        self.fc1, self.fc2 = nn.Linear(8, 16), nn.Linear(16, 6)

    def forward(self, x):
        x = torch.relu(self.conv(x)).flatten(2).transpose(1, 2)
        x = torch.nn.functional.gelu(self.fc1(self.norm(x)))
        left, right = torch.split(self.fc2(x), 3, -1)
        return torch.softmax(left, -1) * right, torch.cumsum(right, 1)


class TwoResults(nn.Module):
    """A part that XNNPACK takes and that has two results; and a NaN."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 4)

    def forward(self, x):
        x = torch.sigmoid(self.first(x))
        y = self.second(x)
        return torch.cumsum(x, 0), torch.cumsum(y, 0), torch.log(torch.cumsum(y, 1))


MODELS = {
    "mixed": (Mixed, lambda: torch.randn(1, 3, 4, 4)),
    "two_results": (TwoResults, lambda: torch.randn(5, 6)),
}


def recorded(folder, name, partitioner):
    """Write NAME.etrecord, NAME.etdp, NAME.bin and NAME.npz; returns the official gaps."""
    made, inputs = MODELS[name]
    torch.manual_seed(0)
    x = (inputs(),)
    edge = to_edge_transform_and_lower(
        torch.export.export(made().eval(), x),
        partitioner=[partitioner()] if partitioner else None,
        generate_etrecord=True,
    )
    program = edge.to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs(x)
    paths = {
        end: str(folder / f"{name}.{end}") for end in ("etrecord", "pte", "etdp", "bin", "npz")
    }
    record.save(paths["etrecord"])
    (folder / f"{name}.pte").write_bytes(program.buffer)
    from executorch.extension.pybindings.portable_lib import _load_for_executorch  # warns

    loaded = _load_for_executorch(paths["pte"], enable_etdump=True, debug_buffer_size=1 << 16)
    loaded.forward(x)
    loaded.write_etdump_result_to_file(paths["etdp"], paths["bin"])
    inspector = Inspector(
        etdump_path=paths["etdp"], etrecord=paths["etrecord"], debug_buffer_path=paths["bin"]
    )
    graph, _ = inspector._resolve_reference_graph()
    outputs, _ = inspector._get_aot_intermediate_outputs_and_op_names(graph)
    np.savez(
        paths["npz"],
        **{
            ",".join(map(str, handles)): value.numpy()
            for handles, value in outputs.items()
            if isinstance(value, torch.Tensor)
        },
    )
    return {metric: inspector.calculate_numeric_gap(metric) for metric in METRICS}


@pytest.mark.parametrize("partitioner", [None, XnnpackPartitioner], ids=["portable", "xnnpack"])
@pytest.mark.parametrize("name", MODELS)
def test_mse_l1_and_snr_equal_those_of_the_inspector(name, partitioner, tmp_path, capsys):
    with torch.no_grad():
        official = recorded(tmp_path, name, partitioner)
    workspace = workspace_of(tmp_path / f"{name}.etrecord")
    trace = workspace.open(str(tmp_path / f"{name}.etdp"))
    profile = logged_profile(workspace.links(trace))
    (inference,) = profile.chosen(None)
    arrays = array_values(NpzFile(str(tmp_path / f"{name}.npz")))
    pairs, _ = paired_arrays(profile.side(inference), arrays)
    found = [one for one in compared(pairs, profile.table.program) if one.gap is not None]
    for metric, key in METRICS.items():
        frame = official[metric]
        wanted = [
            (tuple(sorted(handles)), gap)
            for handles, gaps in zip(frame["runtime_debug_handle"], frame["gap"], strict=True)
            for gap in gaps
        ]
        own = [(tuple(sorted(one.pair.handles)), getattr(one.gap, key)) for one in found]
        assert sorted(handles for handles, _ in own) == sorted(handles for handles, _ in wanted)
        for (handles, gap), (others, value) in zip(
            sorted(wanted, key=lambda row: row[0]), sorted(own, key=lambda row: row[0]), strict=True
        ):
            assert handles == others
            if not np.isfinite(gap):
                assert value is None
            else:
                assert value == pytest.approx(gap, rel=1e-6, abs=0), (metric, handles)

    code, out, err = run(
        capsys, "numbers", *(str(tmp_path / f"{name}.{end}") for end in ("etdp", "etrecord")),
        "--with", str(tmp_path / f"{name}.npz"),
    )  # fmt: skip
    assert code == 0, err
    assert f"{len(found)} values compared" in out


def test_metrics_are_printed_as_by_the_official_library(capsys):
    from executorch.devtools.inspector import compare_results

    from viewer.compat.inspector.answers import _metrics, metric_lines

    torch.manual_seed(1)
    references = [torch.randn(3, 40), torch.randn(70_000), torch.arange(6)]
    outputs = [references[0] * 1.1, references[1] + 0.3 * torch.randn(70_000), torch.arange(6)]
    compare_results(references, outputs)
    official = capsys.readouterr().out
    values = [[array_value(tensor.numpy()) for tensor in some] for some in (outputs, references)]
    assert "\n".join(metric_lines(_metrics("a.npz", *values))) + "\n" == official


def array_value(array):
    layout = TensorLayout({"float32": "f32", "int64": "i64"}[str(array.dtype)], array.shape)
    return value_of(layout, array.reshape(-1).view(np.uint8))
