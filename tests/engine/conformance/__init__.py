"""One suite for every engine: whoever registers in `engines.py` must pass all of it."""
