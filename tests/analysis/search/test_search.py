"""The search: what a query means, slice by slice in plain Python, compared with the masks."""

import operator
import time
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.links.labels import run_label, track_name
from viewer.analysis.links.mlir_locations import positions_of
from viewer.analysis.search.query import (
    DEEPEST,
    LONGEST,
    AllOf,
    AnyOf,
    FlagTerm,
    Measure,
    Not,
    Text,
    parse,
)
from viewer.analysis.search.search import SearchedTrace
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import Inferences
from viewer.model.queries import self_time_of
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.resources import SAMPLES
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace

SIGNS = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq,
}  # fmt: skip


@cache
def opened(key):
    """The profiles of a sample, as the window shows them."""
    sample = next(sample for sample in SAMPLES if sample.key == key)
    space = Workspace()
    for path in sample.paths():
        space.add(open_file(str(path)))
    shown = views_of(space, {Inferences.AS_RUN}, {})
    return [shown[trace, Inferences.AS_RUN] for trace in space.traces]


def searched(shown):
    return SearchedTrace(
        shown.table, shown.labels, shown.label_strings, shown.axis.ns_per_tick,
        shown.axis.offset_ns,
    )  # fmt: skip


def found(shown, text):
    query = parse(text)
    assert not query.complaint
    return np.flatnonzero(searched(shown).matches(query)).tolist()


# -- the slow truth --------------------------------------------------------------------------


def in_file(shown, i, text):
    path, colon, line = text.rpartition(":")
    if not (colon and line.isdigit()):
        path, line = text, ""
    sources = [op.source for op in shown.table.operators(int(shown.trace.slices.key[i]))]
    places = [(s.path, s.line) for s in sources if s is not None]
    location = shown.trace.keys.location[shown.trace.slices.key[i]]
    places += [(p.file, p.line) for p in positions_of(location)] if location else []
    return any(path in file.casefold() and line in ("", str(at)) for file, at in places)


def identified(shown, i, text):
    value = shown.trace.keys.identifier[shown.trace.slices.key[i]]
    if value is None:
        return False
    return text in value.casefold() if isinstance(value, str) else text == str(value)


def has_text(shown, i, field, text):
    trace, table = shown.trace, shown.table
    key, track = int(trace.slices.key[i]), trace.slices.track(i)
    ops = table.operators(key)
    match field:
        case "":
            texts = [trace.name(i), shown.label(i), *(op.label for op in ops)]
            return (
                any(text in t.casefold() for t in texts)
                or in_file(shown, i, text)
                or identified(shown, i, text)
            )
        case "file":
            return in_file(shown, i, text)
        case "id":
            handles = map(str, table.links[key].handles)
            return identified(shown, i, text) or text in handles
        case "inference":
            number = trace.run_at(track, int(trace.slices.start[i]))
            if number is None:
                return False
            run = trace.runs[number]
            if text.isdigit():
                return run.kind is RunKind.INFERENCE and run.number == int(text)
            return text in run_label(table, run).casefold()
    texts = {
        "name": [trace.name(i)],
        "op": [op.name for op in ops],
        "type": [t for op in ops for t in (op.op, *(n.op for n in op.nodes))],
        "module": [op.module_path for op in ops],
        "delegate": [table.links[key].backend],
        "thread": [trace.tracks[track].thread, track_name(table, track)],
        "process": [trace.tracks[track].process],
    }[field]
    return any(text in t.casefold() for t in texts)


def holds(shown, i, node):
    slices = shown.trace.slices
    match node:
        case Text(text, field):
            return has_text(shown, i, field, text)
        case Not(part):
            return not holds(shown, i, part)
        case AllOf(parts):
            return all(holds(shown, i, part) for part in parts)
        case AnyOf(parts):
            return any(holds(shown, i, part) for part in parts)
        case Measure(what, sign, value, cycles):
            counted = shown.trace.clock.unit == "cycle"
            if cycles and not counted:
                return False
            start, end = int(slices.start[i]), int(slices.end[i])
            ticks = {
                "dur": lambda: end - start,
                "self": lambda: self_time_of(slices, i),
                "start": lambda: start - shown.trace.start if cycles else start,
            }[what]()
            axis = shown.axis
            at = axis.offset_ns if what == "start" else 0
            return SIGNS[sign](ticks if cycles else ticks * axis.ns_per_tick + at, value)
        case FlagTerm(name):
            state = shown.link(i).reason.state.name
            return {
                "linked": state == "LINKED",
                "unlinked": state == "UNLINKED",
                "shared": len(shown.link(i).operators) > 1,
                "zero": slices.start[i] == slices.end[i],
                "derived": slices.derived is not None and bool(slices.derived[i]),
            }[name]
    raise AssertionError(node)


