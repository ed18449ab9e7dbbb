"""Grammars of the profiles of other runtimes: their layouts with other numbers, names and rows."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable

from tests.builders import layer_tables, runtime_files
from tests.builders.workbooks import workbook
from tests.reliability.fuzz.values import Dice, name, number_text

_NUMBER = re.compile(r"(?<![A-Za-z_\[(#])\b[0-9]+(?:\.[0-9]+)?\b")
_NAME = re.compile(r"\b(?:conv1/Conv|dense/MatMul|gemm<float, 4>|Softmax|US|CYCLES|ROOT|us)\b")


def _varied(texts: tuple[str, ...]) -> Callable[[Dice], bytes]:
    """Return a grammar: one of some texts, with rows repeated or left out, and other values."""

    def made(dice: Dice) -> bytes:
        lines = dice.choice(texts).split("\n")
        found = []
        for line in lines:
            for _ in range(dice.choice((1, 1, 1, 1, 1, 0, 2))):
                if dice.random() < 0.3:
                    line = _NUMBER.sub(
                        lambda at: number_text(dice) if dice.random() < 0.3 else at[0], line
                    )
                if dice.random() < 0.1:
                    line = _NAME.sub(lambda at: name(dice).replace("\n", " "), line)
                found.append(line)
        text = dice.choice(("\n", "\n", "\n", "\r\n")).join(found)
        data = text.encode("utf-8", "surrogatepass")
        return b"\xef\xbb\xbf" + data if dice.random() < 0.03 else data

    return made


def _optrace(dice: Dice) -> bytes:
    text = runtime_files.qnn_optrace()
    return _NUMBER.sub(lambda at: number_text(dice) if dice.random() < 0.1 else at[0], text).encode(
        "utf-8", "surrogatepass"
    )


def zipped(dice: Dice) -> bytes:
    """Return an archive with one of these profiles, or with several files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as made:
        for number in range(dice.choice((1, 1, 1, 1, 0, 2))):
            _, suffix, grammar = dice.choice(KINDS)
            made.writestr(f"{dice.choice(('run', 'a/../b', 'c'))}{number}{suffix}", grammar(dice))
        if dice.random() < 0.5:
            made.writestr("README.txt", name(dice))
    return out.getvalue()


def annotated_workbook(dice: Dice) -> bytes:
    """Return an annotated profile of Torq as a workbook, with other cells."""
    titles = ("Action ID", "Job ID", "Action in program", "Slice Invocation Names (if applicable)",
              "Timestamp Start [us]", "Timestamp End [us]", "Location")  # fmt: skip
    rows: list[list[str | int | float | bool | None]] = [list(titles)]
    for number in range(dice.randrange(8)):
        start = dice.randrange(10**6)
        row = [number, number // 2, dice.choice(("torq_hl.wait_program", name(dice))), "a",
               start, dice.choice((start + 5.25, number_text(dice))), "@L2C3"]  # fmt: skip
        rows.append([cell if dice.random() < 0.9 else None for cell in row])
    title = "Detailed Performance Data" if dice.random() < 0.9 else name(dice)
    return workbook(rows, title, inline=dice.random() < 0.3)


# name, suffix, grammar
KINDS: tuple[tuple[str, str, Callable[[Dice], bytes]], ...] = (
    ("qnn", ".csv", _varied((runtime_files.qnn_csv(1), runtime_files.qnn_csv()))),
    ("qnn_optrace", ".json", _optrace),
    ("snpe", ".csv", _varied((runtime_files.snpe_csv(), runtime_files.SNPE_REPORT))),
    (
        "tflite",
        ".txt",
        _varied(
            (
                runtime_files.tflite_log(),
                runtime_files.tflite_log(starts=True),
                runtime_files.TFLITE_CSV,
            )
        ),
    ),
    ("vela", ".csv", _varied((runtime_files.vela_csv(),))),
    ("nsys", ".csv", _varied((runtime_files.gpu_trace(), runtime_files.KERNEL_SUM))),
    ("layers", ".txt", _varied(tuple(variant.text for variant in layer_tables.variants()))),
)
