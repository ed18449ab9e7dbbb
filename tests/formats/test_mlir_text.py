"""MLIR text as a program."""

from pathlib import Path

import pytest

from tests.builders.csv_cases import damaged
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats.mlir_text import FORMAT
from viewer.program.program import Program


def read(path: Path) -> Program:
    return FORMAT.read(str(path), no_progress, never_cancelled)


def test_a_method_for_each_function_and_an_operator_for_each_operation(data):
    path = data / "torq" / "tiny_cnn.mlir"
    program = read(path)
    assert [(m.name, len(m.operators)) for m in program.methods] == [("main", 18), ("(module)", 1)]
    assert [op.index for op in program.operators] == list(range(19))
    conv = next(op for op in program.operators if op.ops == ("tosa.conv2d",))
    (node,) = conv.nodes
    (frame,) = node.frames
    assert (node.name, node.debug_handle, conv.debug_handle) == ("%0", -1, -1)
    assert (frame.path, frame.line, frame.function) == (str(path), 11, "main")
    assert frame.text.startswith("%0 = tosa.conv2d %arg0, %w0")
    assert program.text_lines == tuple(path.read_text().splitlines())
    assert program.problems == ()


def test_a_lowered_dispatch_is_read_too(data):
    program = read(data / "torq" / "tiny_cnn.lowered_generic.mlir")
    (method,) = program.methods
    assert method.name == "main_dispatch_0_conv_56x56x32_i8"
    text = "\n".join(program.text_lines)
    tasks = [op for op in method.operators if op.ops == ("torq_hw.nss_task",)]
    assert len(tasks) == text.count("torq-task-id") == 45


def test_functions_of_one_name_stay_apart(tmp_path):
    path = tmp_path / "two.mlir"
    body = "module {\n  func.func @f() {\n    return\n  }\n}\n"
    path.write_text(body + body)
    program = read(path)
    assert [(m.name, len(m.operators)) for m in program.methods] == [
        ("f", 2), ("f", 2), ("(module)", 2),
    ]  # fmt: skip
    assert [op.index for op in program.operators] == list(range(6))


@pytest.mark.parametrize(
    "text",
    [
        "module {\n}",
        "module @m attributes {a.b = 1} {",
        "// -----// IR Dump After Canonicalizer //----- //\nfunc.func @f() {",
        "\ufeff\n\n  func.func private @f(i32)",
        "#loc = loc(unknown)\nmodule {",
        "#map = affine_map<(d0) -> (d0)>\n",
        '!t = !d.thing<"x">\n"builtin.module"() ({',
        '"builtin.module"() ({',
        '%0 = "d.op"() : () -> i32',
        "%0, %1:2 = d.op %a",
        "util.global private @weights = dense<0> : tensor<4xi8>",
        "hal.executable private @main_dispatch_0 {",
        "// RUN: iree-opt %s\n",
    ],
)
def test_mlir_is_recognized_by_its_first_words(text):
    assert FORMAT.sniff(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// plain comment\n",
        "process,thread,name,start_ns,dur_ns\n",
        "DI0,0,128,loc(unknown),DMA_IN\n",
        "id;time_since_open;time_since_start\n",
        '"name","a.b",1\n',
        "#!/usr/bin/env python\nimport os\n",
        "# a.b = 1\n",
        "#x = 5\nimport os\n",
        "import torch\nmodule = torch.nn.Module()\n",
        "os.environ['a'] = 'b'\n",
        "torch.manual_seed(0)\n",
        '{"traceEvents": []}',
        "module.exports = {}\n",
        "const a = 1\n",
        "\0\0\0\0module {",
    ],
)
def test_other_texts_are_not_taken(text):
    assert not FORMAT.sniff(text.encode())


def test_bytecode_names_the_command_that_prints_it(tmp_path):
    path = tmp_path / "main.mlirb"
    path.write_bytes(b"ML\xefR\x06MLIR20.0\0")
    assert FORMAT.sniff(path.read_bytes())
    with pytest.raises(UnreadableFile) as caught:
        read(path)
    assert "bytecode" in caught.value.reason
    assert caught.value.remedy.endswith(
        "iree-opt main.mlirb --mlir-print-op-generic --mlir-print-debuginfo "
        "--mlir-print-local-scope -o main.mlir"
    )


def test_odd_texts_are_counted_not_refused(tmp_path):
    path = tmp_path / "odd.mlir"
    path.write_bytes(b"// nothing here \xff\r\n")
    program = read(path)
    assert (program.operators, program.text_lines) == ((), ("// nothing here \ufffd",))
    assert {p.kind: (p.count, p.first) for p in program.problems} == {
        "invalid UTF-8: replaced": (1, "line 1"),
        "no operation in the text": (1, ""),
    }


def test_progress_and_cancelling(data):
    path = data / "torq" / "tiny_cnn.mlir"
    steps: list[tuple[int, int]] = []
    FORMAT.read(str(path), lambda done, total: steps.append((done, total)), never_cancelled)
    assert steps[-1] == (path.stat().st_size, path.stat().st_size)
    with pytest.raises(ReadCancelled):
        FORMAT.read(str(path), no_progress, lambda: True)
    with pytest.raises(UnreadableFile, match="No such file"):
        read(path.with_name("missing.mlir"))


@pytest.mark.nightly
def test_no_damage_raises_anything_but_unreadable(data, tmp_path):
    whole = (data / "torq" / "tiny_cnn.mlir").read_bytes()[:1200]
    path = tmp_path / "bent.mlir"
    for bent in damaged(whole):
        FORMAT.sniff(bent[:4096])
        path.write_bytes(bent)
        program = read(path)
        assert [op.index for op in program.operators] == list(range(len(program.operators)))
