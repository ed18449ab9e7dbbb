"""Modules around a node, decoded from texts in which nothing is escaped."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from viewer.formats.executorch.etrecord.graph import modules_of

LETTERS = "ab01_@,;. '\"()[]<>\\é中L"
# Keys that look like parts of the text.
HOSTILE = (
    "a,b", "c;d", "e f", "", ",", ";", "b", "L__self__", "L__self__a", "a,T", "a,a", "a,a,T",
    "a,m.T;L__self__a", "x,m.T;L__self__x,x", "139724880734608", "a,m.T;139724880734608,a", "@1",
    "a@1", "0", "L['self'].a", "d._modules['q']", "_modules", "a;L__self__,,m.T",
)  # fmt: skip
KEYS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(LETTERS, max_size=6),
    st.from_regex(r"[a-z]{1,3}", fullmatch=True),
)
TYPES = st.sampled_from(("m.T", "torch.nn.modules.linear.Linear", "__main__.make.<locals>.Net"))


@st.composite
def stacks(draw):
    """The modules around a node, and how torch names them: by their paths or by their ids."""
    depth = draw(st.integers(0, 4))
    path, modules = "", [("", draw(TYPES))]
    for _ in range(depth):
        # torch refuses empty keys and keys with a dot.
        key = draw(KEYS).replace(".", "") or "k"
        path = f"{path}.{key}" if path else key
        modules.append((path, draw(TYPES)))
    others = draw(st.lists(KEYS, max_size=4))
    return modules, frozenset(path for path, _ in modules) | frozenset(others)


def serialized(modules, *, strict: bool, exports: int = 1, calls: int = 0) -> str:
    """The text, as torch's GraphModuleSerializer joins it."""
    entries = []
    for number, (path, type_) in enumerate(modules):
        name = str(139724880734608 + 64 * number) if strict and number else path
        root = "L__self__" * (exports - (strict and number > 0))
        call = f"@{calls}" if calls and number == len(modules) - 1 else ""
        entries.append(f"{root}{name}{call},{path},{type_}")
    return ";".join(entries)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("L__self__,,m.Net;L__self__d.a,b,d.a,b,m.T", "d.a,b"),
        ("L__self__,,m.Net;L__self__d.c;d,d.c;d,m.T", "d.c;d"),
        ("L__self__,,m.Net;L__self__d.e f,d.e f,m.T", "d.e f"),
        ("L__self__L__self__,,m.Net;L__self__L__self__fc@1,fc,m.T", "fc"),
        ("L__self__,,m.Net;139724803697168,d.c;d,m.T", "d.c;d"),
        ('L__self__,,m.Net;139724803697168,d._modules["g\'h"],m.T', "d.g'h"),
        ("L__self__,,m.Net;L__self__139724803697168@2,l.0.1,m.T", "l.0.1"),
        ("L__self___blocks_0,L['self'].blocks.0,m.T", "blocks.0"),
        ("L__self___blocks_0,blocks.0,m.T", "blocks.0"),
        ("my_key,features.0,m.T", "features.0"),
    ],
)
def test_modules_are_decoded_from_the_keys_that_torch_makes(text, path):
    assert modules_of(text)[-1] == (path, "m.T")


def test_a_node_outside_all_modules_has_none():
    marker = "_empty_nn_module_stack_from_metadata_hook"
    assert modules_of(f"{marker},{marker},{marker}") == ()
    assert modules_of("") == ()


@pytest.mark.parametrize(
    "text", ["my_key,a,b,m.T", "a,b", "k,p,", ";" * 200, "x" * 20_000, "k,(,T"]
)
def test_what_torch_does_not_write_is_unknown(text):
    assert modules_of(text) is None


def test_the_list_of_modules_decides_between_two_readings():
    """A key that holds a whole entry: the text is that of one module, or that of two."""
    path = "a,a,m.T;L__self__a,a"
    text = serialized([(path, "m.T")], strict=False)
    assert modules_of(text) is None
    assert modules_of(text, {"", path}) == ((path, "m.T"),)
    assert modules_of(text, {"", "a", "a,a"}) == (("a", "m.T"), ("a,a", "m.T"), ("a", "m.T"))
    assert modules_of(text, {"", "a", "a,a", path}) is None


@pytest.mark.slow
@given(stacks(), st.booleans(), st.integers(1, 3), st.integers(0, 2))
@example(([("", "m.T"), ("a,m.T;L__self__a", "m.T")], frozenset({"", "a"})), False, 1, 0)
def test_decoded_modules_are_the_true_ones_or_unknown(made, strict, exports, calls):
    modules, known = made
    text = serialized(modules, strict=strict, exports=exports, calls=calls)
    assert modules_of(text, known) in (tuple(modules), None)


@pytest.mark.slow
@given(
    st.lists(st.text("abcL_,; é0", min_size=1, max_size=5), max_size=4),
    st.booleans(),
    st.integers(1, 2),
)
def test_ordinary_keys_with_commas_and_semicolons_are_known(keys, strict, exports):
    paths = ["", *(".".join(keys[: i + 1]) for i in range(len(keys)))]
    modules = tuple((path, "torch.nn.modules.linear.Linear") for path in paths)
    assert modules_of(serialized(modules, strict=strict, exports=exports), set(paths)) == modules
