"""Program files of all generations: what ran, beside what the export emitted; and damaged files."""

import json
import random
import struct
import time
import tracemalloc

import pytest

from tests.builders.pte_writer import DELEGATE, FREE, JUMP, KERNEL, MOVE, Method, write_program
from tests.paths import DATA
from viewer.codecs.reading import ReadCancelled, UnreadableFile
from viewer.formats import choose, open_file
from viewer.program.executables import Executable, InstructionKind, PartKind
from viewer.reports.info import info, info_text
from viewer.workspace.workspace import Workspace

FILES = DATA / "pte"
INSTRUCTIONS = json.loads((FILES / "instructions.json").read_text())
XNNPACK_NODES = json.loads((FILES / "xnnpack_nodes.json").read_text())
KINDS = {
    "KernelCall": InstructionKind.KERNEL_CALL,
    "DelegateCall": InstructionKind.DELEGATE_CALL,
    "MoveCall": InstructionKind.MOVE_CALL,
    "JumpFalseCall": InstructionKind.JUMP_FALSE_CALL,
}
MEMORY = 40, 8 << 20  # most bytes per byte of a damaged file, and beside it


def executable(path) -> Executable:
    """What is in a file, however it is named."""
    found = open_file(str(path))
    assert isinstance(found, Executable)
    return found


def file_of(model):
    return next(FILES / f"{model}.{end}" for end in ("pte", "bpte")
                if (FILES / f"{model}.{end}").exists())  # fmt: skip


def refusal(path) -> str:
    with pytest.raises(UnreadableFile) as refused:
        open_file(str(path))
    return str(refused.value).removeprefix(str(path))


# -- real files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", INSTRUCTIONS)
def test_the_instructions_are_those_that_the_export_emitted(model):
    found = executable(file_of(model))
    assert found.problems == ()
    assert {
        method.name: [(i.number, i.kind, i.name) for i in method.instructions]
        for method in found.methods
    } == {
        method: [(number, KINDS[kind], name) for number, (kind, name) in enumerate(emitted)]
        for method, emitted in INSTRUCTIONS[model].items()
    }


@pytest.mark.parametrize("model", XNNPACK_NODES)
def test_the_nodes_of_an_xnnpack_delegate_are_those_of_its_export(model):
    found = executable(file_of(model))
    for name, calls in XNNPACK_NODES[model].items():
        method = found.method(name)
        assert len(method.delegates) == len(calls)
        for number, nodes in calls.items():
            delegate = method.delegates[method.instructions[int(number)].delegate]
            assert (delegate.backend, delegate.unread) == ("XnnpackBackend", "")
            assert [[node.type, node.debug_handle] for node in delegate.nodes] == nodes


@pytest.mark.parametrize("model", [*INSTRUCTIONS, "ext"])
def test_the_parts_add_up_to_the_file(model):
    found = executable(file_of(model))
    assert sum(part.size for part in found.parts) == found.size == file_of(model).stat().st_size


def test_control_flow_of_a_conditional():
    instructions = executable(FILES / "cond.pte").method("forward").instructions
    jump, move = instructions[2], instructions[5]
    assert (jump.kind, jump.values, jump.target) == (InstructionKind.JUMP_FALSE_CALL, (4,), 7)
    assert (move.kind, move.values, move.target) == (InstructionKind.MOVE_CALL, (15, 13), -1)


def test_tensors_with_planned_memory_and_bounds():
    method = executable(FILES / "dyn_x.pte").method("forward")
    tensors = method.tensors
    assert tensors.value[:3].tolist() == [0, 1, 2]
    assert [tensors.text(i) for i in range(3)] == ["i64 scalar", "f32 up to 8 × 6", "f32 scalar"]
    assert tensors.size[:3].tolist() == [8, 192, 4]
    assert tensors.memory[:3].tolist() == [-1, 1, 1]
    assert tensors.offset[:3].tolist() == [-1, 576, 864]
    assert tensors.constant[:3].tolist() == [1, -1, -1]
    assert tensors.is_input[:3].tolist() == [False, True, False]
    assert (method.buffer_sizes, method.planned_bytes) == ((0, 944), 944)
    assert (method.inputs, method.outputs) == ((1,), (25,))


def test_a_list_of_tensors_names_its_members():
    assert executable(FILES / "multi3.pte").methods[0].lists == {18: (12, 13, 14)}