WORDS = st.sampled_from(
    ["linear", "conv", "reshape", "a", "BLOCKS.0", "models.py", "models.py:52", "12", "call",
     "tosa", "nothing", "load", "·", "run", "tiny_cnn.mlir:11", "dma"]
)  # fmt: skip
TERMS = st.one_of(
    WORDS,
    WORDS.map(lambda word: f'"{word}"'),
    st.sampled_from(["linked", "unlinked", "shared", "zero", "derived"]),
    st.builds("{}:{}".format, st.sampled_from(
        ["name", "op", "type", "module", "file", "id", "delegate", "thread", "process", "run"]
    ), st.one_of(WORDS, st.integers(0, 20).map(str), st.just("xnnpack"))),
    st.builds(
        "{} {} {}{}".format, st.sampled_from(["dur", "self", "start"]),
        st.sampled_from([*SIGNS]), st.sampled_from(["0", "1", "1.5", "7", "800", "12.25"]),
        st.sampled_from(["ns", "us", "µs", "ms", "s", " us", "cycles"]),
    ),
)  # fmt: skip
QUERIES = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.builds("{} {}".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("not ({})".format, inner),
        st.builds("-({}) and {}".format, inner, inner),
    ),
    max_leaves=5,
)


@pytest.mark.slow
@pytest.mark.parametrize("key", [sample.key for sample in SAMPLES])
@given(query=QUERIES)
def test_a_query_finds_what_its_meaning_says_of_each_slice(key, query):
    read = parse(query)
    assert read.complaint == ""
    for shown in opened(key):
        expected = [i for i in range(len(shown.trace.slices)) if holds(shown, i, read.node)]
        assert found(shown, query) == expected


# -- what is read ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "node"),
    [
        ("Conv", Text("conv")),
        ("conv relu", AllOf((Text("conv"), Text("relu")))),
        ("conv AND relu", AllOf((Text("conv"), Text("relu")))),
        ("a or b c", AnyOf((Text("a"), AllOf((Text("b"), Text("c")))))),
        ('"or" -"two words"', AllOf((Text("or"), Not(Text("two words"))))),
        ('op:"conv 2d"', Text("conv 2d", "op")),
        ("Method::execute", Text("method::execute")),
        ("sin:0;a=b", Text("sin:0;a=b")),
        ("dur>=1.5ms", Measure("dur", ">=", Fraction(1_500_000))),
        ("dur > 1\u2009234.5\u202fµs", Measure("dur", ">", Fraction(1_234_500))),
        ("start > -2 us", Measure("start", ">", Fraction(-2000))),
        ("self = 0 zero", AllOf((Measure("self", "=", Fraction(0)), FlagTerm("zero")))),
        ("dur < 5 cycles", Measure("dur", "<", Fraction(5), cycles=True)),
        ("duration", Text("duration")),
        ("a - b", AllOf((Text("a"), Text("-"), Text("b")))),
        ("  ", None),
    ],
)
def test_a_query_becomes_a_tree(query, node):
    assert parse(query).node == node
    assert parse(query).complaint == ""


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("dur > fast", "`dur > fast`: expected a duration such as 1ms after >"),
        ("start <", "`start <`: expected a time such as 1ms after <"),
        ("dur > 5", "`dur > 5`: expected a unit, such as 5us, after 5"),
        ("dur > 5 min", "`dur > 5 min`: expected one of ns, us, ms, s, cycles after 5"),
        ('"conv', '`"conv`: the quotation mark is not closed; write "conv"'),
        ("op: conv", "`op:`: expected a text right after the colon, such as op:conv"),
        ("a or", "`a or`: expected a term after or, such as conv or relu"),
        ("(a", "`(a`: this parenthesis is not closed; add a ) after its terms"),
        ("conv ()", "`conv ()`: expected a term in the parentheses, such as (conv or relu)"),
        ("not", "`not`: expected a term after not, such as not conv"),
    ],
)
def test_a_wrong_query_is_told_in_one_sentence(query, sentence):
    assert parse(query).complaint == sentence
    assert parse(query).node is None


