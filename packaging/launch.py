"""What a frozen Opscope starts with: the `opscope` command.

`freeze_support` comes first: the processes of `opscope export --jobs` are this same program,
started again with arguments of multiprocessing, and must not open a window.
"""

import multiprocessing
import sys

if __name__ == "__main__":
    multiprocessing.freeze_support()
    from viewer.cli import main

    sys.exit(main())