def test_weights_in_another_file_have_a_name_and_no_data():
    tensors = executable(FILES / "ext.pte").method("forward").tensors
    assert (tensors.named(0), bool(tensors.is_external[0])) == ("towers.0.0.weight", True)
    assert (tensors.constant[0], tensors.memory[0]) == (-1, -1)


def test_a_bundled_program_opens_as_the_program_inside():
    found = executable(FILES / "same.bpte")
    assert (found.format, found.generation) == ("ExecuTorch program", "1.0+")
    assert found.part_sizes()[PartKind.TESTS] == 800


def test_it_is_recognized_by_its_content(tmp_path):
    path = tmp_path / "renamed.txt"
    path.write_bytes((FILES / "cond.pte").read_bytes())
    assert choose(path.read_bytes()[:4096], str(path)).kind == "executable"
    assert executable(path).methods[0].name == "forward"


def test_reading_can_be_cancelled():
    with pytest.raises(ReadCancelled):
        open_file(str(FILES / "cond.pte"), cancelled=lambda: True)


# -- other generations ---------------------------------------------------------------------------


def test_files_before_0_4_have_their_constants_inside(tmp_path):
    path = write_program(
        tmp_path / "old.pte",
        Method(instructions=[(KERNEL, 0, [0]), (DELEGATE, 0, [0])], delegates=[("Own", False, 0)],
               tensors=[(6, [2, 3], None)]),
        constants=[b"", bytes(1000)], inline=[bytes(500)], header=0,
    )  # fmt: skip
    found = executable(path)
    assert (found.generation, found.problems) == ("0.1-0.3", ())
    assert found.methods[0].delegates[0].size == 500
    assert found.part_sizes()[PartKind.CONSTANTS] == 1000
    assert found.part_sizes()[PartKind.DELEGATES] == 500
    assert sum(part.size for part in found.parts) == path.stat().st_size


def test_a_header_of_24_bytes_is_one_before_1_0(tmp_path):
    method = Method(delegates=[("Own", True, 0)])
    path = write_program(tmp_path / "a.pte", method, segments=[bytes(77)], header=24)
    found = executable(path)
    assert (found.generation, found.methods[0].delegates[0].size) == ("0.1-0.7", 77)


def test_every_kind_of_instruction_and_an_offset_of_more_than_32_bits(tmp_path):
    method = Method(
        instructions=[(KERNEL, 0, [0, 0]), (MOVE, 0, 1), (JUMP, 1, 4), (FREE, 0, 0), (9, 0, 0)],
        tensors=[(6, [4], (1, 8, 3)), (11, [], None)],
        memories=[0, 1 << 40],
        more_chains=[[(KERNEL, 0, [1])]],
    )
    found = executable(write_program(tmp_path / "a.pte", method))
    (forward,) = found.methods
    assert [i.kind.name for i in forward.instructions] == [
        "KERNEL_CALL", "MOVE_CALL", "JUMP_FALSE_CALL", "FREE_CALL", "UNKNOWN",
    ]  # fmt: skip
    assert forward.tensors.offset.tolist() == [8 + (3 << 32), -1]
    assert forward.planned_bytes == 1 << 40
    assert [[i.values for i in chain] for chain in forward.more_chains] == [[(1,)]]
    assert [(p.kind, p.count, p.first) for p in found.problems] == [
        ("instruction of an unknown kind", 1, "instruction 4 of method 0")
    ]


# -- odd and damaged files -----------------------------------------------------------------------


def test_references_that_lead_nowhere_are_counted(tmp_path):
    method = Method(
        instructions=[(KERNEL, 7, [0]), (DELEGATE, 3, [0]), (KERNEL, 0, [5, -1]), (JUMP, 0, 99)],
        tensors=[(99, [2], None), (6, [-2], None), (6, [1] * 17, None)],
        delegates=[("Own", True, 4), ("Own", False, 0)],
        memories=[0, -5],
    )
    found = executable(write_program(tmp_path / "a.pte", method, version=3))
    assert {problem.kind: problem.count for problem in found.problems} == {
        "version 3 is unknown: read as version 0": 1,
        "delegate refers to missing data": 2,
        "tensor of an unknown scalar type": 1,
        "tensor with a negative size": 1,
        "tensor of more than 16 dimensions": 1,
        "instruction uses a value that its method does not have": 2,
        "jump to a missing instruction": 1,
        "call of a delegate that its method does not have": 1,
        "call of an operator that its method does not have": 1,
        "planned memory with a negative size": 1,
    }
    assert [i.name for i in found.methods[0].instructions] == ["", "", "aten::add.out", ""]
    assert found.methods[0].tensors.size.tolist() == [-1, -1, -1]


