"""`opscope fleet compact`: joins small files of a lake."""

from __future__ import annotations

from viewer.cli.arguments import Parser, complain
from viewer.cli.commands.fleet.losses import code_of_losses
from viewer.codecs.ending import raised_at_signals
from viewer.fleet.lake import Lake, UnusableLake
from viewer.model.times import counted


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope fleet compact",
        description="Join small Parquet files of a lake, and remove rows of profiles that changed "
        "since. Queries, and builds at the same time, go on.",
    )
    parser.add_argument("lake", metavar="LAKE")
    chosen = parser.parse_args(arguments)
    from viewer.fleet.compact import compact  # needs pyarrow, which --help does not

    try:
        lake = Lake(chosen.lake)
        with raised_at_signals():
            gone = compact(
                lake,
                lambda table, count: print(f"{table}: 1 file in place of {count}"),
            )
    except UnusableLake as error:
        complain(str(error))
        return 2
    except OSError as error:
        complain(f"{chosen.lake}: it cannot be compacted ({error.strerror or error})")
        return 2
    except KeyboardInterrupt:
        complain(f"interrupted; {chosen.lake} is whole, and some of its files are not joined yet")
        return 1
    if not gone:
        print(f"{chosen.lake}: {counted(0, 'file')} to join")
    return code_of_losses(lake, strict=False)
