"""
Prints the table of error codes in docs/troubleshooting.md, from protocol/errors.json.

    python tools/deploy/error_table.py
"""

from __future__ import annotations

import json
from pathlib import Path

ERRORS = Path(__file__).resolve().parents[2] / "protocol" / "errors.json"


def rows() -> list[str]:
    """One line a code."""
    errors = json.loads(ERRORS.read_text("utf-8"))["errors"]
    return [f"| `{e['code']}` | {e['scope']} | {e['close'] or ''} | {e['meaning']} |" for e in errors]


if __name__ == "__main__":
    print("\n".join(rows()))
