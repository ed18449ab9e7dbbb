"""Bytes that tools write as text are the same bytes again, with lines of others in between."""

import base64
import random

import pytest

from viewer.formats.in_log import byte_blocks, may_have_bytes

OTHERS = ["W (231) heap: low on memory", "", "ok"]


def rows(data, size=16):
    return [(at, data[at : at + size]) for at in range(0, len(data), size)]


def squeezed(data, row, offset):
    """Rows as hexdump and od write them: equal ones are "*", and the size is last."""
    lines, before = [], None
    for at, part in rows(data):
        if part != before:
            lines.append(f"{offset(at)}{row(part)}")
        elif lines[-1] != "*":
            lines.append("*")
        before = part
    return [*lines, offset(len(data)).strip()]


def words(part):
    part += b"\0" * (len(part) % 2)
    return " ".join(f"{part[i] | part[i + 1] << 8:04x}" for i in range(0, len(part), 2))


def pairs(part):
    return " ".join(f"{byte:02x}" for byte in part)


def quads(part):
    return " ".join(part.hex()[i : i + 4] for i in range(0, 2 * len(part), 4))


def base64_lines(data, size, before="", *, url=False):
    text = (base64.urlsafe_b64encode if url else base64.b64encode)(data).decode()
    parts = [text[i : i + size] for i in range(0, len(text), size)]
    return [f"{before.format(n)}{part}" for n, part in enumerate(parts)]


# For each tool, its lines, and whether lines of others can be in between.
DUMPS = {
    "base64": (lambda d: base64_lines(d, 76), True),
    "base64 of 64": (lambda d: base64_lines(d, 64), True),
    "base64 of 48": (lambda d: base64_lines(d, 48), True),
    "base64 for addresses": (lambda d: base64_lines(d, 76, url=True), True),
    "base64 with a name": (lambda d: base64_lines(d, 76, "ETDUMP: "), True),
    "base64 with numbers": (lambda d: base64_lines(d, 76, "[{:04}/0031] dump: "), True),
    "base64 with short numbers": (lambda d: base64_lines(d, 76, "dump {}: "), True),
    "PEM": (lambda d: ["-----BEGIN ETDUMP-----", *base64_lines(d, 64), "-----END ETDUMP-----"],
            True),
    "Python": (lambda d: [f"    b'{line}'" for line in base64_lines(d, 76)], True),
    "xxd": (lambda d: [f"{at:08x}: {quads(part):39}  {'.' * len(part)}" for at, part in rows(d)],
            True),
    "hexdump": (lambda d: squeezed(d, words, "{:07x} ".format), True),
    "hexdump -C": (lambda d: squeezed(d, lambda p: f"{pairs(p):48}  |{'.' * len(p)}|",
                                      "{:08x}  ".format), True),
    "od -x": (lambda d: squeezed(d, words, "{:07o} ".format), True),
    "od -t x1": (lambda d: squeezed(d, pairs, "{:07o} ".format), True),
    "od -A d -t x1": (lambda d: squeezed(d, pairs, "{:07d} ".format), True),
    "gdb x/xb": (lambda d: [f"0x{0x20000000 + at:08x}:\t"
                            + "\t".join(f"0x{b:02x}" for b in part) for at, part in rows(d, 8)],
                 True),
    "C": (lambda d: ["const uint8_t dump[] = {",
                     *(f"  {', '.join(f'0x{b:02X}' for b in part)}," for _, part in rows(d, 12)),
                     "};"], False),
    "hex": (lambda d: [pairs(part) for _, part in rows(d)], False),
    "one hex": (lambda d: [part.hex() for _, part in rows(d, 32)], False),
    "upper hex": (lambda d: [f"{at:04X}: {pairs(part).upper()}" for at, part in rows(d)], True),
}  # fmt: skip


def samples():
    for seed in range(24):
        of = random.Random(seed)
        size = of.choice([64, 95, 96, 97, 255, 400, 1001])
        data = of.randbytes(size)
        begin = of.randrange(32, size)
        yield data[:begin] + b"\0" * of.choice([0, 7, 80, 160]) + data[begin:]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("tool", DUMPS)
def test_bytes_are_the_same_again(tool, mixed):
    dump, may_mix = DUMPS[tool]
    for data in samples():
        lines = ["boot", *dump(data), "", "bye bye"]
        if mixed and may_mix:
            of = random.Random(len(data))
            for _ in range(5):
                lines.insert(of.randrange(2, len(lines) - 2), of.choice(OTHERS))
        assert len(data) < 400 or may_have_bytes("\n".join(lines).encode())
        found = [one for _, _, one in byte_blocks(lines)]
        # A last row of one or two letters cannot be told from a word.
        assert len(found) == 1, (tool, len(data))
        assert found[0] == data


@pytest.mark.parametrize("tool", ["xxd", "hexdump -C", "od -t x1", "gdb x/xb", "upper hex"])
def test_nothing_is_joined_over_a_lost_row(tool):
    data = bytes(range(256)) * 2
    lines = DUMPS[tool][0](data)
    del lines[9]
    width = 8 if "gdb" in tool else 16
    first = next(one for _, _, one in byte_blocks(lines))
    assert first == data[: 9 * width]
