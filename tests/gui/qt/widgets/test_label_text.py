"""Which text fits a slice: full, shorter, three letters and an ellipsis, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QFont

from viewer.gui.qt.widgets.label_text import LabelCache, bar_label, fitting, variants


def ten(text):
    """Every letter is ten pixels wide."""
    return 10 * len(text)


@pytest.mark.parametrize(
    ("label", "bar"),
    [
        ("aten::conv2d", "conv2d"),
        ("aten::_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention"),
        ("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
         "evaluate_function: AccumulateGrad"),
        ("aten.convolution.default", "convolution.default"),
        ("torch.ops.aten.add.Tensor", "add.Tensor"),
        ("linear + aten::relu", "linear + relu"),
        ("Method::execute", "Method::execute"),
        ("blocks.0.attn · linear", "blocks.0.attn · linear"),
        ("blocks.aten.relu", "blocks.aten.relu"),
        ("aten::", "aten::"),
        ("12::30", "12::30"),
    ],
)  # fmt: skip
def test_a_bar_has_no_namespaces(label, bar):
    assert bar_label(label) == bar
    assert variants(label)[0] == bar


@pytest.mark.parametrize(
    ("label", "forms"),
    [
        ("torch/nn/modules/module.py(1954): __getattr__",
         ["torch/nn/modules/module.py(1954): __getattr__", "module.py(1954): __getattr__",
          "__getattr__"]),
        ("train.py(33): step", ["train.py(33): step", "step"]),
        ("<built-in method append of list object at 0x7f0e>",
         ["<built-in method append of list object at 0x7f0e>", "append"]),
        ("nn.Module: Linear_0", ["nn.Module: Linear_0", "Linear_0"]),
        ("conv", ["conv"]),
        ("XnnpackBackend · 5 ops",
         ["XnnpackBackend · 5 ops", "Xnnpack · 5 ops", "5 ops"]),
        ("XnnpackBackend · 1 op", ["XnnpackBackend · 1 op", "Xnnpack · 1 op", "1 op"]),
        ("forward · run 2", ["forward · run 2", "run 2", "2"]),
        ("forward · run 3 of 25",
         ["forward · run 3 of 25", "run 3 of 25", "3 of 25", "3"]),
        ("forward · run 2 of 3, did not finish",
         ["forward · run 2 of 3, did not finish", "run 2 of 3, did not finish", "did not finish"]),
        ("blocks.0.attn · linear", ["blocks.0.attn · linear", "attn · linear", "linear"]),
        ("blocks.0 · linear", ["blocks.0 · linear", "linear"]),
        ("attn · linear", ["attn · linear", "attn · linear", "linear"]),
        ("tosa.conv2d@L11", ["tosa.conv2d@L11", "conv2d@L11", "conv2d"]),
        ("NSS_WAIT · tosa.add@L16 + tosa.cast@L15",
         ["NSS_WAIT · tosa.add@L16 + tosa.cast@L15", "NSS_WAIT · add@L16 + cast@L15",
          "NSS_WAIT · add + cast", "add + cast"]),
    ],
)  # fmt: skip
def test_shorter_forms_longest_first(label, forms):
    assert variants(label) == forms


@pytest.mark.parametrize(
    ("room", "text"),
    [(220, "blocks.0.attn · linear"), (219, "attn · linear"), (129, "linear"), (59, "line…"),
     (50, "line…"), (40, "lin…"), (39, "lin"), (30, "lin"), (29, ""), (0, ""), (-20, "")],
)  # fmt: skip
def test_the_longest_form_that_fits(room, text):
    assert fitting("blocks.0.attn · linear", room, ten) == text


@pytest.mark.parametrize("label", ["a", "abc", "ab · c"])
def test_a_short_label_is_whole_or_absent(label):
    assert fitting(label, ten(label), ten) == label
    assert fitting(label, 9, ten) == ""


def test_no_space_stands_before_the_ellipsis():
    assert fitting("Static Reshape", 80, ten) == "Static…"


@given(st.text(max_size=40), st.floats(-10, 500))
def test_what_is_drawn_fits_and_tells_something(label, room):
    text = fitting(label, room, ten)
    if text and text != label:
        assert ten(text) <= max(room, 40)
        assert text in variants(label) or text.endswith("…") or text.isalnum()


def test_the_cache_answers_the_same_text_and_forgets_the_oldest(qapp):
    cache = LabelCache(QFont(), limit=2)
    wide = cache.width("convolution") + 8
    first = cache.fit("convolution", wide)
    assert first.text() == "convolution"
    assert cache.fit("convolution", wide) is first
    assert cache.fit("convolution", 5) is None
    cache.fit("convolution", wide)
    cache.fit("other", wide)
    assert cache.fit("convolution", wide) is first
    assert len(cache._fitted) == 2


def test_a_fitted_text_is_never_wider_than_its_room(qapp):
    cache = LabelCache(QFont())
    for room in range(0, 200, 7):
        text = cache.fit("blocks.0.attn · scaled_dot_product_attention", room)
        assert text is None or cache.width(text.text()) <= room


def test_a_label_is_never_read_as_markup(qapp):
    from PySide6.QtCore import Qt

    cache = LabelCache(QFont())
    text = cache.fit("<b>conv</b>", 500)
    assert text.textFormat() == Qt.TextFormat.PlainText


def test_the_widths_that_are_kept_are_bounded(qapp):
    cache = LabelCache(QFont(), limit=10)
    for n in range(200):
        cache.width(str(n))
    assert len(cache._widths) <= 41
