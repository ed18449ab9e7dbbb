"""Ten models of usual shapes, in sizes that are drawn."""

from __future__ import annotations

import random

from tests.builders.edits.source import Block, Code, Entry, Layer, Model, Size, code

Parts = dict[str, Layer | Block | list[Block]]


def conv(out: Size | None, **settings: int) -> Layer:
    """A convolution; groups=0: depthwise."""
    return Layer("conv", (), out, settings)


def linear(out: Size) -> Layer:
    """A linear layer."""
    return Layer("linear", (), out)


def norm(kind: str = "layer_norm") -> Layer:
    """A layer that normalizes."""
    return Layer(kind)


def named(block: Block, path: str) -> Block:
    """The block, with the names of its layers as what their weights are drawn from."""
    for name, part in block.parts.items():
        inside = f"{path}.{name}"
        if isinstance(part, Layer):
            part.weights = part.weights or (inside,)
        elif isinstance(part, Block):
            named(part, inside)
        else:
            for i, element in enumerate(part):
                element.uid = element.uid or f"{inside}.{i}"
                named(element, element.uid)
    return block


def _model(name: str, root: Parts, inputs: dict[str, tuple[Size, ...]], sizes: dict[str, int],
           *types: tuple[str, Code], stages: str = "", stage_size: str = "") -> Model:  # fmt: skip
    net = named(Block("Net", root), "net")
    return Model(name, dict(types), {"forward": Entry(net, inputs)}, sizes, stages, stage_size)


def _width(dice: random.Random) -> int:
    return dice.choice((8, 12, 16, 24))


def residual(dice: random.Random) -> Model:
    """A CNN with residual blocks."""

    def block() -> Block:
        return Block("BasicBlock", {
            "conv1": conv("c"), "bn1": norm("batch_norm"), "conv2": conv("c"),
            "bn2": norm("batch_norm"),
        })  # fmt: skip

    blocks = [block() for _ in range(dice.randint(2, 5))]
    return _model(
        "residual", {"stem": conv("c", stride=2), "bn": norm("batch_norm"), "blocks": blocks,
                     "fc": linear("classes")},
        {"x": (1, 3, 16, 16)}, {"c": _width(dice), "classes": 10},
        ("BasicBlock", code(
            "BasicBlock", "x", "y = self.conv1(x)", "y = self.bn1(y)", "y = relu(y)",
            "y = self.conv2(y)", "y = self.bn2(y)", "y = skip(x, y)", "return relu(y)",
        )),
        ("Net", code(
            "Net", "x", "x = self.stem(x)", "x = self.bn(x)", "x = relu(x)",
            ("for block in self.blocks", "x = block(x)"), "x = pool(x)", "return self.fc(x)",
        )), stages="blocks", stage_size="c",
    )  # fmt: skip


def depthwise(dice: random.Random) -> Model:
    """A CNN of depthwise and pointwise convolutions."""

    def block() -> Block:
        return Block("Separable", {"dw": conv(None, groups=0), "pw": conv("c", kernel=1)})

    stages = [block() for _ in range(dice.randint(3, 6))]
    return _model(
        "depthwise", {"stem": conv("c", stride=2), "stages": stages, "norm": norm(),
                      "head": linear("classes")},
        {"image": (1, 3, 16, 16)}, {"c": _width(dice), "classes": 4},
        ("Separable", code(
            "Separable", "x", "y = self.dw(x)", "y = relu6(y)", "y = self.pw(y)",
            "return skip(x, y)",
        )),
        ("Net", code(
            "Net", "image", "x = self.stem(image)", "x = hardswish(x)",
            ("for stage in self.stages", "x = stage(x)"), "x = pool(x)", "x = self.norm(x)",
            "return self.head(x)",
        )), stages="stages", stage_size="c",
    )  # fmt: skip


def u_net(dice: random.Random) -> Model:
    """A U-Net of two levels."""

    def double(out: Size) -> Block:
        return Block("Double", {
            "first": conv(out), "bn": norm("batch_norm"), "second": conv(out),
        })  # fmt: skip

    middle = [double("4c") for _ in range(dice.randint(1, 3))]
    return _model(
        "u_net", {"down1": double("c"), "down2": double("2c"), "middle": middle,
                  "up1": double("2c"), "up2": double("c"), "out": conv("classes", kernel=1)},
        {"x": (1, 3, 16, 16)}, {"c": dice.choice((4, 6, 8)), "classes": 3},
        ("Double", code(
            "Double", "x", "x = self.first(x)", "x = self.bn(x)", "x = relu(x)",
            "x = self.second(x)", "return relu(x)",
        )),
        ("Net", code(
            "Net", "x", "a = self.down1(x)", "b = max_pool(a)", "b = self.down2(b)",
            "y = max_pool(b)", ("for block in self.middle", "y = block(y)"), "y = upsample(y)",
            "y = cat(y, b)", "y = self.up1(y)", "y = upsample(y)", "y = cat(y, a)",
            "y = self.up2(y)", "y = self.out(y)", "return sigmoid(y)",
        )), stages="middle", stage_size="",
    )  # fmt: skip