@pytest.mark.slow
@given(st.text(alphabet='ab()"-:<>=. 01mscduorntelfµ\u2009\ud800', max_size=40))
def test_nothing_that_can_be_typed_is_an_error(text):
    query = parse(text)
    assert (query.node is None) == bool(query.complaint or not text.strip())
    searched(opened("attention_xnnpack")[0]).matches(query)


@pytest.mark.parametrize(
    "text",
    ["(" * 300, "not " * 100, "-" * 400, "a" * (LONGEST + 1), '"' * 99,
     "dur>" + "9" * 400 + "s", "dur = 0." + "9" * 400 + "ns"],
)  # fmt: skip
def test_a_hostile_query_is_answered_at_once(text):
    before = time.process_time()
    query = parse(text)
    searched(opened("attention_xnnpack")[0]).matches(query)
    assert time.process_time() - before < 1


def test_brackets_may_be_deep_but_not_bottomless():
    assert parse("(" * DEEPEST + "a" + ")" * DEEPEST).node == Text("a")
    assert "at most 40 parentheses" in parse("(" * 41 + "a" + ")" * 41).complaint


# -- what is asked ---------------------------------------------------------------------------


def alone(*names, clock=Clock()):  # noqa: B008
    """Slices 0 to 10, 10 to 30, 30 to 60 ... ticks of these names, without a program."""
    builder = TraceBuilder("p.csv", "test", "", clock)
    long = np.arange(len(names)) * 10 + 10
    ends = np.cumsum(long)
    builder.add(
        track=builder.track("p", "t"), start=ends - long, end=ends,
        name=np.array([builder.intern(name) for name in names], np.uint32),
        key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    space = Workspace()
    space.add(builder.build())
    return views_of(space, {Inferences.AS_RUN}, {})[space.traces[0], Inferences.AS_RUN]


def test_names_that_look_like_markup_patterns_or_nothing_are_texts():
    shown = alone("<b>x", ".*", "", "Straße", "\ud800")
    assert found(shown, "<b>") == [0]
    assert found(shown, ".*") == [1]
    assert found(shown, "STRASSE") == [3]
    assert found(shown, '"\ud800"') == [4]


def test_an_empty_trace_has_no_hits():
    shown = alone()
    for query in ("a", "not a", "dur > 1ms", "self > 1us", "inference:1", "unlinked", "thread:t"):
        assert found(shown, query) == []


def test_lengths_are_exact_where_a_tick_is_no_whole_ns():
    # 1.25 ns a cycle: 10, 20 and 30 cycles are 12.5, 25 and 37.5 ns.
    shown = alone("a", "b", "c", clock=Clock("cycle", Fraction(5, 4), True))
    assert found(shown, "dur > 12ns") == [0, 1, 2]
    assert found(shown, "dur = 12.5ns") == [0]
    assert found(shown, "dur <= 25ns") == [0, 1]
    assert found(shown, "dur > 20 cycles") == [2]
    assert found(shown, "start >= 10 cycles") == [1, 2]


def test_lines_are_numbers_and_no_prefixes():
    shown = opened("attention_xnnpack")[0]
    assert found(shown, "file:models.py:52")
    assert found(shown, "file:models.py:5") == []


def test_what_a_clock_of_its_own_timed_is_found_by_its_own_unit_alone(data):
    space = Workspace()
    space.add(open_file(str(data / "etdump" / "SYN_qnn_like.etdp")))
    shown = views_of(space, {Inferences.AS_RUN}, {})[space.traces[0], Inferences.AS_RUN]
    native = found(shown, "dur >= 0 cycles")
    own = [i for i in range(len(shown.trace.slices)) if shown.native(i) is not None]
    assert native == own != []
    assert not set(native) & set(found(shown, "dur >= 0ns or self >= 0ns"))


def test_every_slice_of_the_mean_inference_is_derived():
    file = opened("attention_xnnpack")[0].file
    space = Workspace()
    space.add(file)
    mean = views_of(space, {Inferences.MEAN}, {})[file, Inferences.MEAN]
    assert len(found(mean, "derived")) == len(mean.trace.slices)
