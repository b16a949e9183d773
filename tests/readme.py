"""
The commands of README.md and of docs/, by the name in the comment before each: `<!-- command: NAME -->`.

`.ci/run` prints them with `python tests/readme.py NAME`, so that what it runs is what is written.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
PAGES = (README, *sorted((README.parent / "docs").glob("*.md")))
BLOCK = re.compile(r"^<!-- command: (?P<name>[\w-]+) -->\n```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.M | re.S)


def blocks(text: str) -> dict[str, str]:
    """
    The marked blocks of a Markdown text, by name.

    Raises:
        ValueError: a name twice, or a marker without a block.
    """
    found = [match.group("name", "body") for match in BLOCK.finditer(text)]
    if len(dict(found)) != len(found) or len(found) != text.count("<!-- command:"):
        raise ValueError("a command is named twice or has no block")
    return dict(found)


def command(name: str) -> str:
    """
    The block called `name`.

    Raises:
        KeyError: there is none of this name.
    """
    return blocks("".join(page.read_text("utf-8") for page in PAGES))[name]


if __name__ == "__main__":
    print(command(sys.argv[1]), end="")
