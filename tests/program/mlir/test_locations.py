"""MLIR locations of every printed form, and operations found in a text."""

import random
import tracemalloc
from pathlib import Path

import pytest

from viewer.program.mlir.locations import (
    INPUT_FILE,
    CallSite,
    FilePosition,
    FusedLocation,
    LocationAliases,
    NameLocation,
    UnknownLocation,
    outline,
    parse_location,
    positions,
)
from viewer.program.mlir.operations import OperationPlaces, operations

LONG = "x" * 1_000_000
AT_11 = FilePosition("m.mlir", 11, 10)
AT_2 = FilePosition("m.mlir", 2, 3)

FORMS = {
    "loc(unknown)": UnknownLocation(),
    'loc("m.mlir":11:10)': AT_11,
    '"m.mlir":11:10': AT_11,
    'loc("m.mlir":11:10 to :42)': FilePosition("m.mlir", 11, 10, 11, 42),
    'loc("m.mlir":11:10 to 13:99)': FilePosition("m.mlir", 11, 10, 13, 99),
    'loc(callsite("m.mlir":11:10 at "m.mlir":2:3))': CallSite(AT_11, AT_2),
    'loc(callsite(unknown at "m.mlir":2:3))': CallSite(UnknownLocation(), AT_2),
    'loc(fused["m.mlir":11:10, "m.mlir":2:3])': FusedLocation((AT_11, AT_2)),
    'loc(fused<"CSE">["m.mlir":11:10])': FusedLocation((AT_11,)),
    'loc(fused<{a = 1 : i64}>["m.mlir":11:10])': FusedLocation((AT_11,)),
    'loc(fused<#x<"[>", (i32) -> i32>>["m.mlir":2:3])': FusedLocation((AT_2,)),
    "loc(fused[])": FusedLocation(()),
    "@L2C3": FusedLocation((FilePosition(INPUT_FILE, 2, 3),)),
    "@L13C10+@L11C10": FusedLocation(
        (FilePosition(INPUT_FILE, 13, 10), FilePosition(INPUT_FILE, 11, 10))
    ),
    "@L13": UnknownLocation("@L13"),
    "@L13C10+": UnknownLocation("@L13C10+"),
    'loc("":11:10)': FilePosition("", 11, 10),
    'loc("Conv_0")': NameLocation("Conv_0"),
    'loc("Relu, 0"("m.mlir":2:3))': NameLocation("Relu, 0", AT_2),
    'loc("at"(fused["callsite"]))': NameLocation("at", FusedLocation((NameLocation("callsite"),))),
    r'loc("a, \22b\22\\c\C3\A9.mlir":1:2)': FilePosition('a, "b"\\cé.mlir', 1, 2),
    r'loc("name\0Awith newline")': NameLocation("name\nwith newline"),
}


@pytest.mark.parametrize(("text", "expected"), FORMS.items())
def test_every_printed_form_is_read(text, expected):
    assert parse_location(text) == expected


def test_nested_forms_list_callee_before_caller_and_each_position_once():
    location = parse_location(
        'loc(callsite(fused["m.mlir":18:11, "Relu, 0"("m.mlir":11:10), "m.mlir":18:11] '
        'at callsite("m.mlir":2:3 at unknown)))'
    )
    assert positions(location) == (FilePosition("m.mlir", 18, 11), AT_11, AT_2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "loc(",
        "conv2d",
        'loc("m.mlir":11:10',
        'loc("m.mlir":11:10))',
        'loc("m.mlir)',
        "loc(callsite(unknown))",
        'loc(fused["a":1:2, ])',
        "loc(fused<[unknown])",
        'loc("m.mlir":99999999999999999999:1)',
        "loc(#loc3)",
        "\0" * 9,
    ],
)
def test_what_is_no_location_keeps_its_text(text):
    assert parse_location(text) == UnknownLocation(text)
    assert positions(parse_location(text)) == ()