def test_a_file_that_ends_in_its_segments_is_read_with_what_is_there(tmp_path):
    path, whole = tmp_path / "cut.pte", (FILES / "part_x.pte").read_bytes()
    path.write_bytes(whole[:4500])  # the program has 4,024 bytes
    found = executable(path)
    assert len(found.methods[0].instructions) == 9
    assert found.method("forward").delegates[0].unread.endswith("bytes are present")
    kinds = {problem.kind for problem in found.problems}
    assert "segment is outside the file, which is truncated or damaged" in kinds


def test_a_file_that_ends_in_its_program_says_where_and_what_to_do(tmp_path):
    path, whole = tmp_path / "cut.pte", (FILES / "part_x.pte").read_bytes()
    path.write_bytes(whole[:2000])
    assert refusal(path) == (
        " (byte 16): the program should have 4024 bytes, but has 2000. The file is damaged "
        "or truncated: copy it again, or export it again"
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x08\0\0\0ET12", "the file ends before its program starts"),
        (b"\x08\0\0\0ET12eh00\x10\0\0\0" + bytes(60), "the extended header has 16 bytes"),
        (b"\xff\xff\xff\x7fET12" + bytes(60), "root table is outside the file"),
        (b"\x10\0\0\0ET12" + bytes(60), "the program has no method"),
        (b"\x10\0\0\0BP08" + bytes(60), "this is not an ExecuTorch program (no ET12)"),
    ],
)
def test_what_is_no_program_is_refused(tmp_path, content, words):
    path = tmp_path / "a.pte"
    path.write_bytes(content)
    assert words in refusal(path)


def test_lists_that_claim_more_than_the_file_has_are_refused(tmp_path):
    path = write_program(tmp_path / "a.pte", Method(instructions=[(KERNEL, 0, [0] * 3000)] * 4))
    data = path.read_bytes()
    vector = struct.pack("<I", 3000) + bytes(12000)
    first = data.index(vector)
    tables = bytearray(data)
    at = data.index(vector, first + 4)
    while at > 0:  # each call gets all of the arguments up to the end of the file
        tables[at : at + 4] = struct.pack("<I", (len(data) - at) // 4 - 1)
        at = data.find(vector, at + 4)
    path.write_bytes(tables)
    assert "arguments of calls overlap" in refusal(path)


def damaged(seed: int) -> bytes:
    """A real file that was cut, with flipped bits, or with other offsets and counts."""
    dice = random.Random(seed)
    data = bytearray(dice.choice([*FILES.glob("*.pte"), FILES / "same.bpte"]).read_bytes())
    how = dice.randrange(3)
    if how == 0:
        del data[dice.randrange(len(data)) :]
    elif how == 1:
        for _ in range(dice.choice((1, 1, 4, 40))):
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    else:
        numbers = (0, 1, 4, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFF0, 0xFFFFFFFF, len(data), len(data) - 4)
        for _ in range(dice.choice((1, 3, 10))):
            at = dice.randrange(len(data) // 4) * 4
            data[at : at + 4] = struct.pack("<I", dice.choice((*numbers, dice.randrange(9999))))
    return bytes(data)


@pytest.mark.nightly
def test_damaged_files_give_a_result_or_the_one_error(tmp_path):
    path, outcomes = tmp_path / "damaged.pte", {True: 0, False: 0}
    for seed in range(400):
        data = damaged(seed)
        path.write_bytes(data)
        is_measured = seed % 10 == 0
        if is_measured:
            tracemalloc.start()
        began, is_read = time.process_time(), True
        try:
            workspace = Workspace()
            workspace.add(executable(path))
            f"{info_text(workspace)} {json.dumps(info(workspace))}".encode()
        except UnreadableFile:
            is_read = False
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
        took, peak = time.process_time() - began, 0
        if is_measured:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        outcomes[is_read] += 1
        assert took < 5, f"seed {seed} took {took:.1f} s"
        assert peak < MEMORY[0] * len(data) + MEMORY[1], f"seed {seed} took {peak:,} bytes"
    assert min(outcomes.values()) > 0
