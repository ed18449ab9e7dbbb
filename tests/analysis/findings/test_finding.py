"""On one thread, no figure per inference exceeds the inferences that it is of."""

import pytest

from tests.paths import DATA, ROOT
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.codecs.reading import UnreadableFile
from viewer.model.figures import STEADY
from viewer.workspace.workspace import Workspace

FILES = sorted([*DATA.rglob("*.etdp"), *(ROOT / "resources" / "samples").rglob("*.etdp")])


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_gain_exceeds_its_inference(path):
    workspace = Workspace()
    try:
        workspace.open(str(path))
    except UnreadableFile:
        pytest.skip("a damaged file")
    for trace in workspace.traces:
        table = workspace.links(trace)
        longest = max((run.end - run.start for run in trace.inferences()), default=0)
        for one in FindingsAnalysis(table).of(STEADY, workspace.clocks.ns_per_tick(trace)).found:
            assert 0 <= one.ticks <= one.whole or not one.whole
            if one.gain.is_per_inference:
                assert one.gain.stated <= longest
                assert one.whole <= longest * one.gain.per