@pytest.mark.slow
def test_deep_nesting_is_bounded_and_quick():
    for piece in ("callsite(", "fused[", '"n"(', "fused<", "("):
        text = f"loc({piece * 100_000})"
        assert parse_location(text) == UnknownLocation(text)
    deep = "loc(" + "callsite(" * 150 + '"m.mlir":11:10' + ' at "m.mlir":2:3)' * 150 + ")"
    assert positions(parse_location(deep)) == (AT_11, AT_2)
    wide = "loc(fused[" + ", ".join(f'"m.mlir":{i}:1' for i in range(50_000)) + "])"
    assert len(positions(parse_location(wide))) == 50_000


def test_no_mutation_of_a_location_raises():
    chance = random.Random(3)
    seeds = list(FORMS)
    for _ in range(5000):
        text = list(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            text[at : at + chance.randint(0, 3)] = chance.choice('"()[]<>:,\\\0\ud800é9 at')
        positions(parse_location("".join(text)))


# -- operations ----------------------------------------------------------------------------------


def lines_of(data: Path, name: str) -> tuple[str, ...]:
    return tuple((data / "torq" / name).read_text().splitlines())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('loc("m.mlir":18:11)', ["0  18:11"]),
        ("loc(unknown)", ["0  -"]),
        ("no location", ["0  - no location"]),
        ('loc(callsite("m.mlir":3:1 at callsite("m.mlir":2:1 at "m.mlir":1:1)))',
         ["0  3:1", "1 called from 2:1", "2 called from 1:1"]),
        ('loc(fused["m.mlir":3:1, callsite(unknown at "m.mlir":1:1)])',
         ["0 fused 3:1", "0 fused -", "1 called from 1:1"]),
        ('loc("Relu"("m.mlir":2:3))', ["0  2:3 Relu"]),
        ('loc("Conv_0")', ["0  - Conv_0"]),
    ],
)  # fmt: skip
def test_a_location_line_by_line(text, lines):
    def told(part):
        at = f"{part.position.line}:{part.position.col}" if part.position else "-"
        return f"{part.depth} {part.role.value} {at} {part.name}".rstrip()

    assert [told(part) for part in outline(parse_location(text))] == lines


def test_operations_of_custom_assembly(data):
    found = list(operations(lines_of(data, "tiny_cnn.mlir")))
    assert [(op.name, op.line, op.col) for op in found if not op.name.startswith("arith")] == [
        ("builtin.module", 1, 1),
        ("func.func", 2, 3),
        ("tosa.conv2d", 11, 10),
        ("tosa.rescale", 12, 10),
        ("tosa.clamp", 13, 10),
        ("tosa.depthwise_conv2d", 14, 10),
        ("tosa.cast", 15, 10),
        ("tosa.add", 16, 10),
        ("tosa.rescale", 17, 10),
        ("tosa.max_pool2d", 18, 10),
        ("func.return", 19, 5),
    ]
    assert {op.func for op in found[1:]} == {"main"}
    assert found[0].func == ""
    cast = next(op for op in found if op.name == "tosa.cast")
    assert cast.result == "%4"
    assert cast.text == "%4 = tosa.cast %2 : (tensor<1x56x56x32xi8>) -> tensor<1x56x56x32xi32>"


def test_operations_of_generic_assembly_with_regions(data):
    lines = lines_of(data, "tiny_cnn.lowered_generic.mlir")
    found = list(operations(lines))
    names = [op.name for op in found]
    text = "\n".join(lines)
    for name in ("torq_hw.nss_task", "torq_hw.slice_start", "torq_hl.create_invocation",
                 "torq_hl.return", "torq_hl.host_copy"):  # fmt: skip
        assert names.count(name) == text.count(f'"{name}"(')
    assert {op.func for op in found} == {"main_dispatch_0_conv_56x56x32_i8"}
    invocation = next(op for op in found if op.result == "%ni_0, %nc_0")
    assert invocation.name == "torq_hl.create_invocation"
    for op in found:
        assert lines[op.line - 1][op.col - 1 :].startswith(('"' + op.name, op.name, "return"))


