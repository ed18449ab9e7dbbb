"""Statistics of chosen slices against loops over them, on real dumps and on random nestings."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.test_queries import parents, slices, trace_of
from tests.paths import DATA, SAMPLES
from viewer.analysis.links.delegate_clocks import with_clock_rates
from viewer.analysis.links.labels import set_label, slice_labels, track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link, unlinked
from viewer.analysis.statistics.group_keys import NO_OPERATOR
from viewer.analysis.statistics.selection import (
    KEYS,
    SelectedSlices,
    chosen_within,
    selection_statistics,
)
from viewer.formats import open_file
from viewer.model.trace import KeyKind
from viewer.workspace.workspace import Workspace


def slow(table: LinkTable, index, labels, key, first=None, last=None):
    """label -> (count, total, self, busy, lengths of the counted), by going through all slices."""
    trace, s = table.trace, table.trace.slices
    parent = parents(trace)
    children: dict[int, list[int]] = {}
    for i, p in parent.items():
        children.setdefault(p, []).append(i)
    rows = s.rows()
    native = s.columns.get("native_dur")
    lo = -(1 << 60) if first is None else first
    hi = 1 << 60 if last is None else last

    def part(i):
        a, b = max(int(s.start[i]), lo), min(int(s.end[i]), hi)
        return (a, max(a, b)) if b >= lo else (lo, lo)

    def is_foreign(i):
        return native is not None and (native.valid is None or bool(native.valid[i]))

    def is_derived(i):
        return s.derived is not None and bool(s.derived[i])

    def group(i):
        if key == "name":
            return labels[i]
        if key == "thread":
            track = int(s.row_track[rows[i]])
            return f"{trace.tracks[track].process} > {track_name(table, track)}"
        own = table.links[int(s.key[i])].operators
        if not own:
            return NO_OPERATOR
        if key == "operator":
            return set_label(table, own)
        paths = {table.program.operators[o].module_path or "(top level)" for o in own}
        return " + ".join(sorted(paths))

    counted_in = [
        i for i in index
        if not is_foreign(i) and trace.keys.kind[s.key[i]] != KeyKind.UNATTRIBUTED
    ]  # fmt: skip
    mine = {i: group(i) for i in counted_in}
    found: dict[str, list] = {}
    for i, name in mine.items():
        row = found.setdefault(name, [[], 0, set()])
        above, around = parent[i], False
        while above >= 0:
            # A zero-length slice at the very end of another is beside it.
            around |= mine.get(above) == name and int(s.start[i]) < int(s.end[above])
            above = parent[above]
        a, b = part(i)
        if not around:
            row[0].append(b - a)
        inner = sum(
            part(c)[1] - part(c)[0]
            for c in children.get(i, []) if not is_foreign(c) and not is_derived(c)
        )  # fmt: skip
        row[1] += b - a - inner
        if b > a:
            row[2].add((a, b))
    return {
        name: (len(long), sum(long), own, _union(spans), sorted(long))
        for name, (long, own, spans) in found.items()
    }


def _union(spans):
    total, reach = 0, None
    for a, b in sorted(spans):
        a = a if reach is None else max(a, reach)
        total += max(b - a, 0)
        reach = b if reach is None else max(reach, b)
    return total


def fast(found):
    """The same of the answer."""
    of = found.figures
    return {
        name: (
            int(of.statistics.count[i]), int(of.statistics.total[i]), int(of.self_ticks[i]),
            int(of.busy[i]),
        )
        for i, name in enumerate(found.labels)
    }  # fmt: skip


def agree(found, wanted):
    assert fast(found) == {name: row[:4] for name, row in wanted.items()}
    of = found.figures.statistics
    for i, name in enumerate(found.labels):
        long = wanted[name][4]
        if long:
            assert of.min[i] == long[0]
            assert of.max[i] == long[-1]
            assert of.avg[i] == pytest.approx(sum(long) / len(long))
            assert of.p50[i] == pytest.approx(np.percentile(long, 50))
            assert of.p90[i] == pytest.approx(np.percentile(long, 90))
    assert sum(row[2] for row in wanted.values()) == found.whole.self_ticks[0]


def named(table):
    codes, strings = slice_labels(table)
    return codes, strings, [strings[i] for i in codes.tolist()]


@pytest.fixture(scope="module")
def linked():
    trace = open_file(str(DATA / "etdump/cnn_portable_x10.etdp"))
    return link(trace, open_file(str(DATA / "etrecord/cnn_toedge_portable.etrecord")))


@pytest.mark.parametrize("key", KEYS)
def test_areas_of_a_linked_dump(linked, key):
    trace = linked.trace
    codes, strings, labels = named(linked)
    span = trace.end - trace.start
    for first, last in ((0.0, 1.0), (0.31, 0.62), (0.4, 0.4001), (-1.0, -0.5)):
        a, b = trace.start + int(first * span), trace.start + int(last * span)
        chosen = chosen_within(linked, codes, strings, [0], a, b)
        found = selection_statistics(chosen, key)
        agree(found, slow(linked, chosen.index.tolist(), labels, key, a, b))
        assert found.slices == len(chosen.index)


@pytest.mark.parametrize("key", KEYS)
def test_single_slices_of_a_linked_dump(linked, key):
    codes, strings, labels = named(linked)
    for step in (1, 3, 17):
        index = np.arange(0, len(linked.trace.slices), step)
        found = selection_statistics(SelectedSlices(linked, codes, strings, index), key)
        agree(found, slow(linked, index.tolist(), labels, key))
        assert found.cut == 0
        members = np.concatenate([found.members(g) for g in range(len(found))])
        assert sorted(members.tolist()) == found.index.tolist()


@pytest.mark.slow
@given(slices, st.sets(st.integers(0, 13)), st.booleans(), st.sampled_from(("name", "thread")))
def test_random_nestings(items, chosen, native, key):
    table = unlinked(trace_of(items, native=[0, 3] if native else ()))
    count = len(table.trace.slices)
    codes = (np.arange(count) % 3).astype(np.uint32)
    index = np.array(sorted(i for i in chosen if i < count), np.int64)
    labels = [f"n{i}" for i in codes.tolist()]
    found = selection_statistics(SelectedSlices(table, codes, ("n0", "n1", "n2"), index), key)
    agree(found, slow(table, index.tolist(), labels, key))
    assert found.slices == len(index) == len(found.index) + found.foreign


@pytest.mark.slow
@given(slices, st.integers(0, 40), st.integers(0, 40), st.sets(st.integers(0, 2)))
def test_random_areas(items, one, other, tracks):
    table = unlinked(trace_of(items))
    first, last = sorted((one, other))
    codes, strings, labels = named(table)
    chosen = chosen_within(table, codes, strings, sorted(tracks), first, last)
    s = table.trace.slices
    rows = s.rows()
    touched = [
        i for i in range(len(s))
        if int(s.row_track[rows[i]]) in tracks and s.start[i] < last
        and (s.end[i] > first or s.start[i] >= first)
    ]  # fmt: skip
    assert chosen.index.tolist() == touched
    found = selection_statistics(chosen, "name")
    agree(found, slow(table, touched, labels, "name", first, last))


def test_a_shared_slice_is_one_group_and_never_divided():
    samples = SAMPLES / "attention_xnnpack"
    trace = open_file(str(samples / "attn_xnnpack_x5.etdp"))
    table = link(trace, open_file(str(samples / "attn_teal_xnnpack.etrecord")))
    codes, strings, _labels = named(table)
    index = np.arange(len(trace.slices))
    found = selection_statistics(SelectedSlices(table, codes, strings, index), "operator")
    shared = [i for i, name in enumerate(found.labels) if " + " in name]
    assert shared
    for group in shared:
        members = found.members(group)
        sets = {table.links[int(trace.slices.key[i])].operators for i in members.tolist()}
        assert len(sets) == 1
        assert len(next(iter(sets))) > 1
    gaps = int((trace.keys.kind[trace.slices.key] == KeyKind.UNATTRIBUTED).sum())
    assert found.gaps == gaps > 0
    # All self time together is what is busy: each instant once, on this one thread.
    assert found.whole.self_ticks[0] == found.whole.busy[0] == int(found.figures.self_ticks.sum())


def test_jobs_beside_what_they_are_made_of_are_left_out_by_operator():
    folder = SAMPLES / "torq_npu"
    space = Workspace()
    for path in sorted(folder.iterdir()):
        space.add(open_file(str(path)))
    trace = next(t for t in space.traces if t.path.endswith("host.csv"))
    table = space.links(trace)
    codes, strings, _labels = named(table)
    index = np.arange(len(trace.slices))
    chosen = SelectedSlices(table, codes, strings, index)
    derived = np.flatnonzero(trace.slices.derived)
    assert len(derived)
    by_operator, by_name = (selection_statistics(chosen, key) for key in ("operator", "name"))
    assert by_operator.doubled > 0
    assert by_name.doubled == 0
    left = set(index.tolist()) - set(by_operator.index.tolist())
    assert left <= set(derived.tolist())


def test_without_a_record_all_are_of_no_operator(linked):
    table = unlinked(linked.trace)
    codes, strings, _ = named(table)
    index = np.arange(len(table.trace.slices))
    found = selection_statistics(SelectedSlices(table, codes, strings, index), "operator")
    assert found.labels == (NO_OPERATOR,)


def test_nothing_chosen_has_no_groups(linked):
    codes, strings, _ = named(linked)
    found = selection_statistics(
        SelectedSlices(linked, codes, strings, np.empty(0, np.int64)), "name"
    )
    assert (len(found), found.slices, found.cut) == (0, 0, 0)
    assert found.whole.busy[0] == 0


def test_an_unknown_key_is_refused(linked):
    codes, strings, _ = named(linked)
    with pytest.raises(ValueError, match="use one of name, operator"):
        selection_statistics(SelectedSlices(linked, codes, strings, np.arange(3)), "colour")


def test_what_a_delegates_clock_timed_is_summed_apart_and_once():
    """The total of the call, 5000 cycles, is drawn around the others."""
    trace = open_file(str(DATA / "etdump" / "SYN_qnn_like.etdp"))
    table = with_clock_rates(unlinked(trace), {"cycles": Fraction(5, 4)})
    labels, strings = slice_labels(table)
    every = SelectedSlices(table, labels, strings, np.arange(len(trace.slices)))
    found, before = (
        selection_statistics(replace(every, table=one), "name") for one in (table, unlinked(trace))
    )
    assert (found.foreign, found.rated, found.delegate_ns) == (3, 3, 6250)
    assert (before.foreign, before.rated, before.delegate_ns) == (3, 0, 0)
    assert found.labels == before.labels
    assert found.whole.busy.tolist() == before.whole.busy.tolist()
    inner = every.index[[name.endswith("(cycles)") for name in map(trace.name, every.index)]][1:]
    found = selection_statistics(replace(every, index=inner), "name")
    assert (len(found), found.rated, found.delegate_ns) == (0, 2, 1875)


def test_slices_of_several_phases_are_never_in_one_group():
    workspace = Workspace()
    trace = workspace.open(str(DATA / "phases" / "llm_200.etdp"))
    table = workspace.links(workspace.traces[0])
    labels, strings = slice_labels(table)
    run_of = {run.number: run for run in table.trace.inferences()}

    def within(first, last):
        span = run_of[first].start, run_of[last].end
        return selection_statistics(
            chosen_within(table, labels, strings, range(len(trace.tracks)), *span), "name"
        )

    both, prompt, steps = within(1, 4), within(1, 1), within(2, 4)
    assert (both.phases, prompt.phases, steps.phases) == (("prefill", "decode"), (), ())
    apart = {
        f"{label} · {phase}": (count, total)
        for one, phase in ((prompt, "prefill"), (steps, "decode"))
        for label, count, total in zip(
            one.labels, one.figures.statistics.count, one.figures.statistics.total, strict=True
        )
    }
    figures = both.figures.statistics
    assert (
        dict(zip(both.labels, zip(figures.count, figures.total, strict=True), strict=True)) == apart
    )
    assert both.whole.statistics.total == prompt.whole.statistics.total + (
        steps.whole.statistics.total
    )
