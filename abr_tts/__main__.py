"""`python -m abr_tts` is the command `abr-tts`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
