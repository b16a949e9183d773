"""
The tests that failed in a run of pytest, one a line; status 1 if they are more than may be tried again.

    python .ci/failed.py CACHE MOST
"""

import json
import sys
from pathlib import Path


def main(cache: str, most: str) -> int:
    """Print them; the status to leave with."""
    failed = json.loads(Path(cache, "v", "cache", "lastfailed").read_text("utf-8"))
    for name in failed:
        print(f"failed: {name}")
    return len(failed) > int(most)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
