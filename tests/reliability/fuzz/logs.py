"""Grammars of files with a profile inside: logs of many writers, and packed files."""

from __future__ import annotations

import bz2
import json
import lzma
import sys
from collections.abc import Callable

from tests.builders.logs import NOISE, WRITERS, dumped
from tests.reliability.fuzz import executorch_files, runtimes, texts
from tests.reliability.fuzz.values import Dice, count, name, number

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_TAGS = ("tflite", "app", "a b", "x" * 70, "畳み込み", "")
_WAYS = ("base64 line", "base64", "hex", "hexdump", "xxd")
_TIMES = ("model_load_start", "model_load_end", "inference_start", "prompt_eval_end",
          "inference_end")  # fmt: skip
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".zst": zstd.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": lambda data: bz2.compress(data, 1),
}


def _generation(dice: Dice) -> str:
    """A line of ExecuTorch's runner of language models."""
    now, values = 1_790_000_000_000, dict[str, object]()
    for key in _TIMES:
        now += dice.randrange(9000)
        values[f"{key}_ms"] = now if dice.random() < 0.95 else number(dice)
    for key in ("prompt_tokens", "generated_tokens", "aggregate_sampling_time_ms"):
        values[key] = dice.choice((dice.randrange(1000), number(dice), name(dice), None))
    values["SCALING_FACTOR_UNITS_PER_SECOND"] = 1000 if dice.random() < 0.9 else number(dice)
    line = f"PyTorchObserver {json.dumps(values)}"
    return line[: dice.randrange(len(line))] if dice.random() < 0.1 else line


def _inside(dice: Dice) -> str:
    """A profile as lines, or as bytes written as text."""
    how = dice.random()
    if how < 0.15:
        return "\n".join(_generation(dice) for _ in range(count(dice, 4)))
    if how < 0.4:
        text = dumped(executorch_files.dump(dice), dice.choice(_WAYS))
        if dice.random() < 0.3:
            at = dice.randrange(len(text))
            return text[:at] + dice.choice(("", "\n", "=", "zz", "\0")) + text[at + 1 :]
        return text
    made = (texts.table, texts.torq_runtime, *(grammar for *_, grammar in runtimes.KINDS))
    return dice.choice(made)(dice).decode("utf-8", "replace")


def log(dice: Dice) -> bytes:
    """Return a log of one or two writers, with one or two profiles between other lines."""
    writers = dice.sample(list(WRITERS), 2)
    tag, lines = dice.choice(_TAGS), list[str]()
    for _ in range(dice.choice((1, 1, 1, 2, 0))):
        lines += dice.choices(NOISE, k=dice.randrange(6))
        lines += _inside(dice).split("\n")
    lines += dice.choices(NOISE, k=dice.randrange(3))
    made = []
    for at, line in enumerate(lines):
        writer = writers[dice.random() < 0.03]
        prefix = WRITERS[writer](at).replace("tflite", tag) if dice.random() < 0.97 else ""
        made.append(f"{prefix}{line}")
        if dice.random() < 0.05:
            made.append(f"{prefix.replace(tag or 'x', 'other')}{name(dice)}")
    text = dice.choice(("\n", "\n", "\n", "\r\n", "\r")).join([*made, ""])
    return text.encode(dice.choice(("utf-8",) * 9 + ("utf-16",)), "replace")


def packed(dice: Dice) -> bytes:
    """Return a packed profile or log, sometimes in two members or cut."""
    made = (executorch_files.dump, texts.table, log, *(grammar for *_, grammar in runtimes.KINDS))
    data, pack = dice.choice(made)(dice), dice.choice(list(PACKERS.values()))
    at = dice.randrange(len(data) + 1) if dice.random() < 0.2 else len(data)
    found = pack(data[:at]) + (pack(data[at:]) if at < len(data) else b"")
    return found[: dice.randrange(len(found))] if dice.random() < 0.1 else found
