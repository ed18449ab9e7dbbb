"""Names that PyTorch's profiler and ONNX Runtime give their own scopes."""

from __future__ import annotations

# ONNX Runtime's scope of one whole inference.
MODEL_RUN = "model_run"
# A step of PyTorch's profiler, without its number: "ProfilerStep#3".
PROFILER_STEP = "ProfilerStep"
# The column of a Chrome trace with the category of every event.
CATEGORY = "category"
# The categories of PyTorch's steps and `record_function` scopes, and of the profiler's own span.
ANNOTATION, PROFILER_SPAN = "user_annotation", "Trace"
