"""
Policies as TOML files: what operators write, with errors that name file, line, key and reason.

A file says what differs from a preset (`extends`, the default one if it says nothing); if it has
any `[[rung]]`, those are the whole ladder. The presets are such files themselves.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import ConfigError, PolicyError
from .ladder import CELT_FROM_KBPS, FULL, Rung
from .policy import Policy
from .toml_text import parse_toml
from .utility import measured_utility

PRESETS = ("default", "classic", "opus", "thrifty")
"""The policies that come with the house, each a file beside this one."""

RUNG_KEYS = ("name", "codec", "sample_rate", "kbps", "utility")
"""What a `[[rung]]` may say."""

CODECS = ("pcm16", "ulaw", "opus")
"""Codecs of a rung."""

OPUS_RATE = 24_000
"""Hz that Opus is fed with: every one of our encoders' settings is measured there."""

RATES = (8_000, 48_000)
"""Least and greatest Hz of a PCM rung."""

OPUS_KBPS = (6, 510)
"""Bitrates that libopus takes (opus_defines.h, OPUS_SET_BITRATE)."""


def preset_text(name: str) -> str:
    """
    The TOML of a preset.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ConfigError(f"no preset {name!r}; there are {', '.join(PRESETS)}{hint}")
    return (files(__package__) / "presets" / f"{name}.toml").read_text(encoding="utf-8")


def preset(name: str) -> Policy:
    """
    A policy that comes with the house.

    Raises:
        ConfigError: there is none of this name.
    """
    return parse(preset_text(name), f"preset {name}")


def read(path: Path) -> Policy:
    """
    The policy of a TOML file.

    Raises:
        ConfigError: one sentence with file, line, key, reason and, where there is one, the
            nearest valid key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such policy file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from None
    except UnicodeDecodeError as error:
        line = 1 + error.object[: error.start].count(b"\n")
        raise ConfigError(f"{path}:{line}: is not UTF-8") from None
    return parse(text, str(path))


def parse(text: str, source: str) -> Policy:
    """
    The policy of a TOML text; `source` names it in errors.

    Raises:
        ConfigError: as `read`.
    """
    return _Reader(text, source, parse_toml(text, source)).policy()


