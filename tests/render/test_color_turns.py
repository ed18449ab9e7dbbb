"""The most expensive names of any trace differ in color, to any eye, in both themes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.color_vision import EYES, difference, lab
from tests.paths import DATA
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import Inferences
from viewer.model.trace import Clock, KeyKind, Trace
from viewer.render import color_shares
from viewer.render.color_schemes import NAMES, scheme_for
from viewer.render.color_shares import Counted, chosen_colors, shares
from viewer.render.palette import OPERATORS, fills
from viewer.view.open_trace import OpenTrace, color_classes, palette_of, views_of
from viewer.workspace.workspace import Workspace

LEAST = 10  # of CIEDE2000: a just noticeable difference is 1 to 2.3


def opened(*traces: Trace | str) -> list[OpenTrace]:
    space = Workspace()
    for trace in traces:
        space.open(trace) if isinstance(trace, str) else space.add(trace)
    return list(views_of(space, {Inferences.AS_RUN}, {}).values())


def trace_of(times: dict[str, int], *, path="a.json", nested=False) -> Trace:
    """Slices of some names after one another; nested: inside one that takes no time of its own."""
    builder = TraceBuilder(path, "test", "", Clock())
    track = builder.track("process", "thread")
    now = 0
    for name, length in times.items():
        number = builder.intern(name)
        count = 3 if nested else 1
        start, end = np.full(count, now), np.full(count, now + length)
        key = builder.key(KeyKind.PLAIN, name)
        outer = builder.intern("outer")
        names = np.array([outer, outer, number] if nested else [number], np.uint32)
        keys = [builder.key(KeyKind.PLAIN, "outer")] * 2 + [key] if nested else [key]
        builder.add(
            track=track, start=start, end=end, name=names, key=np.array(keys, np.uint32),
            levels=np.arange(count, dtype=np.int32),
        )  # fmt: skip
        now += length
    return builder.build()


def legend(shown: OpenTrace) -> list[tuple[str, int]]:
    """The names that take the most time, with their colors, as the legend has them."""
    classes = color_classes(shown, "operator")
    counted = Counted(shown.trace, classes, shown.axis.ns_per_tick, threads=shown.findings.threads)
    listed = [(share.title, share.color) for share in shares([counted]).listed if share.ns > 0]
    return [pair for pair in listed if pair[1] < OPERATORS][:10]


def check_differ(pairs: list[tuple[str, int]]) -> None:
    assert len({color for _, color in pairs}) == len(pairs), pairs
    for dark in (True, False):
        for (_, a), (_, b) in combinations(pairs, 2):
            assert difference(lab(fills(dark)[a], "normal"), lab(fills(dark)[b], "normal")) > LEAST


NAMES_OF_ANY = st.text(max_size=8).filter(lambda name: name != "outer")


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.dictionaries(NAMES_OF_ANY, st.integers(1, 10**6), max_size=40), st.booleans())
def test_the_ten_most_expensive_names_of_a_trace_differ(times, nested):
    (shown,) = opened(trace_of(times, nested=nested))
    check_differ(legend(shown))
    usual = {title: color for title, color in legend(shown)}  # noqa: C416
    assert len(usual) == min(len(times), 10)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.dictionaries(NAMES_OF_ANY, st.integers(1, 10**6), min_size=12, max_size=40))
def test_they_differ_if_only_some_slices_are_counted(times):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(color_shares, "_COUNTED", 20)
        (shown,) = opened(trace_of(dict.fromkeys(times, 100) | {"long": 10**6, "longer": 10**7}))
        colors = dict(zip(color_classes(shown, NAMES).titles, color_classes(shown, NAMES).color))  # noqa: B905
    chosen = [colors[title] for title, _ in shown.facts.expensive(None)[NAMES]]
    assert len(set(chosen)) == len(chosen)


@pytest.mark.parametrize("dark", [True, False])
def test_all_colors_of_names_differ_to_any_eye(dark):
    colors = fills(dark)[:OPERATORS]
    for eye in EYES:
        least = min(difference(lab(a, eye), lab(b, eye)) for a, b in combinations(colors, 2))
        assert least > (LEAST if eye == "normal" else 4), eye


@pytest.mark.slow
@given(
    st.lists(st.lists(st.tuples(st.text(max_size=2), st.integers(0, 11)), max_size=10), max_size=3)
)
def test_a_name_has_one_color_and_those_of_a_file_differ(every):
    color: dict[str, int] = {}
    ranked = [
        tuple((title, color.setdefault(title, c)) for title, c in dict(one).items())
        for one in every
    ]
    chosen = color | chosen_colors(ranked)
    # Of three files, a name can be beside 27 others: then 12 colors do not always suffice.
    if len(ranked) == 1 or len(color) <= OPERATORS:
        for one in ranked:
            assert len({chosen[title] for title, _ in one}) == len(one)
    for one in ranked[:1]:
        # The first name keeps its color, and so do those without a conflict.
        assert all(chosen[title] == usual for title, usual in one[:1])
        counts = [usual for _, usual in one]
        assert all(
            chosen[t] == usual for t, usual in one if counts.count(usual) == 1 and len(ranked) == 1
        )


def test_names_have_the_same_colors_in_all_open_files():
    names = {f"op{i}": 100 + i for i in range(37)}
    other = {f"op{i}": 1000 - i for i in range(20, 50)}
    first, second = opened(trace_of(names), trace_of(other, path="b.json"))
    tables = [
        dict(zip(c.titles, c.color.tolist(), strict=True))
        for c in (color_classes(t, NAMES) for t in (first, second))
    ]
    assert {n: tables[0][n] for n in tables[0].keys() & tables[1].keys()} == {
        n: tables[1][n] for n in tables[0].keys() & tables[1].keys()
    }
    check_differ(legend(first))
    check_differ(legend(second))


def test_views_are_colored_again_when_another_file_changes_a_color():
    space = Workspace()
    space.add(trace_of({f"op{i}": 100 + i for i in range(37)}))
    before = views_of(space, {Inferences.AS_RUN}, {})
    assert views_of(space, {Inferences.AS_RUN}, before) == before
    palette_of(next(iter(before.values())), NAMES)
    space.add(trace_of({f"op{i}": 1000 - i for i in range(20)}, path="b.json"))
    prepared: list[OpenTrace] = []
    after = views_of(space, {Inferences.AS_RUN}, before, [prepared.append])
    assert [t.turns for t in after.values()] == [prepared[0].turns] * 2
    assert set(map(id, prepared)) == set(map(id, after.values()))
    for shown in after.values():
        check_differ(legend(shown))


@pytest.mark.parametrize(
    ("dump", "record"), [("cnn_portable_x10", "cnn_toedge_portable"), ("attn_portable_x5", None)]
)
def test_operators_of_a_model_differ_too(dump, record):
    files = [str(DATA / "etdump" / f"{dump}.etdp")]
    files += [str(DATA / "etrecord" / f"{record}.etrecord")] if record else []
    shown = opened(*files)[0]
    check_differ(legend(shown))
    if record:
        assert scheme_for("operator", shown.table) == "operator"
        classes = color_classes(shown, "operator")
        colors = dict(zip(classes.titles, classes.color.tolist(), strict=True))
        for operator, color in zip(
            shown.table.program.operators, shown.operator_colors("operator"), strict=True
        ):
            for title in (
                operator.label,
                f"{operator.label} · debug handle {operator.debug_handle}",
            ):
                assert colors.get(title, color) == color
