"""`python -m tclose`: the command line."""

from tclose.cli import main

if __name__ == "__main__":
    main()
