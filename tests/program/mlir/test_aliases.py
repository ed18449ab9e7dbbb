"""Aliases of locations: what they stand for, and those that stand for nothing."""

import pytest

from viewer.program.mlir.aliases import LocationAliases
from viewer.program.mlir.locations import parse_location, positions

TEXT = """#loc1 = loc("m.mlir":2:3)
"d.op"() : () -> () loc(#loc6)
#map = affine_map<(d0) -> (d0)>
#loc = loc(unknown)
#loc3 = loc("m.mlir":11:10)
#loc4 = loc("a #loc3 b"(#loc3))
#loc6 = loc(fused[callsite(#loc4 at #loc1), #loc])
"""


@pytest.mark.parametrize(
    ("location", "meaning"),
    [
        ("loc(#loc3)", 'loc("m.mlir":11:10)'),
        ("loc(#loc)", "loc(unknown)"),
        ("loc(#loc4)", 'loc("a #loc3 b"("m.mlir":11:10))'),
        ("loc(#loc6)",
         'loc(fused[callsite("a #loc3 b"("m.mlir":11:10) at "m.mlir":2:3), unknown])'),
        ('loc("m.mlir":5:6)', 'loc("m.mlir":5:6)'),
        ("loc(#map)", "loc(unknown)"),
        ("loc(#none)", "loc(unknown)"),
        ("", ""),
    ],
)  # fmt: skip
def test_an_alias_stands_for_what_defines_it(location, meaning):
    aliases = LocationAliases(TEXT.splitlines())
    assert aliases.resolved(location) == meaning
    assert aliases.resolved(location) == meaning  # and again


def test_what_was_resolved_has_its_positions():
    found = positions(parse_location(LocationAliases(TEXT.splitlines()).resolved("loc(#loc6)")))
    assert [(place.line, place.col) for place in found] == [(11, 10), (2, 3)]


def test_an_alias_of_itself_is_unknown():
    lines = ["#a = loc(callsite(#b at #a))", "#b = loc(callsite(#a at #b))"]
    assert "#" not in LocationAliases(lines).resolved("loc(#a)")


def test_aliases_that_double_each_other_end():
    lines = [f"#l{i} = loc(fused[#l{i + 1}, #l{i + 1}])" for i in range(80)]
    assert len(LocationAliases(lines).resolved("loc(#l0)")) < 1 << 18


def test_a_chain_of_very_many_aliases_ends():
    lines = [f"#l{i} = loc(#l{i + 1})" for i in range(5000)]
    assert LocationAliases(lines).resolved("loc(#l0)") == "loc(unknown)"
