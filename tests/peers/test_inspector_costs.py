"""From the line to its cost on real dumps, beside what the official Inspector says of each event.

The files of tests/data/inspector_events hold of every event of the Inspector of ExecuTorch 1.5.1
its name, debug handles, raw times in ns (one a run) and the last lines of models.py in its stack
traces. Where a whole operator runs as one call, its kernel inside is not counted beside it.
"""

import json
from collections import Counter

import pytest

from tests.paths import ROOT
from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.source_costs import line_costs, lines_text, module_costs
from viewer.analysis.links.linker import link
from viewer.formats import open_file
from viewer.program.module_tree import module_tree

pytestmark = pytest.mark.slow

DATA = ROOT / "tests" / "data"
RECORDS = DATA / "etrecord", ROOT / "resources" / "samples" / "attention_xnnpack"
PAIRS = [
    ("attn_portable_x5", "attn_toedge_portable"),
    ("attn_xnnpack_x5", "attn_teal_xnnpack"),
]


class Pair:
    """A dump linked to its record, and the Inspector's answer of it."""

    def __init__(self, dump, record):
        self.trace = open_file(str(DATA / "etdump" / f"{dump}.etdp"))
        paths = [folder / f"{record}.etrecord" for folder in RECORDS]
        self.program = open_file(str(next(path for path in paths if path.exists())))
        self.table = link(self.trace, self.program)
        self.costs = Costs(self.table)
        text = (DATA / "inspector_events" / f"{dump}__{record}.json").read_text()
        self.events = [(e[0], tuple(e[1]), e[2], tuple(e[3])) for e in json.loads(text)]

    @property
    def calls(self):
        """The Inspector's events of calls: what a run is made of."""
        return [e for e in self.events if e[0] in ("OPERATOR_CALL", "DELEGATE_CALL")]

    def executes(self, run=None):
        (times,) = [times for name, _, times, _ in self.events if name == "Method::execute"]
        return sum(times) if run is None else times[run]

    def handles(self, operators):
        return tuple(sorted(self.program.operators[i].debug_handle for i in operators))

    def path(self):
        return next(o.source.path for o in self.program.operators if o.source)


@pytest.fixture(scope="module", params=PAIRS, ids=lambda pair: pair[0])
def pair(request):
    return Pair(*request.param)


def ticks_by(events, part, run=None):
    """handles or lines -> the Inspector's time, of one run or of all."""
    found = Counter()
    for event in events:
        found[event[part]] += sum(event[2]) if run is None else event[2][run]
    return {key: ticks for key, ticks in found.items() if key and ticks}


@pytest.mark.parametrize("run", [None, 0, 3])
def test_what_a_set_of_operators_costs_is_its_calls(pair, run):
    runs = list(pair.trace.inferences())
    table = pair.costs.table() if run is None else pair.costs.of_run(runs[run])
    found = {pair.handles(row.operators): row.ticks for row in table.rows if row.ticks}
    assert found == ticks_by(pair.calls, 1, run)
    assert table.whole == pair.executes(run)


@pytest.mark.parametrize("run", [None, 1])
def test_kernel_times_are_the_inspectors(pair, run):
    runs = list(pair.trace.inferences())
    table = pair.costs.table() if run is None else pair.costs.of_run(runs[run])
    kernels = [e for e in pair.events if e[0].startswith("native_call_")]
    found = {pair.handles(row.operators): row.kernel for row in table.rows if row.kernel}
    assert found == ticks_by(kernels, 1, run)


@pytest.mark.parametrize("run", [None, 2])
def test_lines_what_they_share_and_the_rest_are_method_execute(pair, run):
    runs = list(pair.trace.inferences())
    table = pair.costs.table() if run is None else pair.costs.of_run(runs[run])
    costs = line_costs(pair.program, table, pair.path())
    by_lines = ticks_by(pair.calls, 3, run)
    own = {line: cost.ticks for line, cost in costs.self_costs.items() if cost.ticks}
    shared = {cost.lines: cost.ticks for cost in costs.shared if cost.ticks}
    assert own == {lines[0]: t for lines, t in by_lines.items() if len(lines) == 1}
    assert shared == {lines: t for lines, t in by_lines.items() if len(lines) > 1}
    executes = pair.executes(run)
    assert sum(own.values()) + sum(shared.values()) + table.without_operator == executes


@pytest.mark.parametrize("run", [None, 4])
def test_modules_and_the_rest_are_method_execute(pair, run):
    runs = list(pair.trace.inferences())
    table = pair.costs.table() if run is None else pair.costs.of_run(runs[run])
    found = module_costs(module_tree(pair.program), table)
    assert int(
        found.self_ticks.sum() + found.shared.sum()
    ) + table.without_operator == pair.executes(run)
    assert int(found.total[0]) == sum(ticks_by(pair.calls, 1, run).values())


@pytest.mark.parametrize("run", [None, 2])
def test_kernels_of_a_module_are_what_find_total_for_module_sums(pair, run):
    runs = list(pair.trace.inferences())
    table = pair.costs.table() if run is None else pair.costs.of_run(runs[run])
    tree = module_tree(pair.program)
    costs = module_costs(tree, table)
    kernels = [e for e in pair.events if e[0].startswith("native_call_")]
    ticks = ticks_by(kernels, 1, run)
    for number in range(len(tree.modules)):
        inside = {pair.program.operators[i].debug_handle for i in tree.operators_in(number)}
        expected = sum(t for handles, t in ticks.items() if inside.issuperset(handles))
        assert int(costs.kernel[number]) == expected


def test_a_delegate_without_a_map_says_what_lines_share():
    """XNNPACK links no event of its own, so a call of it is shared by all lines in it."""
    pair = Pair(*PAIRS[1])
    second = list(pair.trace.inferences())[1]
    costs = line_costs(pair.program, pair.costs.of_run(second), pair.path())
    # By hand, of the calls in the second run: 2,774 + 2,313; 4,517 + 4,056; 4,857 + 4,597;
    # 2,674 + 2,554.
    assert [(lines_text(s.lines), s.ticks) for s in costs.shared] == [
        ("52–53", 9454), ("51–52", 8573), ("33, 54", 5228), ("49–50, 52", 5087),
    ]  # fmt: skip
