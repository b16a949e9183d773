"""Small recorded networks on disk, made here: no recording of anybody's is copied."""

from pathlib import Path

LINKS = {
    "dsl_quick": (1500, 1200, 1500),
    "dsl_slow": (90, 70, 90),
    "dsl_worse": (60, 90, 45),
    "radio_gap": (900, 0, 700),
    "radio_fading": (700, 120, 40),
    "radio_good": (2500, 1800, 2500),
}
"""By name: kbit/s of each third of ten seconds."""


def write(folder: Path, names=tuple(LINKS)) -> Path:
    """`time_s,kbps` files in a new folder, which is returned."""
    folder.mkdir(exist_ok=True)
    for name in names:
        begin, middle, end = LINKS[name]
        text = f"time_s,kbps\n0,{begin}\n3,{middle}\n6,{end}\n10,{end}\n"
        (folder / f"{name}.csv").write_text(text)
    return folder
