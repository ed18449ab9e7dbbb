"""Names of the ExecuTorch runtime's own events, in every ETDump and in tables made from one.

From runtime/executor/method.cpp and program.cpp of ExecuTorch, its code that registers kernels, and
XNNPACK's profiler (backends/xnnpack/runtime/profiling/XNNProfiler.cpp).
"""

from __future__ import annotations

import re

# The runtime's own scopes, outside any instruction.
INIT = "Method::init"
LOAD = "Program::load_method"
# One step of an inference driven by the caller; it opens no event block.
STEP = "Method::step"
# The scope of one whole inference; the runtime logs it only if the inference completed.
EXECUTE = "Method::execute"
SCOPES = frozenset({INIT, LOAD, STEP, EXECUTE})

# Instructions: one operator, one delegate call, and those without an operator.
OPERATOR_CALL = "OPERATOR_CALL"
DELEGATE_CALL = "DELEGATE_CALL"
# The control flow instruction: it jumps if a value is false.
JUMP = "JF_CALL"
CONTROL = frozenset({"MOVE_CALL", JUMP, "FREE_CALL"})

# A kernel in an operator's call; the operator's name follows: "native_call_add.out". Kernels that
# EXECUTORCH_LIBRARY registers are logged under their full name: "llama::custom_sdpa.out".
KERNEL_PREFIX = "native_call_"
_NAMESPACE = "::"
_LIBRARY_KERNEL = re.compile(r"[A-Za-z_]\w*::\w+(\.\w+)?", re.ASCII)


def is_library_kernel(name: str) -> bool:
    """Return whether a name is that of an operator with its namespace, "llama::custom_sdpa.out"."""
    return name not in SCOPES and _LIBRARY_KERNEL.fullmatch(name) is not None


def kernel_operator(name: str) -> str:
    """Return the operator of a kernel's event without its namespace: "custom_sdpa.out"."""
    return name.removeprefix(KERNEL_PREFIX).rpartition(_NAMESPACE)[2]


# XNNPACK's name of an operator, its layout and types, a microkernel if any, and how many operators
# of that name came before: "Convolution (NHWC, F32) IGEMM #1". Operators that it made itself, such
# as a lookup table, have no layout and types: "Invalid Unary Op #1".
_XNNPACK_EVENT = re.compile(
    r"(?:([A-Z][A-Za-z0-9 -]*) \(([A-Za-z0-9_, ]*)\)(?: [A-Za-z0-9]+)*"
    r"|(Invalid(?: Unary Op| Binary Op)?)) #[0-9]+",
    re.ASCII,
)


def xnnpack_operator(event: str) -> str | None:
    """Return the operator of an event that XNNPACK logged, "Convolution"; None for other events."""
    match = _XNNPACK_EVENT.fullmatch(event)
    return (match[1] or match[3]) if match else None


def xnnpack_words(event: str) -> tuple[str, ...]:
    """Return the layout and the data types in an event that XNNPACK logged, ("NHWC", "F32")."""
    match = _XNNPACK_EVENT.fullmatch(event)
    return tuple(match[2].split(", ")) if match and match[2] else ()
