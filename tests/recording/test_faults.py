"""What programs print, in words. Real lines of adb, ssh, ExecuTorch's runner and its wheel."""

import pytest

from viewer.recording.process import Ended, fault_of


def fault(output, code=1):
    return fault_of("the runner", Ended(code, output, 1.0))


@pytest.mark.parametrize(
    ("output", "words", "is_final"),
    [
        ("adb: error: failed to get feature set: device 'R5' not found", "cable", False),
        ("error: device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set", "USB", True),
        ("error: no devices/emulators found", "adb devices", False),
        ("adb: error: failed to copy 'm.pte' to '/data/local/tmp/m.pte': remote couldn't create "
         "file: No space left on device", "disk is full", True),
        ("CANNOT LINK EXECUTABLE \"./runner\": library \"libQnnSystem.so\" not found: needed by",
         "libQnnSystem.so", True),
        ("./runner[1]: not executable: 64-bit ELF file", "another processor", True),
        ("E 00:00:00.000405 executorch:executor_runner.cpp:214] Loading of method forward failed "
         "with status 0x14", "kernel", True),
        ("RuntimeError: Failed to execute method forward, error: 0x12", "--inputs", True),
        ("[method.cpp:822] Missing operator: [2] aten::add.out\nerror: 0x14", "aten::add", True),
        ("opscope: a.bin has 3 bytes; input 0 has 4", "input 0 has 4", True),
        ("ModuleNotFoundError: No module named 'torch'", "pip install torch", True),
        ("scp: /tmp/opscope-1/a.pte: Read-only file system", "read-only", True),
        ("sh: ./runner: Permission denied", "noexec", True),
        ("/system/bin/sh: ./runner: can't execute: Permission denied", "noexec", True),
        ("Segmentation fault\n", "SIGSEGV", False),
        ("", "without a word", False),
    ],
)  # fmt: skip
def test_what_is_printed_is_explained(output, words, is_final):
    found = fault(output, 139 if "Segm" in output else 1)
    assert words in str(found)
    assert found.is_final == is_final
    assert str(found).startswith("the runner: ")
    assert "\n" not in str(found)


def test_the_last_line_is_quoted_and_not_without_end():
    assert str(fault("a\nb " * 9 + "\nthe reason\n\n", 7)) == (
        "the runner: exit code 7: the reason"
    )
    assert len(str(fault("x" * 10_000))) < 300


@pytest.mark.parametrize("text", ["{0}", "Backend {0} is not registered", "{}", "%s {name}"])
def test_what_a_program_prints_is_no_pattern(text):
    assert "{" in str(fault(text)) or "%" in str(fault(text))


def test_a_deadline_and_a_stop():
    assert "--timeout" in str(fault_of("the runner", Ended(None, "", 5.0, is_late=True)))
    assert str(fault_of("the runner", Ended(None, "", 5.0, is_stopped=True))).endswith("stopped")