def encoder(dice: random.Random) -> Model:
    """A transformer encoder, its attention by hand."""

    def layer() -> Block:
        attention = Block("Attention", {name: linear("c") for name in ("q", "k", "v", "out")})
        return Block("EncoderLayer", {
            "ln1": norm(), "attn": attention, "ln2": norm(), "fc1": linear("h"),
            "fc2": linear("c"),
        })  # fmt: skip

    layers = [layer() for _ in range(dice.randint(2, 4))]
    c = _width(dice)
    return _model(
        "encoder", {"embed": Layer("embedding", (), "c", {"count": 50}), "layers": layers,
                    "norm": norm(), "head": linear("classes")},
        {"tokens": (1, 12)}, {"c": c, "h": 2 * c, "classes": 5},
        ("Attention", code(
            "Attention", "x", "q = self.q(x)", "k = self.k(x)", "v = self.v(x)",
            "k = transpose(k)", "a = matmul(q, k)", "a = scale(a, factor=4)", "a = softmax(a)",
            "y = matmul(a, v)", "return self.out(y)",
        )),
        ("EncoderLayer", code(
            "EncoderLayer", "x", "y = self.ln1(x)", "y = self.attn(y)", "x = add(x, y)",
            "y = self.ln2(x)", "y = self.fc1(y)", "y = gelu(y)", "y = self.fc2(y)",
            "return add(x, y)",
        )),
        ("Net", code(
            "Net", "tokens", "x = self.embed(tokens)",
            ("for layer in self.layers", "x = layer(x)"), "x = self.norm(x)", "x = average(x)",
            "return self.head(x)",
        )), stages="layers", stage_size="h",
    )  # fmt: skip


def decoder(dice: random.Random) -> Model:
    """A transformer decoder: norms of root mean squares, gated layers."""

    def layer() -> Block:
        attention = Block("SelfAttention", {n: linear("c") for n in ("wq", "wk", "wv", "wo")})
        return Block("DecoderLayer", {
            "attention_norm": Block("RMSNorm", {}), "attention": attention,
            "ffn_norm": Block("RMSNorm", {}),
            "feed_forward": Block("FeedForward", {
                "gate": linear("h"), "up": linear("h"), "down": linear("c"),
            }),
        })  # fmt: skip

    layers = [layer() for _ in range(dice.randint(2, 4))]
    c = _width(dice)
    return _model(
        "decoder", {"embed": Layer("embedding", (), "c", {"count": 64}), "layers": layers,
                    "norm": Block("RMSNorm", {}), "lm_head": linear("vocabulary")},
        {"tokens": (1, 8)}, {"c": c, "h": 3 * c, "vocabulary": 64},
        ("RMSNorm", code(
            "RMSNorm", "x", "s = square(x)", "s = last_mean(s)", "s = shift(s, value=1)",
            "s = rsqrt(s)", "x = mul(x, s)", "return mul(x, self.gain)",
        )),
        ("SelfAttention", code(
            "SelfAttention", "x", "q = self.wq(x)", "k = self.wk(x)", "v = self.wv(x)",
            "k = transpose(k)", "scores = matmul(q, k)", "scores = scale(scores, factor=3)",
            "scores = softmax(scores)", "x = matmul(scores, v)", "return self.wo(x)",
        )),
        ("FeedForward", code(
            "FeedForward", "x", "g = self.gate(x)", "g = silu(g)", "u = self.up(x)",
            "x = mul(g, u)", "return self.down(x)",
        )),
        ("DecoderLayer", code(
            "DecoderLayer", "x", "y = self.attention_norm(x)", "y = self.attention(y)",
            "x = add(x, y)", "y = self.ffn_norm(x)", "y = self.feed_forward(y)",
            "return add(x, y)",
        )),
        ("Net", code(
            "Net", "tokens", "x = self.embed(tokens)",
            ("for layer in self.layers", "x = layer(x)"), "x = self.norm(x)",
            "return self.lm_head(x)",
        )), stages="layers", stage_size="h",
    )  # fmt: skip


def experts(dice: random.Random) -> Model:
    """A mixture of experts that all run, their heads weighted."""

    def expert() -> Block:
        return Block("Expert", {"fc1": linear("h"), "fc2": linear("c")})

    c = _width(dice)
    count = dice.randint(2, 5)
    return _model(
        "experts", {"inp": linear("c"), "router": linear(count),
                    "experts": [expert() for _ in range(count)], "norm": norm(),
                    "head": linear("classes")},
        {"x": (4, 20)}, {"c": c, "h": 2 * c, "classes": 6},
        ("Expert", code("Expert", "x", "x = self.fc1(x)", "x = gelu(x)", "return self.fc2(x)")),
        ("Net", code(
            "Net", "x", "x = self.inp(x)", "w = self.router(x)", "w = softmax(w)",
            "y = scale(x, factor=2)",
            ("for expert in self.experts", "z = expert(x)", "s = weight(w)", "z = mul(z, s)",
             "y = add(y, z)"),
            "y = self.norm(y)", "return self.head(y)",
        )), stages="experts", stage_size="h",
    )  # fmt: skip


