"""
What an operator says of a remote engine: the table [engine.options], read and checked.

Each kind takes some of it; an unknown key is refused by name. A key (the secret) is read from a
file or from the environment, never from the table itself, which is printed and shared.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional
from urllib.parse import urlsplit

from ...errors import ConfigError
from ..base import Voice
from .hosts import Rules

SHARED = (
    *("url", "parallel", "sample_rate", "voices", "languages", "longest_s", "ca_file"),
    *("connect_s", "retries", "backoff_s", "breaker_failures", "breaker_open_s"),
)
"""Keys that every kind takes."""

LANGUAGES = ("en", "zh")
"""Languages of a voice of which nobody said any: what the models of the field speak."""


@dataclass(frozen=True)
class Options:
    """
    The table, checked. Times are in seconds.

    Args:
        urls: base addresses, one or more.
        parallel: requests that each is given at once.
        sample_rate: Hz of what comes back.
        voices: those that are named here; empty: the server is asked, or has but one.
        languages: of a voice of which nobody says any.
        connect_s: to a connection, TLS included.
        retries: further tries after the first, all before the first sample.
        backoff_s: first and longest pause before a further try at the same server; it doubles.
        breaker_failures, breaker_open_s: see `hosts.Rules`.
        longest_s: speech of one clause; a server that goes on is cut off.
        ca_file: PEM of the authorities that a server's certificate may be signed by; None: the system's.
        model: as the server calls it.
        instructs: it follows instructions how to speak.
        key: the secret; "" for none.
        extra: further fields of each request.
        voices_dir: folder of reference voices (see `engine.references`).
        generation: of CosyVoice: 1, 2 or 3; they differ in where "<|endofprompt|>" must stand.
        end_of_prompt: whether we put it there; servers before December 2025 do so themselves.
    """

    urls: tuple[str, ...]
    parallel: int = 1
    sample_rate: int = 24_000
    voices: tuple[Voice, ...] = ()
    languages: tuple[str, ...] = LANGUAGES
    connect_s: float = 3.0
    retries: int = 2
    backoff_s: tuple[float, float] = (0.1, 2.0)
    breaker_failures: int = 5
    breaker_open_s: float = 10.0
    longest_s: float = 600.0
    ca_file: Optional[Path] = None
    model: str = ""
    instructs: bool = False
    key: str = field(default="", repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict)
    voices_dir: Optional[Path] = None
    generation: int = 2
    end_of_prompt: bool = True

    @property
    def rules(self) -> Rules:
        """When a server is left alone."""
        return Rules(self.parallel, self.breaker_failures, self.breaker_open_s)


def read(
    table: Mapping[str, Any], takes: Iterable[str], schemes: tuple[str, ...], **defaults: Any
) -> Options:
    """
    `table` as options.

    Args:
        takes: the keys of this kind beside `SHARED`.
        schemes: of its addresses, the default one first.
        defaults: of this kind, by the names of `Options`.

    Raises:
        ConfigError: a key that is unknown or of a value that cannot be, by its name.
    """
    known = [*SHARED, *takes]
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; do you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise ConfigError(f"engine.options has no {key!r}{hint}")
    values: dict[str, Any] = dict(defaults)
    for key, value in table.items():
        if key in _READERS:
            values[key] = _READERS[key](key, value)
    values["urls"] = _urls(table.get("url"), schemes)
    values["key"] = _key(table)
    values["voices"] = tuple(
        _voice(one, values.get("languages", LANGUAGES), values.get("sample_rate", Options.sample_rate))
        for one in _list("voices", table.get("voices", []))
    )
    return Options(**values)


def _refuse(key: str, wanted: str, value: Any) -> ConfigError:
    return ConfigError(f"engine.options.{key} must be {wanted}, not {value!r}")


def _urls(value: Any, schemes: tuple[str, ...]) -> tuple[str, ...]:
    found = [_url(one, schemes) for one in _list("url", value or [])]
    if not found:
        raise ConfigError(f"engine.options.url is missing: where the engine is, as {schemes[0]}://host:port")
    if len(set(found)) < len(found):
        raise ConfigError("engine.options.url names a server twice; `parallel` gives it more at once")
    return tuple(found)


def _url(value: Any, schemes: tuple[str, ...]) -> str:
    wanted = f"an address such as {schemes[0]}://host:port"
    if not isinstance(value, str):
        raise _refuse("url", wanted, value)
    parts = urlsplit(value if "://" in value else f"{schemes[0]}://{value}")
    if parts.scheme not in schemes or not parts.hostname:
        raise _refuse("url", f"{wanted} ({' or '.join(schemes)})", value)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError("engine.options.url must hold no password, query or fragment; see api_key_file")
    return parts.geturl().rstrip("/")


def _key(table: Mapping[str, Any]) -> str:
    """The secret, from `api_key_file` or from the variable that `api_key_env` names."""
    path, variable = table.get("api_key_file"), table.get("api_key_env")
    if path and variable:
        raise ConfigError("engine.options: either api_key_file or api_key_env, not both")
    if path:
        try:
            key = Path(path).read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigError(f"engine.options.api_key_file: {path} cannot be read: {reason}") from None
    elif variable:
        key = os.environ.get(str(variable), "").strip()
    else:
        return ""
    if not key or not key.isprintable() or not key.isascii():
        raise ConfigError(f"engine.options: {path or variable} holds no key")
    return key


def _voice(value: Any, languages: tuple[str, ...], rate: int) -> Voice:
    """A name, or a table of name, languages and description."""
    if isinstance(value, str) and value.strip():
        return Voice(value, languages, rate)
    unknown = isinstance(value, Mapping) and set(value) - {"name", "languages", "description"}
    if not isinstance(value, Mapping) or unknown or not isinstance(value.get("name"), str):
        raise _refuse("voices", "names, or tables of name, languages and description", value)
    tags = _strings("voices.languages", value.get("languages", languages))
    return Voice(value["name"], tuple(tag.lower() for tag in tags), rate, str(value.get("description", "")))


def _list(key: str, value: Any) -> list[Any]:
    if isinstance(value, str):  # as a flag and a variable write a list
        return [part for one in value.split(",") if (part := one.strip())]
    if not isinstance(value, list | tuple):
        raise _refuse(key, "a list", value)
    return list(value)


def _strings(key: str, value: Any) -> tuple[str, ...]:
    found = _list(key, value)
    if not found or not all(isinstance(one, str) for one in found):
        raise _refuse(key, "a list of texts", value)
    return tuple(found)


def _number(key: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise _refuse(key, f"a number from {low:g} to {high:g}", value)
    return float(value)


def _whole(key: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _refuse(key, f"a whole number from {low} to {high}", value)
    return value


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refuse(key, "true or false", value)
    return value


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refuse(key, "a text", value)
    return value


def _file(key: str, value: Any) -> Path:
    path = Path(_text(key, value))
    if not path.is_file():
        raise ConfigError(f"engine.options.{key}: there is no file {path}")
    return path


def _folder(key: str, value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value):
        raise _refuse(key, "a folder", value)
    return Path(value)


def _table(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _refuse(key, "a table", value)
    return dict(value)


def _pauses(key: str, value: Any) -> tuple[float, float]:
    pair = _list(key, value)
    if len(pair) != 2:
        raise _refuse(key, "two numbers, the first and the longest pause", value)
    first, longest = (_number(key, one, 0, 60) for one in pair)
    if first > longest:
        raise _refuse(key, "two numbers, of which the second is not the smaller one", value)
    return first, longest


_READERS = {
    "parallel": lambda key, value: _whole(key, value, 1, 1000),
    "sample_rate": lambda key, value: _whole(key, value, 8_000, 48_000),
    "languages": lambda key, value: tuple(tag.lower() for tag in _strings(key, value)),
    "connect_s": lambda key, value: _number(key, value, 0.01, 60),
    "retries": lambda key, value: _whole(key, value, 0, 10),
    "backoff_s": _pauses,
    "breaker_failures": lambda key, value: _whole(key, value, 1, 1000),
    "breaker_open_s": lambda key, value: _number(key, value, 0.01, 3600),
    "longest_s": lambda key, value: _number(key, value, 1, 7200),
    "ca_file": _file,
    "model": _text,
    "instructs": _flag,
    "extra": _table,
    "voices_dir": _folder,
    "generation": lambda key, value: _whole(key, value, 1, 3),
    "end_of_prompt": _flag,
}
"""Key of the table → how its value is read; `url`, `voices` and the key are read apart."""
