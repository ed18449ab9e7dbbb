"""Reads MLIR text as a program: one method per function, one operator per operation."""

from __future__ import annotations

import os
import re
import shlex

from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, faults_of, stop_if
from viewer.formats import format_of
from viewer.model.trace import Problem
from viewer.program.frames import Frame
from viewer.program.mlir.locations import LocationAliases
from viewer.program.mlir.operations import OperationReader, OperationText
from viewer.program.program import Dispatch, GraphNode, Method, Operator, Program
from viewer.program.torq_debug_info import MARK, read_dispatches

_BYTECODE_MAGIC = b"ML\xefR"
_CHUNK = 4 << 20
_OPERATIONS_PER_CHECK = 2000
# Bytes at the peak per byte of text, and per operation. Measured with RSS: 5.0 a byte (one line of
# 60 MB of weights); 20 a byte, 1740 an operation (300,000 operations of 86 bytes).
_BYTE_MEMORY, _OPERATION_MEMORY = 4, 1200
# A line may contain the weights of a layer; a frame displays one line.
_FRAME_TEXT_LIMIT = 500

_COMMENT = re.compile(r"//(.*)\s*")
_COMMENT_OF_MLIR = re.compile(r"-----//|RUN:|mlir|MLIR|IR Dump")
_ALIAS = re.compile(r"[#!][\w$.-]+[ \t]*=[ \t]*(?P<value>loc\(|affine_|distinct\[|[#!]\w)?.*\s*")
_OPERATION = re.compile(
    r"""(?:
      (?:%[\w$.-]+(?::\d+)?(?:[ ]*,[ ]*%[\w$.-]+(?::\d+)?)*[ ]*=[ ]*)   # results
      (?:"[A-Za-z_][\w$]*\.[\w$.]+"[ ]*\(|[a-z_]\w*(?:\.[\w$]+)+)
    | "[A-Za-z_][\w$]*\.[\w$.]+"[ ]*\(
    | module(?:[ ]+@[\w$."-]+)?(?:[ ]+attributes)?\s*\{
    | (?:builtin\.module|[a-z_]\w*(?:\.\w+)*\.func)\b[ ]*(?:[@({]|attributes|private|public)
    | [a-z_]\w*(?:\.\w+)+[ ]+(?:[@%]|private[ ]+@|public[ ]+@)
    )""",
    re.VERBOSE,
)


def sniff(head: bytes) -> bool:
    """Whether an operation follows leading comments and aliases, or it is MLIR bytecode."""
    if head.startswith(_BYTECODE_MAGIC):
        return True
    if b"\0" in head:
        return False
    text = head.decode("utf-8-sig", "replace").lstrip()
    evidence = False
    while text:
        if comment := _COMMENT.match(text):
            evidence = evidence or _COMMENT_OF_MLIR.search(comment[1]) is not None
            text = text[comment.end() :]
        elif alias := _ALIAS.match(text):
            evidence = evidence or alias["value"] is not None
            text = text[alias.end() :]
        else:
            return _OPERATION.match(text) is not None
    return evidence


def read(path: str, progress: Progress, cancelled: Cancelled) -> Program:
    """The program of an MLIR text. Raises UnreadableFile, ReadCancelled."""
    text, problems = _decode(path, _read_bytes(path, progress, cancelled))
    lines = tuple(line.removesuffix("\r") for line in text.split("\n"))
    if lines[-1] == "":
        lines = lines[:-1]
    by_function: dict[int, list[OperationText]] = {}
    reader = OperationReader(lines)
    found_all: list[OperationText] = []
    for operation in reader:
        if len(found_all) % _OPERATIONS_PER_CHECK == 0:
            stop_if(cancelled)
            taken = len(text) * _BYTE_MEMORY + len(found_all) * _OPERATION_MEMORY
            allowance().take(taken)
        found_all.append(operation)
        by_function.setdefault(operation.function_line, []).append(operation)
    outside = by_function.pop(0, [])
    methods: list[Method] = []
    index = 0
    for operation_texts in (*by_function.values(), outside):
        if operation_texts:
            name = operation_texts[0].func if operation_texts is not outside else "(module)"
            operators = tuple(
                _operator(index + i, name, path, lines, operation)
                for i, operation in enumerate(operation_texts)
            )
            methods.append(Method(name, operators))
            index += len(operators)
    if not methods:
        problems = (*problems, Problem("no operation in the text", 1, ""))
    dispatches: tuple[Dispatch, ...] = ()
    if MARK in text:
        dispatches, more_problems = read_dispatches(path, found_all, reader, LocationAliases(lines))
        problems = (*problems, *more_problems)
    return Program(path, FORMAT.name, "", tuple(methods), problems, lines, dispatches=dispatches)


def _read_bytes(path: str, progress: Progress, cancelled: Cancelled) -> bytes:
    parts: list[bytes] = []
    done = 0
    with faults_of(path), open(path, "rb") as file:
        total = os.fstat(file.fileno()).st_size
        allowance().take(total * _BYTE_MEMORY)
        while part := file.read(_CHUNK):
            stop_if(cancelled)
            parts.append(part)
            done += len(part)
            progress(done, max(total, done))
    return b"".join(parts)


def _decode(path: str, data: bytes) -> tuple[str, tuple[Problem, ...]]:
    if data.startswith(_BYTECODE_MAGIC):
        raise UnreadableFile(
            path,
            "it is MLIR bytecode, not text",
            remedy="Print it as text with the tools of the compiler that wrote it: "
            f"{_printing(os.path.basename(path))}",
        )
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", "replace")
        count = text.count("\ufffd") - data.count("\ufffd".encode())
        line = data.count(b"\n", 0, error.start) + 1
        return text, (Problem("invalid UTF-8: replaced", count, f"line {line}"),)


def _printing(name: str) -> str:
    """The command that prints a bytecode file as text, next to it."""
    text = os.path.splitext(name)[0] + FORMAT.suffixes[0]
    return (
        f"iree-opt {shlex.quote(name)} --mlir-print-op-generic --mlir-print-debuginfo "
        f"--mlir-print-local-scope -o {shlex.quote(text)}"
    )


def _operator(
    index: int, method: str, path: str, lines: tuple[str, ...], operation: OperationText
) -> Operator:
    text = lines[operation.line - 1].strip()
    if len(text) > _FRAME_TEXT_LIMIT:
        text = text[:_FRAME_TEXT_LIMIT] + "…"
    frame = Frame(path, operation.line, operation.func, text, is_stated=True)
    node = GraphNode(operation.result, operation.name, -1, (frame,), source_op=operation.name)
    return Operator(index, method, -1, (node,), place=f"L{operation.line}")


FORMAT = format_of("mlir_text")
