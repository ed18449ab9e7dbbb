"""Names of columns and scopes in profiles of PyTorch, ONNX Runtime, and profilers that sample."""

from __future__ import annotations

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
