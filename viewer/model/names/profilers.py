"""Names that PyTorch's profiler and ONNX Runtime give their own scopes."""

from __future__ import annotations

# The column of the kinds of slices.
CATEGORY = "category"
# ONNX Runtime's scope of one whole inference.
MODEL_RUN = "model_run"
# A step of PyTorch's profiler, without its number: "ProfilerStep#3".
PROFILER_STEP = "ProfilerStep"
# The category of the copies that PyTorch draws of its scopes and steps around their GPU kernels.
GPU_COPY = "gpu_user_annotation"
