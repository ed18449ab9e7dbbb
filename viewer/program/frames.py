"""Python stack frames, and which of them is the source line of an operator.

A frame of torch or of Python itself is a *library* frame. Every other one is the model's source,
also in an installed package, and the innermost of these is the source line. If it is in an
installed package, the innermost frame of the user's own files is where it was called from.

A path is that of another machine, so it has to prove by itself that it is torch's: it is in the
installed package, or in a folder `torch` that has what torch's own has at this place. So
`/home/me/pytorch/torch/nn/modules/linear.py` is torch's, `/home/me/torch/model.py` is not.
"""

from __future__ import annotations

import re
import sys
from enum import Enum
from functools import lru_cache

from viewer.dataclasses import dataclass

_FRAME = re.compile(r' *File "([^"\n]*)", line (\d{1,9}), in (\S[^\n]*)')

# An egg is a folder of its own inside the packages.
_PACKAGES = re.compile(r".*/(?:site|dist)-packages/(?:[^/]+\.egg/)?(.*)", re.DOTALL)
_PYTHON = re.compile(r"(?:.*/)?lib(?:32|64)?/(?:python|pypy)\d[^/]*/([^/]*)", re.DOTALL)
_PYTHON_ON_WINDOWS = re.compile(r"[A-Za-z]:/(?:.*/)?Lib/([^/]*)", re.DOTALL | re.IGNORECASE)

# The parts of installed packages that are torch's. executorch and torchao have models, too.
_OF_TORCH = (
    "torch/", "functorch/", "torchgen/", "torchao/", "executorch/exir/", "executorch/backends/",
    "executorch/devtools/",
)  # fmt: skip
_MODELS = ("torchao/_models/",)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What torch's packages have, as in torch 2.0 to 2.13, executorch 0.1 to 1.5 and torchao: "nn/" a
# folder, "_ops.py" a file. Folders whose names other projects use too are listed one level deeper.
_KNOWN = {
    "torch": _names(
        """
        _C/ _awaits/ _custom_op/ _decomp/ _dispatch/ _dynamo/ _export/ _functorch/
        _higher_order_ops/ _inductor/ _lazy/ _library/ _logging/ _native/ _numpy/ _prims/
        _prims_common/ _refs/ _strobelight/ _subclasses/ _vendor/
        _classes.py _compile.py _custom_ops.py _deploy.py _guards.py _jit_internal.py
        _linalg_utils.py _lobpcg.py _lowrank.py _meta_registrations.py _namedtensor_internals.py
        _ops.py _python_dispatcher.py _tensor.py _tensor_str.py _utils_internal.py
        _vmap_internals.py _weights_only_unpickler.py
        ao/nn/ ao/ns/ ao/pruning/ ao/quantization/ amp/autocast_mode.py amp/grad_scaler.py
        autograd/_functions/ autograd/forward_ad.py autograd/function.py autograd/functional.py
        autograd/grad_mode.py autograd/gradcheck.py autograd/graph.py autograd/profiler.py
        compiler/_cache.py cpu/amp/ cuda/amp/ cuda/graphs.py cuda/nvtx.py cuda/streams.py
        distributed/_composable/ distributed/_functional_collectives.py distributed/_tensor/
        distributed/__init__.py distributed/distributed_c10d.py distributed/fsdp/
        distributed/tensor/ distributions/constraints.py distributions/distribution.py
        distributions/kl.py distributions/normal.py
        export/_draft_export.py export/_trace.py export/_unlift.py export/decomp_utils.py
        export/dynamic_shapes.py export/exported_program.py export/experimental/ export/passes/
        export/unflatten.py func/__init__.py
        fx/_compatibility.py fx/_lazy_graph_module.py fx/_pytree.py fx/_symbolic_trace.py
        fx/_utils.py fx/experimental/ fx/graph.py fx/graph_module.py fx/interpreter.py fx/node.py
        fx/operator_schemas.py fx/passes/ fx/proxy.py fx/subgraph_rewriter.py fx/traceback.py
        jit/_decompositions.py jit/_monkeytype_config.py jit/_recursive.py jit/_script.py
        jit/_trace.py masked/_ops.py masked/maskedtensor/ nested/_internal/
        nn/_reduction.py nn/attention/ nn/functional.py nn/grad.py nn/init.py nn/intrinsic/
        nn/modules/ nn/parallel/ nn/parameter.py nn/qat/ nn/quantizable/ nn/quantized/ nn/utils/
        onnx/_internal/ onnx/symbolic_helper.py
        optim/_functional.py optim/_multi_tensor/ optim/adam.py optim/adamw.py
        optim/lr_scheduler.py optim/optimizer.py optim/rmsprop.py optim/sgd.py
        profiler/_pattern_matcher.py profiler/profiler.py
        quantization/fake_quantize.py quantization/fx/ quantization/observer.py
        quantization/qconfig.py quantization/quantize_fx.py quantization/stubs.py
        sparse/_triton_ops.py sparse/semi_structured.py
        testing/_comparison.py testing/_creation.py testing/_internal/
        utils/_contextlib.py utils/_device.py utils/_foreach_utils.py utils/_python_dispatch.py
        utils/_pytree.py utils/_stats.py utils/_sympy/ utils/_traceback.py utils/checkpoint.py
        utils/data/ utils/flop_counter.py utils/hooks.py utils/mkldnn.py utils/module_tracker.py
        """
    ),
    "functorch": _names("_src/ compile/ dim/ einops/ experimental/"),
    "torchgen": _names("api/ dest/ executorch/ gen.py"),
    "torchao": _names("core/ dtypes/ float8/ kernel/ quantization/ sparsity/ swizzle/"),
    "executorch": _names("backends/ devtools/ exir/"),
}
# Files of torch that other projects have too: torch's, if the path starts with torch's folder, as
# in profiles, or if that is in a checkout of pytorch.
_CHECKED_OUT = _names(
    """
    __init__.py functional.py hub.py library.py overrides.py quasirandom.py random.py
    return_types.py serialization.py storage.py types.py
    """
)
# Code without a file: what torch.fx and Python generate. Others (<stdin>, a notebook's cell) are
# the user's.
_GENERATED = ("<eval_with_key>", "<frozen ")
_PATHS_KEPT = 4096


