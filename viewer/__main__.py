"""`python -m viewer` is the `opscope` command."""

import sys

from viewer.cli import main

if __name__ == "__main__":
    sys.exit(main())
