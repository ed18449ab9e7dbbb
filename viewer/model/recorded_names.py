"""Names that runtimes, compilers and profilers give their own scopes, events and columns.

Those of ExecuTorch are from runtime/executor/method.cpp and program.cpp, its code that registers
kernels, and XNNPACK's profiler (backends/xnnpack/runtime/profiling/XNNProfiler.cpp). Those of the
Torq compiler and runtime are in profiles and in debug info. Columns that say what a layer is have
these names whatever the tool calls them, and layers that differ in one of them have keys of their
own.
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
RUNTIME_SCOPES = frozenset({INIT, LOAD, STEP, EXECUTE})

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
    return name not in RUNTIME_SCOPES and _LIBRARY_KERNEL.fullmatch(name) is not None


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


# Columns of slices: the numbers of a dispatch, its actions, jobs and tasks; what an action does;
# and the bytes that a transfer moves.
DISPATCH, ACTION_ID, JOB_ID, TASK_ID = "dispatch", "action_id", "job_id", "task_id"
OPERATIONS = "operations"  # only in annotated profiles
BYTES = "bytes"

# Tracks.
HOST, HAL, NSS_JOBS = "Host", "HAL", "NSS jobs"

# One action starts an NSS job and another waits for it: events of a host profile, and operations of
# the compiler.
NSS_START, NSS_WAIT = "NSS_START", "NSS_WAIT"
START_PROGRAM, WAIT_PROGRAM = "torq_hl.start_program", "torq_hl.wait_program"


def job_name(number: int) -> str:
    """The display name of an NSS job, because no file names it."""
    return f"job {number}"


# What a compiler and its runtime name alike.
LOCATION, ACTION, JOB, TASK = "location", "action", "job", "task"


# The column of the kinds of slices.
CATEGORY = "category"
# ONNX Runtime's scope of one whole inference.
MODEL_RUN = "model_run"
# A step of PyTorch's profiler, without its number: "ProfilerStep#3".
PROFILER_STEP = "ProfilerStep"
# The categories of PyTorch's steps and `record_function` scopes, of their copies around the kernels
# of a GPU, and of the profiler's own span.
ANNOTATION, GPU_COPY, PROFILER_SPAN = "user_annotation", "gpu_user_annotation", "Trace"
# The column of how many samples a sampled slice is made of.
SAMPLES = "samples"

# Formats whose profiles name the operators or layers of a model.
LAYER_TABLE = "Layer table"
OF_RUNTIMES = frozenset(("LiteRT benchmark", "Vela per-layer CSV"))


def may_record_operators(form: str) -> bool:
    """Return whether profiles of a format can record operators, call sites or layers."""
    return form in OF_RUNTIMES or form == LAYER_TABLE or form.startswith("Chrome")


LAYER_TYPE, LAYER_UNIT, LAYER_KERNEL, LAYER_BACKEND, LAYER_COUNT = (
    "type",
    "unit",
    "kernel",
    "backend",
    "count",
)
LAYER_COLUMNS = (LAYER_TYPE, LAYER_UNIT, LAYER_KERNEL, LAYER_BACKEND, LAYER_COUNT)
