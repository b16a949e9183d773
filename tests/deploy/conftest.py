"""The tools are scripts, not a package: their folder goes on the path, as it is when they run."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "deploy"))
