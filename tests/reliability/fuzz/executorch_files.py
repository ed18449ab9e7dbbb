"""Grammars of ExecuTorch's files: ETDumps, programs, ETRecords, handle maps, Inspector tables."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

from tests.builders import pte_writer
from tests.builders.etdump_writer import (
    ABSENT,
    Event,
    Missing,
    Run,
    Single,
    Tensor,
    delegate,
    framework,
    operator,
    write_dump,
)
from tests.reliability.fuzz import zip_changes
from tests.reliability.fuzz.values import (
    EDGES,
    HOSTILE,
    Dice,
    count,
    name,
    number,
    number_text,
    span,
)

_IDENTIFIERS = (
    "QNN accelerator (execute) time (cycles)", "QNN (execute) time (us)", "a (cycles)", "b (us)",
    "c:OpId_3 (cycles)", "ETVK_EXECUTE", "ETVK_COPY_INPUTS", "y", 5, 0, -7, 2**31 - 1,
    '{"operator": {"delegate_node_id": 3}}', "Fancy Fusion", "Static Reshape #1",
    "Convolution (NHWC, F32) #2",
)  # fmt: skip
_METADATA = (
    b"", b"{}", b'{"a": 1}', b"\x80\x04N.", b"\xff" * 9, b"[1,2,3]",
    b'{"duration": 5, "unit": "cycles"}'
)  # fmt: skip


class _Written(io.BytesIO):
    """Takes the place of a path, so that no file is written."""

    def write_bytes(self, data: bytes) -> int:
        return self.write(data)


def dump(dice: Dice) -> bytes:
    """Return an ETDump: any events in any order at any times, of every generation."""
    generation = dice.choice(("G3", "G3", "G3", "G2", "G1"))
    runs = [
        Run(
            dice.choice(("Execute", "Execute", "Default", None, name(dice))),
            [_event(dice, generation) for _ in range(count(dice))],
            [dice.choice(("method_allocator", None, name(dice))) for _ in range(count(dice, 3))],
            dice.choice((-1, -1, 0, 5, 2**31 - 1)),
        )
        for _ in range(count(dice, 6))
    ]
    out = _Written()
    write_dump(cast(Path, out), runs, prefix=dice.random() < 0.8, generation=generation)
    return out.getvalue()


def _event(dice: Dice, generation: str) -> Event:
    how = dice.random()
    if how < 0.08:
        return {"allocation": (dice.randrange(-1, 3), dice.choice(EDGES))}
    if how < 0.2:
        value: Any = (
            [dice.randrange(10) for _ in range(count(dice, 4))]
            if generation == "G1"
            else _debug_value(dice)
        )
        named = _identity(dice) if generation == "G3" else {"instruction": dice.randrange(-1, 4)}
        return {"debug": value, **named, "output": dice.choice((None, True, False))}
    if how < 0.22:
        return {}
    start, end = (min(one, 2**64 - 1) for one in span(dice))
    more: dict[str, Any] = {"chain": dice.choice((0,) * 9 + (-1, 1, 2**31 - 1))}
    if dice.random() < 0.1:
        more["metadata"] = dice.choice(_METADATA)
    if dice.random() < 0.4:
        return delegate(dice.choice(_IDENTIFIERS), dice.randrange(-1, 4), start, end, **more)
    text = name(dice)
    if "::" in text:
        return framework(text, start, end)
    return operator(text, dice.randrange(-1, 4), start, end, **more)


def _identity(dice: Dice) -> dict[str, Any]:
    found: dict[str, Any] = {
        "chain": dice.choice((0, 0, -1, 3)),
        "instruction": dice.randrange(-1, 4),
    }
    identifier = dice.choice(_IDENTIFIERS)
    if dice.random() < 0.5:
        found["number" if isinstance(identifier, int) else "text"] = identifier
    if dice.random() < 0.5:
        found["name"] = name(dice)
    return found


def _debug_value(dice: Dice) -> Any:
    def tensor() -> Tensor:
        sizes = [number(dice) % 2**63 for _ in range(count(dice, 6))]
        return Tensor(dice.choice((0, 4, 6, 7, 11, 15, 40, 127)), sizes, number(dice) % 2**63)

    return dice.choice(
        (None, True, number(dice) % 2**63, 0.5, float("nan"), Single(1e38), tensor(), ABSENT,
         [tensor() for _ in range(count(dice, 4))], Missing(dice.randrange(10)))
    )  # fmt: skip


def program(dice: Dice) -> bytes:
    """Return an ExecuTorch program (`.pte`) of some methods, with or without XNNPACK graphs."""

    def few(most: int = 6) -> list[int]:
        return [dice.randrange(-1, 5) % 2**31 for _ in range(count(dice, most))]

    def instruction() -> tuple[int, object, object]:
        kind = dice.choice((1, 1, 1, 2, 2, 3, 4, 5))
        if kind in (pte_writer.KERNEL, pte_writer.DELEGATE):
            return kind, dice.randrange(4), few()
        return kind, dice.randrange(4), dice.choice((*range(6), 2**31 - 1))

    def method() -> pte_writer.Method:
        tensors = [
            (
                dice.choice((0, 3, 4, 6, 11, 40, 127)),
                [number(dice) % 2**31 for _ in range(count(dice, 5))],
                None if dice.random() < 0.5
                else (dice.randrange(3), number(dice) % 2**31, number(dice) % 2**31),
            )
            for _ in range(count(dice, 6))
        ]  # fmt: skip
        return pte_writer.Method(
            dice.choice(("forward", "forward", "decode", name(dice))),
            [instruction() for _ in range(count(dice))],
            [("aten::add", "out"), (name(dice), name(dice))],
            tensors,
            [
                (dice.choice(("XnnpackBackend", "QnnBackend", name(dice))), dice.random() < 0.5,
                 dice.randrange(3))
                for _ in range(count(dice, 3))
            ],
            [number(dice) % 2**31 for _ in range(count(dice, 3))],
            few(),
            [[instruction() for _ in range(count(dice, 4))] for _ in range(count(dice, 2))],
        )  # fmt: skip

    def blob() -> bytes:
        if dice.random() < 0.3:
            return bytes(dice.randrange(40))
        nodes = [(dice.randrange(60), dice.randrange(-1, 9) % 2**32) for _ in range(count(dice))]
        return pte_writer.xnnpack_graph(
            nodes, dice.choice((b"XN00", b"XN01", b"XN99")), header=dice.random() < 0.8
        )

    return pte_writer.program(
        *(method() for _ in range(count(dice, 4))),
        segments=[blob() for _ in range(count(dice, 3))],
        inline=[blob() for _ in range(count(dice, 3))],
        constants=[bytes(dice.randrange(30)) for _ in range(count(dice, 3))],
        header=dice.choice((0, 24, 32, 32, 40)),
        version=dice.choice((0, 0, 1, 2**31)),
    )


def record(dice: Dice) -> bytes:
    """Return an ETRecord of small graphs, with maps that fit them more or less."""
    methods = [dice.choice(("forward", "decode", name(dice))) for _ in range(1 + count(dice, 2))]
    handles = {m: {str(i): _handles(dice) for i in range(count(dice))} for m in methods}
    delegates = {
        m: {
            str(i): {
                "name": dice.choice(("XnnpackBackend", name(dice))),
                "delegate_map": {
                    str(dice.choice(_IDENTIFIERS)): _handles(dice) for _ in range(count(dice, 4))
                },
            }
            for i in range(count(dice, 3))
        }
        for m in methods
    }
    parts = [("ETRECORD_V0", b"")]
    for method in methods:
        prefix = dice.choice(
            ("edge_dialect_exported_program", "edge_dialect_exported_program", name(dice))
        )
        parts.append((f"{prefix}/{method}".replace("\0", ""), json.dumps(_graph(dice)).encode()))
    if dice.random() < 0.4:
        parts.append(("exported_program", json.dumps(_graph(dice)).encode()))
    parts += [
        ("debug_handle_map", json.dumps(handles).encode()),
        ("delegate_map", json.dumps(delegates).encode()),
    ]
    if dice.random() < 0.2:
        del parts[dice.randrange(len(parts))]
    return zip_changes.archive(parts, dice)


def _handles(dice: Dice) -> Any:
    if dice.random() < 0.6:
        return dice.randrange(12)
    return dice.choice(([1, 2], [], [number(dice)], -1, dice.choice(HOSTILE)))


def _graph(dice: Dice, depth: int = 0) -> dict[str, Any]:
    names = [f"n{i}" for i in range(1 + count(dice))]
    nodes = [_node(dice, one, names, depth) for one in names]
    return {
        "graph_module": {
            "graph": {
                "inputs": [{"as_tensor": {"name": "x"}}],
                "outputs": [{"as_tensor": {"name": names[-1]}}],
                "nodes": nodes,
                "tensor_values": {
                    one: {"dtype": dice.choice((0, 4, 7, 99)), "sizes": [{"as_int": number(dice)}]}
                    for one in names
                },
            },
            "signature": {"input_specs": [], "output_specs": []},
            "module_call_graph": [],
        },
        "opset_version": {"aten": 10},
    }


def _node(dice: Dice, own: str, names: list[str], depth: int) -> dict[str, Any]:
    target = dice.choice(
        ("torch.ops.aten.relu.default", "torch.ops.aten.convolution.default", "_operator.getitem",
         "torch.ops.aten.add.out", "executorch_call_delegate", "torch.ops.higher_order.cond",
         "torch.ops.higher_order.while_loop", "executorch.exir.memory.view", "memory.alloc",
         name(dice))
    )  # fmt: skip
    inputs: list[Any] = [
        {"name": "input", "arg": dice.choice(({"as_tensor": {"name": dice.choice((*names, "x"))}},
         {"as_int": number(dice)}, {"as_none": True}, dice.choice(HOSTILE)))}
        for _ in range(count(dice, 4))
    ]  # fmt: skip
    if depth < 2 and dice.random() < 0.06:
        inner = _graph(dice, depth + 1)
        if "cond" in target or "while" in target:
            inputs.append(
                {"arg": {"as_graph": {"name": "g", "graph": inner["graph_module"]["graph"]}}}
            )
        else:
            inputs.insert(0, {"arg": {"as_string": json.dumps(inner)}})
    metadata = {
        "debug_handle": dice.choice((str(dice.randrange(9)), dice.randrange(9), "", number(dice))),
        "stack_trace": dice.choice(
            ('File "/m/net.py", line 12, in forward\n    return self.a(x)', "", "File", name(dice),
             'File "x", line 99999999999999999999, in f')
        ),
        "nn_module_stack": dice.choice(
            ("L__self__,,m.Net;L__self___a,a,torch.nn.Linear", "", ",,;,,", "(" * 50, name(dice))
        ),
        "from_node": json.dumps(
            [{"name": dice.choice(names), "target": "t", "graph_id": number(dice), "from_node": []}]
        ),
    }  # fmt: skip
    return {
        "name": own,
        "target": target,
        "inputs": inputs,
        "outputs": [{"as_tensor": {"name": own}}],
        "metadata": {key: value for key, value in metadata.items() if dice.random() < 0.8},
    }


def handle_map(dice: Dice) -> bytes:
    """Return a debug handle map file."""
    tree = {
        "opscope_debug_handle_map": dice.choice((1, 1, 1, 1, 2, "1", None)),
        "methods": {
            dice.choice(("forward", name(dice))): {
                dice.choice(("*", "0", "3", name(dice))): {
                    "delegate": name(dice),
                    "entries": [
                        [dice.choice(_IDENTIFIERS), dice.choice(([1, 2], [number(dice)], 3, []))]
                        for _ in range(count(dice))
                    ],
                }
                for _ in range(count(dice, 3))
            }
            for _ in range(count(dice, 3))
        },
        "operators": {
            dice.choice((str(dice.randrange(6)), name(dice))): {
                "target": "aten.relu.default", "name": name(dice), "module": name(dice),
                "file": name(dice), "line": dice.choice((1, number(dice), "2")),
            }
            for _ in range(count(dice))
        },
    }  # fmt: skip
    if dice.random() < 0.2:
        tree[name(dice)] = dice.choice(HOSTILE)
    return json.dumps(tree).encode()


def inspector_table(dice: Dice) -> bytes:
    """Return a table as the Inspector saves it, of events that ran once in most cases."""
    unit = dice.choice(("ms", "ms", "us", "ns", "s", "years"))
    figures = [f"{one} ({unit})" for one in ("p10", "p50", "p90", "avg", "min", "max")]
    columns = ["", "event_block_name", "event_name", *figures, "op_types", "is_delegated_op",
               "delegate_backend_name", "start_time"]  # fmt: skip
    lines = ["\t".join(columns)]
    for row in range(count(dice)):
        value = dice.choice((f"{dice.random():.6f}", number_text(dice)))
        start = dice.choice(
            (f"[{dice.randrange(10**6)}]", f"[{number_text(dice)}]", "[]", "[1, 5]", "[")
        )
        lines.append(
            "\t".join(
                (str(row), dice.choice(("Default", "Execute", name(dice))), name(dice),
                    *[value] * 6,
                 dice.choice(("[]", "['aten.relu.default']", name(dice))),
                 dice.choice(("True", "False", "")), name(dice), start)
            )
        )  # fmt: skip
    return "\n".join(lines).encode("utf-8", "surrogatepass") + b"\n"
