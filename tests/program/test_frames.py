"""Which frames are torch's, which are in installed packages, and what the source line is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.program.frames import Frame, Origin, caller_of, origin_of, source_of

TORCH = (
    "nn/modules/linear.py", "nn/functional.py", "_tensor.py", "_ops.py", "utils/_pytree.py",
    "_dynamo/eval_frame.py", "_higher_order_ops/cond.py", "fx/passes/runtime_assert.py",
    "export/_trace.py", "ao/quantization/fx/convert.py", "utils/checkpoint.py",
)  # fmt: skip
PACKAGES = (
    "/usr/lib/python3.11/site-packages/", "/opt/conda/envs/a b/lib/python3.10/site-packages/",
    "/usr/lib/python3/dist-packages/", "/home/u/proj/.venv/lib64/python3.12/site-packages/",
    "C:\\Users\\u\\miniconda3\\Lib\\site-packages\\", "D:\\py\\Lib\\site-packages\\x.egg\\",
    "/content/runfiles/pip/site-packages/",
)  # fmt: skip
PROJECTS = (
    "/home/u/model.py", "train.py", "/home/u/torch/model.py", "/home/u/torch/train.py",
    "/home/u/torch/nn/blocks.py", "/home/u/torch/utils/data.py", "/home/u/torch/utils/layers.py",
    "/home/u/torch/functional.py", "/home/u/mytorch/nn/modules/linear.py", "/home/u/torch.py",
    "/home/u/torch/models/nn/modules/linear.py", "torch/model.py", "torch.py", "my/torch/net.py",
    "C:\\Users\\u\\torch\\model.py", "D:\\Lib\\model.py", "/home/u/executorch/model.py",
    "/home/u/executorch/examples/net.py", "/home/u/torchao/net.py", "/home/u/lib/net.py",
    "/home/u/pytorch/model.py", "<stdin>", "<ipython-input-3-8f>", "<string>",
    "/home/u/site-packages.py", "/home/u/functorch/net.py",
)  # fmt: skip
TEAMS = (
    "torchvision/models/resnet.py", "transformers/models/bert/modeling_bert.py", "zoo/net.py",
    "timm/layers/mlp.py", "torch_geometric/nn/conv/gcn_conv.py", "torchtune/modules/attention.py",
    "executorch/examples/models/llama/llama_transformer.py", "torchao/_models/llama/model.py",
    "executorch/extension/llm/modules/attention.py", "torch.py", "net.py",
    "team/torch/nn/modules/linear.py",
)  # fmt: skip
LIBRARIES = (
    "torch/nn/modules/linear.py", "torch\\nn\\functional.py", "torch/_tensor.py",
    "torch/functional.py", "functorch/experimental/control_flow.py",
    "/home/u/pytorch/torch/nn/modules/linear.py", "/home/u/pytorch/torch/functional.py",
    "C:\\src\\pytorch\\torch\\_ops.py", "/home/u/ao/torchao/quantization/pt2e/prepare.py",
    "/home/u/executorch/exir/passes/spec_prop_pass.py", "<eval_with_key>.524",
    "<eval_with_key>.5 from /home/u/a.py:3 in forward", "<frozen runpy>",
    "/usr/lib/python3.11/contextlib.py", "/usr/lib/python3.11/json/decoder.py",
    "C:\\Program Files\\Python311\\Lib\\functools.py", "/usr/local/lib/pypy3.10/copy.py",
)  # fmt: skip


def frame(path: str, line: int = 1, function: str = "forward") -> Frame:
    return Frame(path, line, function, "")


@pytest.mark.parametrize("folder", PACKAGES)
def test_torch_is_a_library_wherever_it_is_installed(folder):
    between = "\\" if "\\" in folder else "/"
    paths = [folder + f"torch/{name}".replace("/", between) for name in TORCH]
    paths += [folder + "torch/a_later_release.py", folder + "torchao/quantization/quant_api.py"]
    paths += [folder + "executorch/exir/pass_base.py", folder + "executorch/backends/a/b.py"]
    assert {origin_of(path) for path in paths} == {Origin.LIBRARY}


@pytest.mark.parametrize("folder", PACKAGES)
def test_every_other_package_is_the_models_source(folder):
    between = "\\" if "\\" in folder else "/"
    paths = [folder + name.replace("/", between) for name in TEAMS]
    assert {path: origin_of(path) for path in paths} == dict.fromkeys(paths, Origin.INSTALLED)


@pytest.mark.parametrize("path", PROJECTS)
def test_a_users_file_is_the_users_whatever_its_folders_are_named(path):
    assert origin_of(path) is Origin.USER


@pytest.mark.parametrize("path", LIBRARIES)
def test_torchs_and_pythons_own_files_are_known_without_a_folder_of_packages(path):
    assert origin_of(path) is Origin.LIBRARY


def test_code_that_python_generates_is_no_source():
    assert frame("<string>", function="__init__").is_library
    assert not frame("<string>", function="forward").is_library


def test_only_torchs_frames_are_no_source_line():
    stack = tuple(frame(f"torch/{name}") for name in TORCH)
    assert source_of(stack) is None
    assert caller_of(stack) is None
    assert source_of(()) is None


def test_a_line_that_the_file_states_is_the_source_line():
    stated = Frame("/usr/lib/python3.11/json/decoder.py", 332, "decode", "", is_stated=True)
    assert source_of((stated,)) is stated


USERS = st.sampled_from([path for path in PROJECTS if path != "<string>"])
PACKAGE = "/opt/venv/lib/python3.11/site-packages/"
INSTALLED = st.sampled_from(TEAMS).map(lambda name: PACKAGE + name)
LIBRARY = st.sampled_from(LIBRARIES)


@given(
    st.lists(st.one_of(USERS, INSTALLED, LIBRARY).map(lambda path: (path, origin_of(path)))),
)
def test_the_source_line_is_the_innermost_of_the_model_and_its_caller_the_users(stack):
    frames = tuple(frame(path, line) for line, (path, _) in enumerate(stack, 1))
    of_model = [i for i, (_, origin) in enumerate(stack) if origin is not Origin.LIBRARY]
    of_user = [i for i, (_, origin) in enumerate(stack) if origin is Origin.USER]
    source, caller = source_of(frames), caller_of(frames)
    assert source is (frames[of_model[-1]] if of_model else None)
    if of_model and of_user and of_user[-1] != of_model[-1]:
        assert caller is frames[of_user[-1]]
    else:
        assert caller is None
