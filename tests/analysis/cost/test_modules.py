"""Costs of modules: against a plain count over the slices, and that all of it is the whole."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from viewer.analysis.cost.costs import CostRow, Costs, CostTable
from viewer.analysis.cost.source_costs import module_costs, run_medians
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link
from viewer.formats import open_file
from viewer.model.figures import TimeScope
from viewer.model.trace import KeyKind, Run, RunKind, Trace
from viewer.model.warm_up import counted_inferences
from viewer.program import module_tree as program_module_tree
from viewer.program.module_tree import ModuleKind, module_tree
from viewer.program.program import GraphNode, Method, Operator, Program
from viewer.resources import SAMPLES
from viewer.workspace.workspace import Workspace

SAMPLE = {sample.key: sample for sample in SAMPLES}


def operator(index, chain, method="forward"):
    """An operator in the modules of a path: "a a.b"."""
    modules = tuple((path, f"lib.{path.upper()}") for path in chain.split())
    return Operator(index, method, index, (GraphNode(f"n{index}", "aten.add", index, (), modules),))


def program(*methods):
    return Program("p", "ETRecord", "", tuple(Method(name, ops) for name, ops in methods))


def tree_of(*chains):
    operators = tuple(operator(i, chain) for i, chain in enumerate(chains))
    return module_tree(program(("forward", operators)))


def names(tree):
    return [("  " * module.depth) + tree.name(i) for i, module in enumerate(tree.modules)]


# -- the tree ---------------------------------------------------------------------------------


def test_modules_stand_in_graph_order_below_those_that_they_lie_in():
    tree = tree_of("a a.x", "a", "b", "a a.y", "")
    assert names(tree)[:5] == ["forward", "  a", "    x", "    y", "  b"]
    assert names(tree)[5:] == ["  Operators without a module"]
    assert [module.operators for module in tree.modules] == [(), (1,), (0,), (3,), (2,), (4,)]
    assert tree.modules[1].type == "A"
    assert tree.operators_in(1) == (0, 1, 3)


def test_a_module_that_is_called_twice_is_one_module():
    tree = tree_of("a a.x", "b", "a a.x")
    assert names(tree) == ["forward", "  a", "    x", "  b"]
    assert tree.modules[2].operators == (0, 2)


def test_a_tree_without_modules_takes_one_look_at_every_operator(monkeypatch):
    """As for the 100,000 functions of a Python profile."""
    looks = []
    chain = program_module_tree._chain
    monkeypatch.setattr(program_module_tree, "_chain", lambda op: looks.append(op) or chain(op))
    assert names(tree_of(*[""] * 50)) == ["forward"]
    assert len(looks) <= 2 * 50


def test_the_outermost_module_is_the_methods_own():
    outer = GraphNode("n", "aten.add", 0, (), (("", "models.Net"), ("head", "nn.Linear")))
    tree = module_tree(program(("forward", (Operator(0, "forward", 0, (outer,)),))))
    assert names(tree) == ["forward", "  head"]
    assert [module.type for module in tree.modules] == ["Net", "Linear"]


def test_several_methods_are_below_the_model():
    tree = module_tree(
        program(("encode", (operator(0, "a", "encode"),)), ("decode", (operator(1, "", "decode"),)))
    )
    assert names(tree) == ["Model", "  encode", "    a", "  decode"]
    assert [module.kind for module in tree.modules[:2]] == [ModuleKind.MODEL, ModuleKind.METHOD]
    assert tree.common((0, 1)) == 0


def test_modules_may_be_nested_deeper_than_python_calls():
    chain = " ".join(".".join("m" * (depth + 1)) for depth in range(1500))
    tree = tree_of(chain, "m")
    assert len(tree.modules) == 1501
    assert tree.common((0, 1)) == 1


def test_a_record_that_places_nothing_says_so():
    assert not tree_of("", "").is_stated
    assert tree_of("", "a").is_stated


# -- what is charged where --------------------------------------------------------------------


def test_sets_are_charged_to_the_deepest_module_around_them():
    tree = tree_of("a a.x", "a a.x", "a a.y", "b")
    rows = (
        CostRow((0,), 100, 100, 0, 1, (0,)),
        CostRow((0, 1), 40, 40, 0, 2, (0, 1)),  # both in a.x: its own
        CostRow((0, 2), 20, 20, 0, 1, (0, 2)),  # a.x and a.y: shared in a
        CostRow((2, 3), 7, 7, 0, 1, (2, 3)),  # a.y and b: shared in the method
    )
    table = CostTable(rows, 33, rows)
    costs = module_costs(tree, table)
    forward, a, x, y, b = range(5)
    assert names(tree) == ["forward", "  a", "    x", "    y", "  b"]
    assert costs.self_ticks.tolist() == [0, 0, 140, 0, 0]
    assert costs.shared.tolist() == [7, 20, 0, 0, 0]
    assert costs.total.tolist() == [167, 160, 140, 0, 0]
    assert costs.slices.tolist() == [5, 4, 3, 0, 0]
    assert costs.outside[[forward, a, x, y, b]].tolist() == [0, 7, 20, 27, 7]
    assert costs.total[0] + table.without_operator == table.whole == 200
    assert [row.operators for row in costs.sets[x]] == [(0, 1)]
    assert not costs.is_across(x, costs.sets[x][0])
    assert costs.is_across(a, costs.sets[a][0])
    assert costs.in_sets == {0: 60, 1: 40, 2: 27, 3: 7}


# -- real files -------------------------------------------------------------------------------


def files(data, name):
    """Profile and record of a real pair, by a short name."""
    if name in SAMPLE:
        return SAMPLE[name].paths()
    dump, record = name.split(" ")
    return [str(data / dump), str(data / record)]


PAIRS = [
    "attention_xnnpack",
    "delegate_handle_map",
    "plain_csv",
    "torq_npu",
    "etdump/cnn_portable_x10.etdp etrecord/cnn_toedge_portable.etrecord",
    "etdump/cond_nested_portable_x4.etdp etrecord/cond_nested_toedge_portable.etrecord",
    "etdump/multi_encode_decode_portable_x3.etdp "
    "etrecord/multi_encode_decode_toedge_portable.etrecord",
    "etdump/attn_portable_x5.etdp etrecord/0.6.0/attn_portable.etrecord",
    "torq/compile_c0_callsite.csv torq/tiny_cnn.mlir",
]


@pytest.fixture(params=PAIRS)
def linked(request, data):
    """Every linked trace of a pair."""
    space = Workspace()
    for path in files(data, request.param):
        space.add(open_file(path))
    return [space.links(trace) for trace in space.traces]


def brute_force(table: LinkTable, first: int, last: int, track: int | None):
    """Ticks by module path, and of no module, by walking every tick boundary of every lane.

    Nothing of the program's own arithmetic: per lane the innermost linked slice at each instant.
    Sets over several paths are charged to the common beginning of the paths.
    """
    trace: Trace = table.trace
    slices = trace.slices
    native = slices.columns.get("native_dur")
    spans: dict[tuple[int, int], list[tuple[int, int, int, tuple[int, ...]]]] = {}
    stated = {
        int(slices.key[i]) for i in range(len(slices)) if not _made_of_others(slices, i)
    }  # fmt: skip
    for i in range(len(slices)):
        if native is not None and (native.valid is None or native.valid[i]):
            continue
        row = slices.row_of(i)
        operators = table.links[int(slices.key[i])].operators
        if not operators or int(slices.key[i]) not in stated:
            continue
        at = int(slices.row_track[row])
        if track is not None and at != track:
            continue
        lane = at, int(slices.row_lane[row])
        depth = int(slices.row_depth[row])
        start, end = int(slices.start[i]), int(slices.end[i])
        spans.setdefault(lane, []).append((depth, start, end, tuple(sorted(operators))))
    covered: dict[tuple[tuple[int, int], tuple[int, ...]], list[tuple[int, int]]] = {}
    for lane, own in spans.items():
        edges = sorted({t for _, start, end, _ in own for t in (start, end)} | {first, last})
        inside = [edge for edge in edges if first <= edge <= last]
        starts = sorted(own, key=lambda span: span[1])
        active: list[tuple[int, int, int, tuple[int, ...]]] = []
        upcoming = 0
        for a, b in pairwise(inside):
            while upcoming < len(starts) and starts[upcoming][1] <= a:
                active.append(starts[upcoming])
                upcoming += 1
            active = [span for span in active if span[2] > a]
            if active:
                covered.setdefault((lane, max(active)[3]), []).append((a, b))
    cost: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for (_, operators), parts in covered.items():
        reach, ticks = first, 0
        for a, b in sorted(parts):
            ticks += max(b - max(a, reach), 0)
            reach = max(reach, b)
        cost[_common_path(table.program, operators)] += ticks
    return cost


def _made_of_others(slices, i):
    return slices.derived is not None and not slices.derived.all() and bool(slices.derived[i])


def _common_path(program, operators):
    """(method or "", the paths around all of some operators), by comparing them as texts."""
    chains = []
    for i in operators:
        found = program.operators[i]
        chain = next((n.modules for n in found.nodes if n.modules), None)
        of_method = [o for o in program.operators if o.method == found.method]
        anyone = any(n.modules for o in of_method for n in o.nodes)
        alone = ("?",) if anyone else ()
        paths = alone if chain is None else tuple(path for path, _ in chain if path)
        chains.append((found.method, *paths))
    shared = chains[0]
    for chain in chains[1:]:
        shared = tuple(a for k, a in enumerate(shared) if chain[: k + 1] == shared[: k + 1])
    if not shared:
        return "", ()
    return shared[0], shared[1:]


def path_of(tree, number):
    module = tree.modules[number]
    around = [n for n in reversed(list(tree.around(number))) if tree.modules[n].path]
    paths = tuple(tree.modules[n].path for n in around)
    return module.method, (*paths, "?") if module.kind is ModuleKind.UNPLACED else paths


def scopes_of(trace):
    """Every run, the whole, and random ranges."""
    rng = np.random.default_rng(11)
    yield TimeScope(ticks=(trace.start, trace.end))
    for run in trace.runs[:12]:
        yield TimeScope(run)
    for a, b in rng.integers(trace.start, max(trace.end, trace.start + 1), (8, 2)).tolist():
        yield TimeScope(ticks=(min(a, b), max(a, b)))


def test_modules_cost_what_a_plain_count_over_the_slices_finds(linked):
    for table in linked:
        tree, costs = module_tree(table.program), Costs(table)
        for scope in scopes_of(table.trace):
            found = module_costs(tree, costs.table(scope))
            plain = brute_force(table, *scope.span)
            direct = found.self_ticks + found.shared
            assert {
                path_of(tree, n): int(ticks) for n, ticks in enumerate(direct.tolist()) if ticks
            } == {path: ticks for path, ticks in plain.items() if ticks}
            for number in range(len(tree.modules)):
                method, paths = path_of(tree, number)
                below = [
                    ticks for (other, inside), ticks in plain.items()
                    if not method or (other == method and inside[: len(paths)] == paths)
                ]  # fmt: skip
                assert found.total[number] == sum(below)


def test_all_modules_and_the_rest_are_the_whole(linked):
    for table in linked:
        tree, costs = module_tree(table.program), Costs(table)
        for scope in scopes_of(table.trace):
            made = costs.table(scope)
            found = module_costs(tree, made)
            assert found.whole == int(found.wall[0]) + made.without_operator == made.whole
            assert int(found.wall[0]) == made.single + made.shared
            assert int(found.total[0]) == sum(row.ticks for row in made.rows)
            assert int(found.slices[0]) == sum(row.slices for row in made.rows)
            charged = [*found.single.values(), *(r for rows in found.sets for r in rows)]
            figures = Counter[tuple[int, ...]]()
            for row in charged:
                figures[row.operators] += row.ticks
            assert figures == {row.operators: row.ticks for row in made.rows}


def test_medians_are_those_of_the_tables_of_the_runs(linked):
    for table in linked:
        tree, costs = module_tree(table.program), Costs(table)
        runs = counted_inferences(table.trace, warm_up=False)
        found = run_medians(tree, table, costs)
        assert found.runs == len(runs)
        if len(runs) < 2:
            assert found.why
            assert np.isnan(found.modules).all()
            continue
        for number, module in enumerate(tree.modules):
            alone = len(table.program.methods) == 1
            of_method = [
                run for run in runs if alone or table.method_of_scope(run.scope) == module.method
            ]
            if not of_method:
                assert np.isnan(found.modules[number])
                continue
            totals = [module_costs(tree, costs.of_run(run)).total[number] for run in of_method]
            assert found.modules[number] == np.median(totals)


def test_medians_leave_out_inferences_that_did_not_finish(data):
    """The first of three failed after 104 µs, the others took 11 and 6 µs."""
    trace = open_file(str(data / "etdump/words_failing_x3.etdp"))
    record = open_file(str(data / "etrecord/words_toedge_portable.etrecord"))
    table = link(trace, record)
    tree = module_tree(record)
    found = run_medians(tree, table, Costs(table))
    assert found.runs == 2
    assert found.modules[0] < 15_000


def test_the_ticks_of_runs_are_those_of_their_tables_wherever_they_begin(linked):
    for table in linked:
        trace, costs = table.trace, Costs(table)
        runs = [
            Run(RunKind.INFERENCE, 1, "", at, 0, first, last)
            for first, last, track in (scope.span for scope in scopes_of(trace))
            for at in (range(len(trace.tracks)) if track is None else (track,))
        ]
        for run, own in zip(runs, costs.ticks_of_node_sets(runs).tolist(), strict=True):
            rows = {row.nodes: row.ticks for row in costs.of_run(run).by_nodes if row.ticks}
            assert {s: t for s, t in zip(table.node_sets, own, strict=True) if t} == rows


def test_rows_of_nodes_add_up_to_those_of_their_operators(linked):
    for table in linked:
        made = Costs(table).table()
        for row in made.rows:
            own = [part for part in made.by_nodes if part.operators == row.operators]
            assert sum(part.ticks for part in own) == row.ticks
            assert sum(part.kernel for part in own) == row.kernel
            assert sum(part.slices for part in own) == row.slices


def test_the_slices_of_a_row_are_those_that_it_counts(linked):
    for table in linked:
        costs = Costs(table)
        for run in (None, *table.trace.runs[:6]):
            made = costs.table() if run is None else costs.of_run(run)
            for row in made.rows:
                slices = costs.slices_of({row.operators}, TimeScope(run))
                assert len(slices) == row.slices
                for i in slices.tolist():
                    operators = table.links[int(table.trace.slices.key[i])].operators
                    assert tuple(sorted(operators)) == row.operators
            every = costs.slices_of([row.operators for row in made.rows], TimeScope(run))
            assert len(every) == sum(row.slices for row in made.rows)


def test_the_attention_sample_is_cut_as_its_operators_are(data):
    space = Workspace()
    for path in SAMPLE["attention_xnnpack"].paths():
        space.add(open_file(path))
    table = space.links(space.traces[0])
    tree = module_tree(table.program)
    run = list(table.trace.inferences())[1]
    made = Costs(table).of_run(run)
    found = module_costs(tree, made)
    assert made.whole == 55212
    assert names(tree)[:5] == ["forward", "  blocks.0", "    ln1", "    qkv", "    proj"]
    assert int(found.total[0]) == 55212 - 4214
    calls = np.isin(table.trace.keys.kind, (KeyKind.DELEGATE_CALL,))
    assert calls.any()
    # A delegate's call of several modules is theirs together.
    assert int(found.shared.sum()) + int(found.self_ticks.sum()) == made.single + made.shared


def test_a_text_has_no_modules_and_all_of_it_is_the_methods(data):
    space = Workspace()
    for name in ("torq/compile_c0_callsite.csv", "torq/tiny_cnn.mlir"):
        space.add(open_file(str(data / name)))
    table = space.links(space.traces[0])
    tree = module_tree(table.program)
    assert not tree.is_stated
    assert all(module.kind is not ModuleKind.MODULE for module in tree.modules)
    made = Costs(table).table()
    assert int(module_costs(tree, made).wall[0]) + made.without_operator == made.whole
