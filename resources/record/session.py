"""One session of `opscope record --on local`: loads a program, runs it, and writes an ETDump.

It runs in the user's interpreter, with ExecuTorch's wheel, in a process of its own for each
session. Nothing of Opscope is imported. What it learned is the last line of its output: a JSON
object after `MARK`.
"""

import argparse
import importlib.metadata
import json
import os
import sys
import time
from typing import Any

MARK = "opscope-session "
MOST_BRACKETS = 400  # more would only make them longer than what is read
# `executorch::runtime::etensor::ScalarType`, by number.
TYPES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 11: "bool", 15: "bfloat16",
}  # fmt: skip


def runtime() -> Any:
    """Return the extension module alone: the package around it takes ten times as long."""
    import torch  # noqa: F401  # its libraries, which the extension is linked with

    for name in ("_C", "_portable_lib", "portable_lib"):
        try:
            return importlib.import_module(f"executorch.extension.pybindings.{name}")
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError("No module named 'executorch'")


def tensor(meta: Any, what: str, number: int) -> Any:
    """Return the input of this number, as --inputs states it: ones, random, or a file's bytes."""
    import torch

    if meta.dtype() not in TYPES:
        raise SystemExit(f"opscope: input {number} has an unknown data type, number {meta.dtype()}")
    dtype, sizes = getattr(torch, TYPES[meta.dtype()]), tuple(meta.sizes())
    if what.startswith("random:"):
        torch.manual_seed(int(what.partition(":")[2]) + number)
        return torch.randn(sizes).to(dtype) if dtype.is_floating_point else torch.randint(
            0, 2, sizes).to(dtype)  # fmt: skip
    if not what:
        return torch.ones(sizes, dtype=dtype)
    files = what.split(",")
    if number >= len(files):
        raise SystemExit(f"opscope: input {number} has no file: --inputs names {len(files)}")
    with open(files[number], "rb") as file:
        data = bytearray(file.read())
    if len(data) != meta.nbytes():
        raise SystemExit(
            f"opscope: {files[number]} has {len(data)} bytes; input {number} {meta.nbytes()}"
        )
    return torch.frombuffer(data, dtype=dtype).reshape(sizes)


def inputs(module: Any, method: str, what: str) -> list[Any]:
    """Return the inputs of a method; 1 for those that are no tensors."""
    found, meta = [], module.method_meta(method)
    for number in range(meta.num_inputs()):
        try:
            own = meta.input_tensor_meta(number)
        except RuntimeError:
            found.append(1)
            continue
        found.append(tensor(own, what, number))
    return found


def main() -> None:
    """Run one session."""
    parser = argparse.ArgumentParser()
    for name in ("--program", "--etdump"):
        parser.add_argument(name, required=True)
    parser.add_argument("--inferences", type=int, default=1)
    parser.add_argument("--method", default="")
    parser.add_argument("--inputs", default="")
    parser.add_argument("--threads", type=int, default=0)
    chosen = parser.parse_args()
    et = runtime()
    if chosen.threads > 0:
        set_threads = getattr(et, "_unsafe_reset_threadpool", None)
        if set_threads is None:
            raise SystemExit("opscope: this version of executorch cannot set the number of threads")
        set_threads(chosen.threads)
    with open(chosen.program, "rb") as file:
        is_bundle = file.read(6)[4:] == b"BP"
    if is_bundle:
        with open(chosen.program, "rb") as file:
            bundle = et._load_bundled_program_from_buffer(file.read())
        module = et._load_for_executorch_from_bundled_program(bundle, enable_etdump=True)
    else:
        module = et._load_for_executorch(chosen.program, enable_etdump=True)
    if not module.has_etdump():
        raise SystemExit(
            "opscope: this executorch has no event tracer; install the wheel 1.5 or newer"
        )
    names = module.method_names()
    method = chosen.method or ("forward" if "forward" in names else names[0])
    if method not in names:
        raise SystemExit(f"opscope: the program has no method {method}, but {', '.join(names)}")
    own = inputs(module, method, chosen.inputs)
    brackets = []
    for number in range(chosen.inferences):
        before = time.monotonic_ns()
        module.run_method(method, own, clone_outputs=False)
        after = time.monotonic_ns()
        if number < MOST_BRACKETS:
            brackets.append((before, after))
    module.write_etdump_result_to_file(chosen.etdump)
    facts = {
        "executorch": importlib.metadata.version("executorch"),
        "python": sys.version.partition(" ")[0],
        "host_monotonic_ns": brackets,
    }
    print(f"{MARK}{json.dumps(facts)}", flush=True)
    os._exit(0)  # the libraries take a second to unload


if __name__ == "__main__":
    main()
