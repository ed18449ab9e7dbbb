"""What slices are colored by: the class of every slice, compared with one worked out by hand."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.paths import DATA
from viewer.analysis.cost.costs import Costs
from viewer.formats import open_file
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.queries import foreign, run_of_slices, self_time
from viewer.model.trace import KeyKind
from viewer.render.color_schemes import (
    GAPS,
    NO_LENGTH,
    NOT_LINKED,
    NOTHING_TO_LINK,
    OTHER_CLOCK,
    OWN_KERNELS,
    SCHEMES,
    SCOPES,
    TOP_LEVEL,
    LengthRange,
    classes_of,
    lengths_of,
    operator_colors,
    scheme_for,
    why_not,
)
from viewer.render.color_shares import Counted, shares
from viewer.render.palette import (
    FRAME,
    KERNELS,
    OPERATORS,
    PLAIN,
    RAMP,
    RAMP_STEPS,
    SLAB,
    UNATTRIBUTED,
    UNLINKED,
)
from viewer.resources import SAMPLES
from viewer.view.open_trace import color_classes, palette_of, ramp_of, scheme_key
from viewer.workspace.workspace import Workspace

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}
IDS = [scheme.id for scheme in SCHEMES]


def traces_of(opened, key):
    return opened(*_PATHS[key]).traces


def names(shown, scheme):
    """Per slice the title of its class."""
    classes = color_classes(shown, scheme)
    return [classes.titles[i] for i in classes.of(shown.trace).tolist()]


def slow_title(shown, scheme, i):
    """The class of one slice, told from its link alone, as a reader of the README would."""
    trace, link = shown.trace, shown.link(i)
    key = int(trace.slices.key[i])
    kind = KeyKind(int(trace.keys.kind[key]))
    if kind is KeyKind.FRAMEWORK:
        return SCOPES
    if kind is KeyKind.UNATTRIBUTED:
        return GAPS
    state = link.reason.state.name
    members = shown.table.operators(key)
    if scheme == "links":
        if members:
            return "Linked to one" if len(members) == 1 else "Linked to several operators"
        if state == "NOT_LINKABLE":
            return "Nothing to link"
        return "Not linked, but its call is" if link.near else NOT_LINKED
    if scheme == "delegate":
        if kind in (KeyKind.DELEGATE_CALL, KeyKind.DELEGATE_EVENT):
            return link.backend or "Delegate without a name"
        is_kernel = kind in (KeyKind.KERNEL, KeyKind.OPERATOR_CALL)
        return OWN_KERNELS if is_kernel else "No delegate or operator"
    of = {"type": lambda op: op.op, "module": lambda op: op.module_path or TOP_LEVEL}[scheme]
    values = {of(op) for op in members}
    if len(values) == 1:
        return values.pop()
    if values:
        return f"Shared by several {scheme}s"
    return NOTHING_TO_LINK if state == "NOT_LINKABLE" else NOT_LINKED


@pytest.mark.parametrize("key", list(_PATHS))
@pytest.mark.parametrize("scheme", ["type", "module", "delegate", "links"])
def test_every_slice_has_the_class_that_its_link_tells(opened, key, scheme):
    for shown in traces_of(opened, key):
        if scheme in shown.barred:
            continue
        expected = [slow_title(shown, scheme, i) for i in range(len(shown.trace.slices))]
        assert names(shown, scheme) == expected


@pytest.mark.parametrize("key", list(_PATHS))
def test_by_operator_single_ones_take_turns_and_the_rest_is_gray(opened, key):
    for shown in traces_of(opened, key):
        palette = palette_of(shown, "operator").tolist()
        kinds = shown.trace.keys.kind[shown.trace.slices.key].tolist()
        own = shown.operator_colors("operator").tolist()
        turns = shown.turns.get("operator", {})
        # The most expensive ones differ (tests/view/test_color_turns.py); the others are in turn.
        changed = [i for i, color in enumerate(own) if color != i % OPERATORS]
        assert len(changed) == len(turns) <= 10
        for i, (color, kind) in enumerate(zip(palette, kinds, strict=True)):
            link = shown.link(i)
            if len(link.operators) == 1:
                twin = KERNELS if kind == KeyKind.KERNEL else 0
                assert color == own[link.operators[0]] + twin
            elif link.operators:
                assert color == SLAB
            elif kind == KeyKind.FRAMEWORK:
                assert color == FRAME
            elif kind == KeyKind.UNATTRIBUTED:
                assert color == UNATTRIBUTED
            else:
                assert color == (UNLINKED if link.reason.state.name == "UNLINKED" else PLAIN)


@pytest.mark.parametrize("key", list(_PATHS))
def test_a_duration_lies_in_the_step_that_the_legend_gives(opened, key):
    for shown in traces_of(opened, key):
        palette = palette_of(shown, "duration").tolist()
        titles = names(shown, "duration")
        starts = ramp_of([shown]).steps()
        rate = shown.axis.ns_per_tick
        for i, (color, title) in enumerate(zip(palette, titles, strict=True)):
            ns = int(shown.trace.slices.end[i] - shown.trace.slices.start[i]) * rate
            if title in (SCOPES, GAPS, OTHER_CLOCK):
                continue
            if ns == 0:
                assert (title, color) == (NO_LENGTH, PLAIN)
                continue
            step = max(k for k, start in enumerate(starts) if start <= ns)
            assert color == RAMP + step
        assert len(starts) == RAMP_STEPS


def test_the_ramp_runs_over_all_that_is_open():
    rate = Fraction(5, 4)
    trace = open_file(str(_PATHS["attention_xnnpack"][0]))
    table = Workspace()
    table.add(trace)
    lengths = lengths_of(trace).times(rate)
    wide = LengthRange(lengths.least / 100, lengths.most * 100)
    own = classes_of("duration", table.links(trace), lengths, rate).of(trace)
    among = classes_of("duration", table.links(trace), wide, rate).of(trace)
    measured = own < RAMP_STEPS
    assert own[measured].min() == 0
    assert own[measured].max() == RAMP_STEPS - 1
    assert 0 < among[measured].min() <= among[measured].max() < RAMP_STEPS - 1


def test_equal_lengths_are_one_step_and_steps_are_what_their_texts_say():
    assert LengthRange(Fraction(7), Fraction(7)).steps() == (7,)
    assert LengthRange(Fraction(10**9), Fraction(10**9 + 1)).steps() == (10**9,)
    steps = LengthRange(Fraction(40), Fraction(25_341)).steps()
    assert [float(s) for s in steps] == [40, 100, 250, 640, 1600, 4000, 10000]


@pytest.mark.parametrize("key", list(_PATHS))
@pytest.mark.parametrize("scheme", IDS)
def test_a_call_and_its_operator_have_one_color(opened, key, scheme):
    """Swatches and slices: the same palette index wherever a class is of one operator."""
    if scheme not in ("operator", "type", "module"):
        return
    for shown in traces_of(opened, key):
        if scheme in shown.barred:
            continue
        swatches = shown.operator_colors(scheme)
        palette = palette_of(shown, scheme)
        for i in range(len(palette)):
            operators = shown.link(i).operators
            if len(operators) == 1:
                assert palette[i] % KERNELS == swatches[operators[0]]


def test_colors_are_the_same_in_another_file_and_after_opening_again(opened):
    """The same model, as XNNPACK and as portable kernels ran it; and the same dump once more."""

    def colors(shown, scheme):
        classes = color_classes(shown, scheme)
        return dict(zip(classes.titles, classes.color.tolist(), strict=True))

    first = traces_of(opened, "attention_xnnpack")[0]
    together = opened(*_PATHS["delegate_handle_map"], *_PATHS["attention_xnnpack"]).traces
    again = next(t for t in together if t.file.path == first.file.path)
    other = next(t for t in together if t is not again)
    for scheme in IDS:
        assert scheme_key(first, scheme) == scheme_key(again, scheme)
        assert (palette_of(first, scheme) == palette_of(again, scheme)).all()
    for scheme in ("name", "type", "delegate", "links"):
        here, there = colors(again, scheme), colors(other, scheme)
        assert {t: here[t] for t in here.keys() & there} == {
            t: there[t] for t in here.keys() & there
        }


def test_types_of_one_family_share_a_color_and_common_families_differ(opened):
    shown = traces_of(opened, "attention_xnnpack")[0]
    colors = dict(zip([o.op for o in shown.table.program.operators],
                       operator_colors("type", shown.table).tolist(), strict=True))  # fmt: skip
    assert colors["view"] == colors["transpose"] == colors["chunk"]
    apart = ["linear", "layer_norm", "gelu", "view", "scaled_dot_product_attention", "add"]
    assert len({colors[op] for op in apart}) == len(apart)
    torq = next(t for t in traces_of(opened, "torq_npu") if t.table.program is not None)
    ops = [o.op for o in torq.table.program.operators]
    assert operator_colors("type", torq.table)[ops.index("tosa.conv2d")] == 0  # as "convolution"


def test_an_operator_that_ran_in_a_delegate_and_as_a_kernel_is_neither(opened):
    shown = traces_of(opened, "attention_xnnpack")[0]
    found = dict(zip([o.label for o in shown.table.program.operators],
                     shown.operator_colors("delegate").tolist(), strict=True))  # fmt: skip
    colors = color_classes(shown, "delegate")
    of = dict(zip(colors.titles, colors.color.tolist(), strict=True))
    assert found["blocks.0.qkv · linear"] == of["XnnpackBackend"]
    assert found["blocks.0.ln1 · layer_norm"] == of[OWN_KERNELS]
    assert found["blocks.0 · scaled_dot_product_attention"] == SLAB


def test_what_a_file_cannot_be_colored_by_is_said_and_names_stand_in(opened):
    alone = opened(_PATHS["attention_xnnpack"][0]).traces[0]
    assert set(alone.barred) == {"operator", "type", "module", "error"}
    assert alone.barred["module"] == "No ETRecord is linked, so no slice has an operator"
    for scheme in ("operator", "module"):
        assert scheme_for(scheme, alone.table) == "name"
        assert (palette_of(alone, scheme) == palette_of(alone, "name")).all()
    torq = traces_of(opened, "torq_npu")[0]
    assert why_not("module", torq.table) == "No operator that ran has a module"
    assert why_not("delegate", torq.table) == "No slice ran in a delegate"


def test_a_hostile_name_is_a_class_of_its_own(opened, tmp_path):
    path = tmp_path / "names.csv"
    lines = [("name", "start_ns", "dur_ns"), (SCOPES, 0, 10), ("<b>x</b>", 10, 20), ("", 30, 1)]
    text = "".join(f"p,t,{','.join(map(str, line))}\n" for line in lines)
    path.write_text(text.replace("p,t,", "process,thread,", 1), encoding="utf-8")
    shown = opened(path).traces[0]
    found = dict(zip(names(shown, "name"), palette_of(shown, "name").tolist(), strict=True))
    assert found[SCOPES] < OPERATORS  # told from the real scopes by its color
    assert "<b>x</b>" in found


@pytest.mark.parametrize("key", list(_PATHS))
@pytest.mark.parametrize("scheme", IDS)
def test_shares_count_every_slice_once_and_add_up_to_what_costs_are_of(opened, key, scheme):
    for shown in traces_of(opened, key):
        if scheme in shown.barred:
            continue
        trace, classes = shown.trace, color_classes(shown, scheme)
        counted = shares([Counted(trace, classes, Fraction(1))])
        found = counted.listed
        assert sum(share.count for share in found) == len(trace.slices)
        slices = trace.slices
        outer = (slices.row_depth == 0)[slices.rows()]
        executes = np.array([trace.name(i) == "Method::execute" for i in range(len(slices))])
        whole = executes if executes.any() else outer
        busy = int((slices.end - slices.start)[whole].sum())
        assert {share.whole for share in found} == {sum(share.ns for share in found)}
        assert found[0].whole == pytest.approx(busy)
        assert counted.more == 0
        for share in found:
            titles = np.array(names(shown, scheme)) == share.title
            assert share.count == titles.sum()


def test_slices_of_a_plain_profile_that_overlap_on_a_thread_share_its_busy_time(opened):
    shown = opened(DATA / "chrome_json" / "kineto_cpu.json").traces[0]
    classes, threads = color_classes(shown, "name"), shown.findings.threads
    found = shares([Counted(shown.trace, classes, Fraction(1), threads=threads)]).listed
    summary = shown.findings.context(WHOLE, Fraction(1))
    spans = {shown.trace.name(i) for i in threads.whole_spans.tolist()}
    times = {share.title: share.ns for share in found if share.ns and share.title not in spans}
    assert times == pytest.approx(dict(summary.work.by_thing(summary.ticks)))
    assert sum(share.count for share in found) == len(shown.trace.slices)


def test_shares_of_a_step_are_the_busy_time_of_all_threads_in_it(opened):
    shown = opened(DATA / "chrome_json" / "torch_training.json.gz").traces[0]
    classes, threads = color_classes(shown, "name"), shown.findings.threads
    for number, run in enumerate(shown.trace.runs):
        one = Counted(shown.trace, classes, Fraction(1), number, threads=threads)
        context = shown.findings.context(TimeScope(run), Fraction(1))
        times = {share.title: share.ns for share in shares([one]).listed if share.ns}
        known = dict(context.work.by_thing(context.ticks))
        assert times == {name: known[name] for name in times}


def test_shares_of_a_linked_profile_without_inferences_are_its_costs(opened, tmp_path):
    table, record = _PATHS["plain_csv"]
    lines = Path(table).read_text(encoding="utf-8").splitlines()
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(line for line in lines if "Method::execute" not in line))
    shown = opened(path, record).traces[0]
    classes, threads = color_classes(shown, "operator"), shown.findings.threads
    found = shares([Counted(shown.trace, classes, Fraction(1), threads=threads)]).listed
    operators = {share.title: share.ns for share in found if share.color < OPERATORS}
    rows = Costs(shown.table).table().rows
    assert sorted(operators.values()) == sorted(r.ticks for r in rows if not r.is_shared)
    assert operators


def test_a_run_is_counted_alone(opened):
    shown = traces_of(opened, "attention_xnnpack")[0]
    classes = color_classes(shown, "operator")
    number = next(i for i, run in enumerate(shown.trace.runs) if run.number == 2)
    run = shown.trace.runs[number]
    found = shares([Counted(shown.trace, classes, Fraction(1), number)]).listed
    assert sum(share.ns for share in found) == pytest.approx(run.end - run.start)
    longest = next(share for share in found if share.color < OPERATORS)
    assert longest.title == "blocks.0 · scaled_dot_product_attention"
    assert longest.ns == pytest.approx(8544)  # as the operators panel has it: 8.544 µs


@pytest.mark.parametrize("key", ["attention_xnnpack", "delegate_handle_map"])
@pytest.mark.parametrize("number", [None, 1, 3])
def test_shares_of_operators_are_their_costs(opened, key, number):
    """Delegate events that no operator is known of are part of the call that they are in."""
    shown = traces_of(opened, key)[0]
    trace = shown.trace
    run = next((i for i, each in enumerate(trace.runs) if each.number == number), None)
    found = shares([Counted(trace, color_classes(shown, "operator"), Fraction(1), run)]).listed
    costs = Costs(shown.table)
    rows = (costs.table() if run is None else costs.of_run(trace.runs[run])).rows
    own = [row.ticks for row in rows if not row.is_shared and row.ticks]
    assert sorted(share.ns for share in found if share.color < OPERATORS) == sorted(own)
    shared = sum(row.ticks for row in rows if row.is_shared)
    assert sum(share.ns for share in found if share.color == SLAB) == shared


@pytest.mark.parametrize("key", list(_PATHS))
@pytest.mark.parametrize("scheme", ["delegate", "links"])
def test_shares_of_what_is_no_operator_are_the_own_time_of_its_slices(opened, key, scheme):
    shown = traces_of(opened, key)[0]
    trace = shown.trace
    run = next(i for i, each in enumerate(trace.runs) if each.number == 2)
    found = shares([Counted(trace, color_classes(shown, scheme), Fraction(1), run)]).listed
    counted = run_of_slices(trace) == run
    if trace.slices.derived is not None:
        counted &= ~trace.slices.derived
    titles, own = np.array(names(shown, scheme)), self_time(trace.slices)
    own[foreign(trace.slices)] = 0
    for share in found:
        assert share.ns == own[counted & (titles == share.title)].sum(), share.title
