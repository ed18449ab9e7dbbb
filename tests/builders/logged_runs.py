"""ETDumps with logged values, and the debug buffers that hold them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.builders.etdump_writer import Event, Run, Tensor, framework, operator, write_dump

SCALAR_TYPES = {"u1": 0, "i1": 1, "i4": 3, "i8": 4, "f2": 5, "f4": 6, "f8": 7, "b1": 11}
OUTPUT: Any = object()


class LoggedRun:
    """Collects the calls of inferences and writes a dump with its buffer."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._runs: list[Run] = []

    def tensor(self, values: Any, dtype: str = "f4") -> Tensor:
        """Put values into the buffer, aligned to 16 bytes."""
        array = np.asarray(values, np.dtype(dtype))
        self._buffer += bytes(-len(self._buffer) % 16)
        offset = len(self._buffer)
        self._buffer += array.tobytes()
        return Tensor(SCALAR_TYPES[dtype], array.shape, offset if array.size else -1)

    def inference(self, *calls: tuple[str, Sequence[Any]], outputs: Sequence[Any] = ()) -> None:
        """Add an inference: the kernel of each instruction with its values, then its outputs."""
        events: list[Event] = []
        start = 1_000_000 * len(self._runs)
        for i, (kernel, values) in enumerate(calls):
            events += [{"debug": self._value(v), "instruction": i} for v in values]
            at = start + 100 * i
            events += [
                operator(f"native_call_{kernel}", i, at, at + 50),
                operator("OPERATOR_CALL", i, at, at + 60),
            ]
        events.append(framework("Method::execute", start, start + 100 * len(calls) + 100))
        events += [
            {"debug": self._value(v), "chain": -1, "instruction": 0, "output": True}
            for v in outputs
        ]
        self._runs.append(Run("Execute", events))

    def _value(self, value: Any) -> Any:
        if isinstance(value, list | tuple) and value and isinstance(value[0], np.ndarray):
            return [self.tensor(one, one.dtype.str[1:]) for one in value]
        return self.tensor(value, value.dtype.str[1:]) if isinstance(value, np.ndarray) else value

    def write(self, folder: Path, name: str = "run") -> tuple[str, str]:
        """Write NAME.etdp and NAME.bin; returns their paths."""
        dump, buffer = folder / f"{name}.etdp", folder / f"{name}.bin"
        write_dump(dump, self._runs)
        buffer.write_bytes(self._buffer)
        return str(dump), str(buffer)


def floats(*values: float) -> np.ndarray:
    """Values of 32 bits."""
    return np.array(values, np.float32)