@dataclass(frozen=True, slots=True)
class _Reader:
    text: str
    source: str
    document: Mapping[str, Any]

    def policy(self) -> Policy:
        known = [item.name for item in fields(Policy) if item.name not in ("rungs", "utilities")]
        known += ["extends", "rung"]
        for key in self.document:
            if key not in known:
                raise self._fault(f"{key}: unknown key{_near(key, known)}", key)
        base = self._base()
        values = base | {k: v for k, v in self.document.items() if k not in ("extends", "rung")}
        if "rung" in self.document:
            values["rungs"], values["utilities"] = self._ladder(self.document["rung"])
        try:
            return Policy(**values)
        except PolicyError as error:
            inherited = self._inherited(error.keys) if base else ""
            raise self._fault(f"{error}{inherited}", *error.keys) from None

    def _inherited(self, keys: Sequence[str]) -> str:
        """Whence those of the keys at fault are that the file does not say, if it says another."""
        silent = [key for key in keys if key not in self.document]
        if not silent or len(silent) == len(keys):
            return ""
        told = " and ".join("the ladder" if key == "rung" else key for key in silent)
        verb = "comes" if len(silent) == 1 else "come"
        return f"; {told} {verb} from the preset {self.document.get('extends', 'default')}"

    def _base(self) -> dict[str, Any]:
        """The values that the file starts from. A preset starts from the defaults alone."""
        if self.source == f"preset {self.document.get('name')}":
            return {}
        base = self.document.get("extends", "default")
        if not isinstance(base, str):
            raise self._fault(f"extends must be the name of a preset, not {base!r}", "extends")
        try:
            policy = preset(base)
        except ConfigError as error:
            raise self._fault(f"extends: {error}", "extends") from None
        values = {item.name: getattr(policy, item.name) for item in fields(policy)}
        return values | {"name": Path(self.source).stem}

    # ------------------------------------------------------------ the ladder

    def _ladder(self, tables: Any) -> tuple[tuple[Rung, ...], tuple[float, ...]]:
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self._fault("rung: each rung is a table of its own, headed [[rung]]", "rung")
        lines = [self._rung(index, table) for index, table in enumerate(tables)]
        return tuple(rung for rung, _ in lines), tuple(utility for _, utility in lines)

    def _rung(self, index: int, table: dict[str, Any]) -> tuple[Rung, float]:
        def wrong(key: str, reason: str) -> ConfigError:
            return self._fault(f"rung.{key} {reason}", key, table=index)

        for key in table:
            if key not in RUNG_KEYS:
                raise self._fault(f"rung.{key}: unknown key{_near(key, RUNG_KEYS)}", key, table=index)
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise wrong("name", "must be the rung's name")
        house = next((rung for rung in FULL.rungs if rung.name == name), None)
        codec = table.get("codec", house.codec if house else None)
        if codec not in CODECS:
            close = difflib.get_close_matches(str(codec), CODECS, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise wrong("codec", f"must be one of {', '.join(CODECS)}, not {codec!r}{hint}")
        rung = self._opus(name, table, house, wrong) if codec == "opus" else None
        rung = rung or self._pcm(name, codec, table, house, wrong)
        utility = table.get("utility", measured_utility(rung))
        if isinstance(utility, bool) or not isinstance(utility, (int, float)) or not 0 <= utility <= 1:
            raise wrong("utility", f"must be a number from 0 to 1, not {utility!r}")
        return rung, float(utility)

    def _opus(self, name: str, table: dict[str, Any], house: Rung | None, wrong: Any) -> Rung:
        kbps = table.get("kbps", house.kbps if house else None)
        low, high = OPUS_KBPS
        if isinstance(kbps, bool) or not isinstance(kbps, int) or not low <= kbps <= high:
            raise wrong("kbps", f"must be a whole number from {low} to {high}, not {kbps!r}")
        if table.get("sample_rate", OPUS_RATE) != OPUS_RATE:
            raise wrong("sample_rate", f"of Opus must be {OPUS_RATE}, not {table['sample_rate']!r}")
        return Rung(name, "opus", OPUS_RATE, kbps, "opus-celt" if kbps >= CELT_FROM_KBPS else "opus-hybrid")

    def _pcm(self, name: str, codec: str, table: dict[str, Any], house: Rung | None, wrong: Any) -> Rung:
        rate = table.get("sample_rate", house.sample_rate if house else None)
        low, high = RATES
        if isinstance(rate, bool) or not isinstance(rate, int) or not low <= rate <= high or rate % 50:
            raise wrong("sample_rate", f"must be {low} to {high} Hz, a multiple of 50, not {rate!r}")
        kbps = rate * (16 if codec == "pcm16" else 8) / 1000
        if table.get("kbps", kbps) != kbps:
            raise wrong("kbps", f"of {codec} at {rate} Hz is {kbps:g}, not {table['kbps']!r}")
        return Rung(name, codec, rate, kbps, name)

    # ------------------------------------------------------------ errors

    def _fault(self, sentence: str, *keys: str, table: int | None = None) -> ConfigError:
        """`sentence`, with the line on which the first of `keys` stands that stands anywhere."""
        lines = (line_of(self.text, key, table) for key in keys)
        line = next((line for line in lines if line), None)
        return ConfigError(f"{self.source}:{line}: {sentence}" if line else f"{self.source}: {sentence}")


def line_of(text: str, key: str, table: int | None = None) -> int | None:
    """
    The line, from 1, on which a TOML text sets `key`: at its top, or in the `table`th `[[rung]]`.

    Where it does not: the head of that table (of the first one for the key `rung`); else None.
    """
    wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]")
    index, head = -1, None
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[\[\s*rung\s*\]\]", line):
            index += 1
            head = number if index == (table or 0) else head
        elif index == (-1 if table is None else table) and wanted.match(line):
            return number
    return head if table is not None or key == "rung" else None


def _near(key: str, known: Any) -> str:
    close = difflib.get_close_matches(key, known, 1, 0.5)
    return f"; did you mean {close[0]}?" if close else ""
