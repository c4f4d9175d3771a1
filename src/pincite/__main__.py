"""``python -m pincite``: the command line."""

from pincite.cli import main

if __name__ == "__main__":
    main()
