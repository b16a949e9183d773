"""
What a browser gets: the JavaScript client, served as it lies in `static/`.

Nothing here runs in Python; this says where the files are.
"""

from __future__ import annotations

from pathlib import Path

STATIC = Path(__file__).parent / "static"
"""The folder of the npm package: ES modules, the Opus module, types."""
