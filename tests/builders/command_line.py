"""Runs `opscope` commands in the process of the tests."""

from viewer.cli import main


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = stopped.code
    out, err = capsys.readouterr()
    return code, out, err
