"""`opscope screenshot`: the window, or only its timeline, as an image, without a display."""

from __future__ import annotations

import argparse
from functools import partial

from viewer.cli.arguments import (
    Parser,
    add_files,
    add_include_warmup,
    add_theme,
    check_output,
    choices_of,
    complain,
    files_of,
    needing_window,
)
from viewer.cli.output import output_path
from viewer.model.times import parse_range


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope screenshot",
        description="Save an image of the window as a PNG, or only the timeline as an SVG or PDF "
        "for printing.",
    )
    add_files(parser, "*")
    add_theme(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="file to write: .png, .svg or .pdf; - prints a .png",
    )
    parser.add_argument(
        "--size",
        default="1920x1080",
        metavar="WIDTHxHEIGHT",
        help="size of the window in pixels (default: %(default)s)",
    )
    parser.add_argument(
        "--range",
        metavar="START:END",
        help="visible range, counted from the start of the trace, such as 1.5ms:2ms; of files on "
        "several clocks, that of every clock",
    )
    parser.add_argument(
        "--select-most-expensive",
        action="store_true",
        help="select the most expensive operator and print its name",
    )
    add_include_warmup(parser)
    # The former name of the option.
    parser.add_argument(
        "--select-dearest",
        dest="select_most_expensive",
        action="store_true",
        help=argparse.SUPPRESS,
    )
    chosen = parser.parse_args(arguments)
    with output_path(chosen.output, ".png") as chosen.output:
        return _save(parser, chosen)


def _save(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int:
    try:
        size = _size(chosen.size)
        visible = parse_range(chosen.range) if chosen.range else None
    except ValueError as error:
        parser.error(str(error))
    if not chosen.output.lower().endswith((".png", ".svg", ".pdf")):
        parser.error(f"{chosen.output}: the name must end in .png, .svg or .pdf")
    check_output(parser, chosen.output, chosen.files)
    choices = choices_of(parser, chosen)
    files, complaints = files_of(chosen)
    with needing_window():
        from viewer.gui.app.application import screenshot
    failures = complaints + screenshot(
        files,
        choices,
        chosen.output,
        size=size,
        visible=visible,
        theme=chosen.theme or ("dark" if chosen.output.lower().endswith(".png") else "light"),
        warm_up=chosen.include_warmup,
        report_most_expensive=partial(print, "Selected the most expensive operator:")
        if chosen.select_most_expensive
        else None,
    )
    for failure in failures:
        complain(failure)
    return 1 if failures else 0


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"{text!r} is not a size: write it as 1920x1080")
    size = int(width), int(height)
    if not (320 <= size[0] <= 16384 and 240 <= size[1] <= 16384):
        raise ValueError(f"the size {text} is not between 320x240 and 16384x16384")
    return size