class Origin(Enum):
    """Whose code a frame is. LIBRARY: torch or Python. INSTALLED: any other installed package."""

    USER = "user"
    INSTALLED = "installed"
    LIBRARY = "library"


@lru_cache(_PATHS_KEPT)
def origin_of(path: str) -> Origin:
    """Whose code the file of a recorded path is, by the path alone; of any operating system."""
    if path.startswith("<"):
        return Origin.LIBRARY if path.startswith(_GENERATED) else Origin.USER
    path = path.replace("\\", "/")
    if inside := _PACKAGES.fullmatch(path):
        is_torch = inside[1].startswith(_OF_TORCH) and not inside[1].startswith(_MODELS)
        return Origin.LIBRARY if is_torch else Origin.INSTALLED
    if _is_of_torch(path.split("/")):
        return Origin.LIBRARY
    if inside := _PYTHON.match(path):
        # Python's own folder can also have packages that a system put there.
        return Origin.LIBRARY if _is_of_python(inside[1]) else Origin.INSTALLED
    inside = _PYTHON_ON_WINDOWS.match(path)
    return Origin.LIBRARY if inside and _is_of_python(inside[1]) else Origin.USER


def _is_of_torch(parts: list[str]) -> bool:
    for i, name in enumerate(parts[:-1]):
        modules = _KNOWN.get(name)
        if modules is None:
            continue
        below = parts[i + 1 :]
        ends = ("" if len(below) == 1 else "/", "" if len(below) == 2 else "/")
        if f"{below[0]}{ends[0]}" in modules:
            return True
        if len(below) > 1 and f"{below[0]}/{below[1]}{ends[1]}" in modules:
            return True
        is_checkout = i == 0 or parts[i - 1].startswith("pytorch")
        if name == "torch" and is_checkout and len(below) == 1 and below[0] in _CHECKED_OUT:
            return True
    return False


def _is_of_python(name: str) -> bool:
    return name.removesuffix(".py") in sys.stdlib_module_names or name == "lib-dynload"


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a recorded Python stack trace. The path is untrusted: check it before opening.

    is_stated: the file states it as the operator's place, not as one call of a stack. It is the
    source line then, whosever code it is.
    """

    path: str
    line: int
    function: str
    text: str
    is_stated: bool = False

    @property
    def is_library(self) -> bool:
        """Whether the line is torch's or Python's own, rather than the model's source."""
        return not self.is_stated and self._origin is Origin.LIBRARY

    @property
    def is_users(self) -> bool:
        """Whether the line is in a file of the user's own, outside of installed packages."""
        return self._origin is Origin.USER

    @property
    def _origin(self) -> Origin:
        # dataclasses and namedtuples generate methods, in code that has no name of its own.
        if self.path == "<string>" and self.function.startswith("__"):
            return Origin.LIBRARY
        return origin_of(self.path)


def source_of(frames: tuple[Frame, ...]) -> Frame | None:
    """The source line of a stack: its innermost frame that is no library's; None without one."""
    return next((frame for frame in reversed(frames) if not frame.is_library), None)


def caller_of(frames: tuple[Frame, ...]) -> Frame | None:
    """The line in the user's own files that a stack's source line was called from.

    None if the source line is itself in a file of the user's, or no frame is.
    """
    source = source_of(frames)
    if source is None or source.is_users:
        return None
    return next((frame for frame in reversed(frames) if frame.is_users), None)


def users_line_of(frames: tuple[Frame, ...]) -> Frame | None:
    """The source line if it is in a file of the user's own, else where it was called from."""
    source = source_of(frames)
    return source if source is not None and source.is_users else caller_of(frames)


def without_export(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Leave out torch's own export frames, which are the outermost."""
    first = next((i for i, frame in enumerate(frames) if not frame.is_library), 0)
    return frames[first:]


def parse_frames(stack_trace: str) -> tuple[Frame, ...]:
    """Parse the frames of a Python traceback, outermost first; other lines are skipped."""
    frames: list[Frame] = []
    lines = stack_trace.split("\n")
    for i, line in enumerate(lines):
        match = _FRAME.fullmatch(line)
        if match:
            text = lines[i + 1].strip() if i + 1 < len(lines) else ""
            is_frame = _FRAME.fullmatch(text) is not None
            frames.append(
                Frame(match[1], int(match[2]), match[3].rstrip(), "" if is_frame else text)
            )
    return tuple(frames)
