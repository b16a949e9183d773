"""
Prints docs/settings.md from the declarations in `abr_tts.server.config`, so that they cannot differ:

    python tools/settings_reference.py > docs/settings.md
"""

from __future__ import annotations

import json

from abr_tts.server.config import SECTIONS, describe

HEAD = """\
# Settings

One TOML file, over it environment variables, over both the flags. An unknown section or key is refused
with the nearest known name; so is a value of the wrong type or out of range. A setting `port` of the
section `[server]` is written in each of the three places as

```toml
[server]
port = 8800
```

`ABR_TTS_SERVER__PORT=8800` and `--set server.port=8800`; some have a flag of their own, here `--port 8800`
(`abr-tts serve --help`). In a variable and a flag a list is written with commas, and an empty text stands
for no value where a setting may have none.
"""


def reference() -> str:
    """The whole page."""
    settings = list(describe())
    parts = [HEAD]
    for section, kind in SECTIONS.items():
        about = (kind.__doc__ or "").partition(": ")[2].strip()
        parts.append(f"## {section}\n\n`[{section}]`: {about}\n\n| setting | default | |\n|---|---|---|\n")
        rows = [item for item in settings if item.name.startswith(f"{section}.")]
        parts[-1] += "".join(f"| `{r.name}` | {shown(r.default)} | {r.sentence} |\n" for r in rows)
    return "\n".join(parts)


def shown(default: object) -> str:
    """A default as TOML writes it; nothing for none."""
    if isinstance(default, dict) and default:
        pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in default.items())
        return f"`{{ {pairs} }}`"
    return "" if default is None or default in ((), {}) else f"`{json.dumps(default)}`"


if __name__ == "__main__":
    print(reference(), end="")
