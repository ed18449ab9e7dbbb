"""What the tests of program files share: the models in `tests/data/pte`."""

# Each has a dump, an ETRecord and a program file.
MODELS = (
    "cond", "custom", "dyn_x", "embedded2", "llama", "mobile_x", "multi3", "part_x", "quant_p",
    "tpass2",
)  # fmt: skip