def recurrent(dice: random.Random) -> Model:
    """A cell of a recurrent network, unrolled."""
    cell = Block("Cell", {"inp": linear("c"), "rec": linear("c"), "gate": linear("c")})
    return _model(
        "recurrent", {"cell": cell, "norm": norm(), "out": linear("classes")},
        {"x": (1, 8, 12), "h": (1, "c")},
        {"c": _width(dice), "classes": 7, "steps": dice.randint(2, 5)},
        ("Cell", code(
            "Cell", "x, h", "a = self.inp(x)", "b = self.rec(h)", "s = add(a, b)",
            "s = tanh(s)", "g = self.gate(s)", "g = sigmoid(g)", "s = mul(s, g)",
            "return add(h, s)",
        )),
        ("Net", code(
            "Net", "x, h", ("for t in steps", "x_t = select(x)", "h = self.cell(x_t, h)"),
            "h = self.norm(h)", "return self.out(h)",
        )),
    )  # fmt: skip


def two_methods(dice: random.Random) -> Model:
    """Two methods: one encodes, one decodes in steps."""
    c = _width(dice)
    types = (
        ("Encoder", code(
            "Encoder", "x", "x = self.fc1(x)", "x = relu(x)", "x = self.fc2(x)", "x = tanh(x)",
            ("for block in self.blocks", "x = block(x)"), "return self.proj(x)",
        )),
        ("Mixer", code("Mixer", "x", "y = self.norm(x)", "y = self.fc(y)", "y = gelu(y)",
                       "return add(x, y)")),
        ("Decoder", code(
            "Decoder", "z", "z = self.up(z)", "z = relu(z)",
            ("for t in steps", "z = self.refine(z)", "z = sigmoid(z)"), "z = self.norm(z)",
            "return self.out(z)",
        )),
    )  # fmt: skip
    mixers = [Block("Mixer", {"norm": norm(), "fc": linear("c")})
              for _ in range(dice.randint(2, 4))]  # fmt: skip
    encode = named(Block("Encoder", {
        "fc1": linear("2c"), "fc2": linear("c"), "blocks": mixers, "proj": linear("c"),
    }), "encode")  # fmt: skip
    decode = named(Block("Decoder", {
        "up": linear("2c"), "refine": linear("2c"), "norm": norm(), "out": linear(12),
    }), "decode")  # fmt: skip
    return Model(
        "two_methods", dict(types),
        {"encode": Entry(encode, {"x": (1, 12)}), "decode": Entry(decode, {"z": (1, "c")})},
        {"c": c, "steps": dice.randint(2, 4)}, stages="blocks",
    )  # fmt: skip


def detection(dice: random.Random) -> Model:
    """A detector: a backbone, and one head that runs at three levels, with six results."""

    def stage() -> Block:
        return Block("Stage", {"conv": conv("c"), "bn": norm("batch_norm")})

    stages = [stage() for _ in range(dice.randint(2, 4))]
    head = Block("Head", {"shared": conv("c"), "cls": conv("classes", kernel=1),
                          "box": conv(4, kernel=1)})  # fmt: skip
    return _model(
        "detection", {"stem": conv("c", stride=2), "stages": stages, "reduce": conv("c", stride=2),
                      "lateral": conv("c", kernel=1), "head": head},
        {"x": (1, 3, 32, 32)}, {"c": dice.choice((8, 12, 16)), "classes": 6},
        ("Stage", code("Stage", "x", "y = self.conv(x)", "y = self.bn(y)", "y = relu(y)",
                       "return skip(x, y)")),
        ("Head", code(
            "Head", "x", "x = self.shared(x)", "x = relu(x)", "c = self.cls(x)",
            "c = sigmoid(c)", "b = self.box(x)", "return outputs(c, b)",
        )),
        ("Net", code(
            "Net", "x", "x = self.stem(x)", ("for stage in self.stages", "x = stage(x)"),
            "p1 = self.lateral(x)", "p2 = self.reduce(x)", "p3 = max_pool(p2)",
            "c1, b1 = self.head(p1)", "c2, b2 = self.head(p2)", "c3, b3 = self.head(p3)",
            "return outputs(c1, b1, c2, b2, c3, b3)",
        )), stages="stages", stage_size="c",
    )  # fmt: skip


def tiny(dice: random.Random) -> Model:
    """A tiny multilayer perceptron."""
    return _model(
        "tiny", {"fc1": linear("2c"), "fc2": linear("2c"), "fc3": linear("c"),
                 "norm": norm(), "fc4": linear("classes")},
        {"x": (1, 16)}, {"c": _width(dice), "classes": 3},
        ("Net", code(
            "Net", "x", "x = self.fc1(x)", "x = relu(x)", "x = self.fc2(x)", "x = relu(x)",
            "x = self.fc3(x)", "x = tanh(x)", "x = self.norm(x)", "x = self.fc4(x)",
            "return softmax(x)",
        )),
    )  # fmt: skip


MODELS = (residual, depthwise, u_net, encoder, decoder, experts, recurrent, two_methods, detection,
          tiny)  # fmt: skip
