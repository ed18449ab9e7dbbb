"""Says what a lake lost: on stderr, and with --strict in the exit code."""

from __future__ import annotations

import argparse

from viewer.cli.arguments import complain
from viewer.fleet.lake import Lake


def add_strict(parser: argparse.ArgumentParser) -> None:
    """Add --strict."""
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if files of the lake are missing or changed, or lines of its manifest "
        "cannot be read; both are named in any case",
    )


def code_of_losses(lake: Lake, *, strict: bool, is_told: bool = True) -> int:
    """Print a line for each kind of loss that the last check found; returns the exit code.

    is_told: False if the command has printed them.
    """
    for sentence in lake.losses.sentences if is_told else ():
        complain(f"{lake.path}: {sentence}")
    return 1 if strict and lake.losses.sentences else 0