def test_operation_at_a_position(data):
    lines = lines_of(data, "tiny_cnn.mlir")
    assert OperationPlaces(lines).at(11, 10).name == "tosa.conv2d"
    assert OperationPlaces(lines).at(11, 5).result == "%0"
    assert OperationPlaces(lines).at(11, 200).name == "tosa.conv2d"
    assert OperationPlaces(lines).at(11, 1).name == "tosa.conv2d"  # left of it, on its line
    assert OperationPlaces(lines).at(2, 3).func == "main"
    assert OperationPlaces(lines).at(20, 3) is None  # a closing brace
    assert OperationPlaces(lines).at(99, 1) is None
    assert OperationPlaces(()).at(1, 1) is None


def test_operation_at_a_later_line_of_a_long_statement():
    lines = [
        "func.func @f(%a: i32) {",
        '  %x = "d.op"(%a) {',
        "    d.key = 1 : i32,",
        '    note = "} %y = d.fake // no comment"',
        "  } : (i32) -> i32  // a comment",
        "  return",
        "}",
    ]
    operation = OperationPlaces(lines).at(4, 9)
    assert (operation.name, operation.line, operation.end_line) == ("d.op", 2, 5)
    assert operation.text.endswith(": (i32) -> i32")
    assert [op.name for op in operations(lines)] == ["func.func", "d.op", "func.return"]


def test_the_function_of_generic_operations_may_be_named_after_its_body():
    lines = [
        '"builtin.module"() ({',
        '  "func.func"() ({',
        "  ^bb0(%a: i32):",
        '    "func.return"(%a) : (i32) -> ()',
        '  }) {function_type = (i32) -> (), sym_name = "late"} : () -> ()',
        '  "func.func"() <{function_type = () -> (), sym_name = "early"}> ({',
        '    "func.return"() : () -> ()',
        "  }) : () -> ()",
        '  "util.global"() {sym_name = "weights"} : () -> ()',
        "}) : () -> ()",
    ]
    assert [(op.name, op.func) for op in operations(lines)] == [
        ("builtin.module", ""),
        ("func.func", "late"),
        ("func.return", "late"),
        ("func.func", "early"),
        ("func.return", "early"),
        ("util.global", ""),
    ]


def test_aliases_labels_comments_and_resources_are_no_operations():
    lines = [
        "// d.comment %a",
        "#map = affine_map<(d0) -> (d0)>",
        "!t = tensor<4xi8>",
        "module attributes {",
        "  d.flag,",
        "  d.key = 1",
        "} {",
        '  func.func private @"odd name"(i32)',
        "  func.func @g() {",
        "    %r:2 = scf.for %i = %a to %b step %c iter_args(%x = %y) -> (i32, i32) {",
        "      scf.yield %x : i32",
        "    }",
        "    d.barrier",
        "    return",
        "  }",
        "}",
        "#loc1 = loc(unknown)",
        "{-#",
        "  dialect_resources: { d.blob: 1 }",
        "#-}",
    ]
    assert [(op.name, op.result, op.func) for op in operations(lines)] == [
        ("builtin.module", "", ""),
        ("func.func", "", "odd name"),
        ("func.func", "", "g"),
        ("scf.for", "%r:2", "g"),
        ("scf.yield", "", "g"),
        ("d.barrier", "", "g"),
        ("func.return", "", "g"),
    ]


@pytest.mark.slow
def test_hostile_texts_end_quickly():
    for line in ("{" * 200_000, "}" * 200_000, '"' * 9999, "({[" * 60_000 + ")" * 9, "%" * 9999,
                 "%a," * 60_000, "func.func @" * 9999, "\0" * 99, "a." * 60_000):  # fmt: skip
        list(operations([line, line]))
    nested = ["func.func @f() {"] * 5000
    assert len(list(operations(nested))) == 5000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        f'loc("{LONG}":1:1)',
        f'loc(fused<"{LONG}">[unknown])',
        "@L1C1" + "+@L2C3" * 150_000,
        f'"a.b"() {{k = "{LONG}"}} : () -> ()',
        f"%0 = a{'.b' * 500_000}",
        f"%0{', %1' * 250_000} = a.b",
    ],
    ids=["file", "metadata", "short form", "attribute", "dotted", "results"],
)
def test_a_long_text_takes_a_few_times_its_size_in_memory(text):
    tracemalloc.start()
    parse_location(text)
    list(operations([text]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * len(text)


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
