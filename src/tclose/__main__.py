"""`python -m tclose`: the command line, which runs no module of the current folder."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # where Python puts the current folder

from tclose.cli import main

if __name__ == "__main__":
    main()
