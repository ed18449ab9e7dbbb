"""Names that PyTorch's profiler and ONNX Runtime give their own scopes."""

from __future__ import annotations

# ONNX Runtime's scope of one whole inference.
MODEL_RUN = "model_run"
# A step of PyTorch's profiler, without its number: "ProfilerStep#3".
PROFILER_STEP = "ProfilerStep"
