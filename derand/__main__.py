"""Lets ``python -m derand`` do what the command ``derand`` does."""

import sys

from derand.cli import main

if __name__ == "__main__":
    sys.exit(main())
