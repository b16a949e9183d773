"""
How settings are read: a table of typed fields, a TOML file, the environment, flags.

It knows no setting by name; `config` declares them. A value is checked where it comes from, so
that the message names the file, variable or flag and the key. An unknown key is refused with
the nearest known one, because a misspelt limit that is silently ignored is no limit.
"""

from __future__ import annotations

import difflib
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from ...control.toml_text import parse_toml
from ...errors import ConfigError

ENV_PREFIX = "ABR_TTS_"
"""Environment variables of settings are `ABR_TTS_SECTION__KEY`; others with this prefix are not ours."""


def setting(
    default: Any,
    sentence: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    secret: bool = False,
) -> Any:
    """
    A field of a section.

    Args:
        default: its value when nothing sets it; tables and lists are copied.
        sentence: what it does, for the reference and for `--help`.
        low, high: bounds of a number, both allowed values themselves.
        choices: the allowed strings.
        secret: no message shows the value.
    """
    metadata = {"sentence": sentence, "low": low, "high": high, "choices": choices, "secret": secret}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata, repr=not secret)


class Section:
    """
    Base of a section: a frozen dataclass whose fields are made by `setting`.

    Raises:
        ConfigError: from the constructor, for a value of the wrong type or out of range.
    """

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for item in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            _check(item, hints[item.name], getattr(self, item.name))


@dataclass(frozen=True, slots=True)
class Given:
    """One value and whence it came, e.g. `abr-tts.toml: server.port`."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Described:
    """One setting for the reference."""

    name: str
    variable: str
    default: Any
    sentence: str


def read_file(path: Path) -> dict[tuple[str, str], Given]:
    """
    The settings of a TOML file.

    Raises:
        ConfigError: it cannot be read, is not TOML (with the line), or has a key outside a section.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such settings file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from None
    except UnicodeDecodeError as error:
        line = 1 + error.object[: error.start].count(b"\n")
        raise ConfigError(f"{path}:{line}: is not UTF-8") from None
    given = {}
    for section, table in parse_toml(text, str(path)).items():
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: {section}: settings stand in sections, such as [server]")
        given[section, ""] = Given(None, f"{path}: [{section}]")
        for key, value in table.items():
            given[section, key] = Given(value, f"{path}: {section}.{key}")
    return given


def read_environment(environ: Mapping[str, str]) -> dict[tuple[str, str], Given]:
    """The settings of the environment: `ABR_TTS_SERVER__PORT=80`; a deeper table by more `__`."""
    given: dict[tuple[str, str], Given] = {}
    for name, text in sorted(environ.items()):
        if not name.startswith(ENV_PREFIX) or "__" not in name:
            continue
        section, key, *inner = name.removeprefix(ENV_PREFIX).lower().split("__")
        if not inner:
            given[section, key] = Given(text, name)
        else:
            table = given.setdefault((section, key), Given({}, name)).value
            table["__".join(inner)] = _toml_or_text(text)
    return given


def read_flags(overrides: Mapping[str, Any]) -> dict[tuple[str, str], Given]:
    """The settings of flags, by dotted name: `{"server.port": 80, "engine.options.rate": 16000}`."""
    given: dict[tuple[str, str], Given] = {}
    for name, value in overrides.items():
        section, dot, rest = name.partition(".")
        if not dot:
            raise ConfigError(f"--{name}: a setting is named section.key, such as server.port")
        key, deeper, inner = rest.partition(".")
        if not deeper:
            given[section, key] = Given(value, f"--{name}")
        else:
            table = given.setdefault((section, key), Given({}, f"--{name}")).value
            table[inner] = _toml_or_text(value) if isinstance(value, str) else value
    return given


def over(
    lower: Mapping[tuple[str, str], Given], upper: Mapping[tuple[str, str], Given]
) -> dict[tuple[str, str], Given]:
    """`upper` over `lower`, key by key; of two tables each key by itself, so that one flag costs no other."""
    given = {**lower, **upper}
    for name in lower.keys() & upper.keys():
        if isinstance(lower[name].value, dict) and isinstance(upper[name].value, dict):
            given[name] = Given({**lower[name].value, **upper[name].value}, upper[name].origin)
    return given


def build(sections: Mapping[str, type], given: Mapping[tuple[str, str], Given]) -> dict[str, Any]:
    """
    One instance of each section.

    Args:
        sections: the dataclass of each section, by its name.
        given: what was set; whatever is absent keeps its default.

    Raises:
        ConfigError: an unknown section or key, a wrong type, a value out of range.
    """
    names = [f"{section}.{item.name}" for section, kind in sections.items() for item in fields(kind)]
    values: dict[str, dict[str, Any]] = {section: {} for section in sections}
    for (section, key), one in given.items():
        if key == "" and section in sections:
            continue  # the head of a section, which may be empty
        if f"{section}.{key}" not in names:
            raise ConfigError(
                f"{one.origin}: unknown setting {section}{key and '.'}{key}{_near(section, key, names)}"
            )
        kind = sections[section]
        item = next(item for item in fields(kind) if item.name == key)
        hint = typing.get_type_hints(kind)[key]
        try:
            value = _convert(hint, one.value)
            _check(item, hint, value)
        except ConfigError as error:
            raise ConfigError(f"{one.origin}: {error}") from None
        values[section][key] = value
    return {section: kind(**values[section]) for section, kind in sections.items()}


def describe(sections: Mapping[str, type]) -> Iterator[Described]:
    """Every setting with its default and its sentence, in order."""
    for section, kind in sections.items():
        for item in fields(kind):
            factory = item.default_factory
            default = item.default if factory is MISSING else factory()
            variable = f"{ENV_PREFIX}{section}__{item.name}".upper()
            yield Described(f"{section}.{item.name}", variable, default, item.metadata["sentence"])


def _near(section: str, key: str, names: list[str]) -> str:
    """`; did you mean server.port?`: the same key in another section, else what is spelt alike."""
    close = [name for name in names if name.endswith(f".{key}")][:1]
    close = close or difflib.get_close_matches(f"{section}.{key}", names, 1, 0.4)
    return f"; did you mean {close[0]}?" if close else ""


def _options(hint: Any) -> tuple[Any, bool]:
    """The type itself and whether None is allowed: `Path | None` gives (Path, True)."""
    if isinstance(hint, types.UnionType):
        kinds = [kind for kind in typing.get_args(hint) if kind is not types.NoneType]
        return kinds[0], True
    return hint, False


def _convert(hint: Any, value: Any) -> Any:
    """`value` as TOML, a variable or a flag gives it, brought to the field's type where it is meant so."""
    kind, optional = _options(hint)
    if isinstance(value, str):
        return _parse(kind, optional, value.strip())
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        return tuple(value)
    if kind is float and type(value) is int:
        return float(value)
    return value


def _parse(kind: Any, optional: bool, text: str) -> Any:
    """A string as a value of `kind`."""
    if optional and text == "":
        return None
    if kind is Path:
        return Path(text).expanduser()
    if kind is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        return words.get(text.lower(), text)
    if typing.get_origin(kind) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    return text


def _toml_or_text(text: str) -> Any:
    """A value of an open table, whose types nobody declared: `3`, `true`, `[1, 2]`, else a text."""
    try:
        return parse_toml(f"value = {text}", "")["value"]
    except ConfigError:
        return text


_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", Path: "a path"}


def _check(item: Field[Any], hint: Any, value: Any) -> None:
    """Type, range and choice of one value; the message does not name the origin."""
    kind, optional = _options(hint)
    if value is None and optional:
        return
    shown = "that (not shown: a secret)" if item.metadata["secret"] else repr(value)
    base = typing.get_origin(kind) or kind
    accepted = (float, int) if base is float else (base,)
    wrong = not isinstance(value, accepted) or (isinstance(value, bool) and base is not bool)
    wrong = wrong or (base is float and isinstance(value, int) and abs(value) > sys.float_info.max)
    if base is tuple and not wrong:
        wrong = not all(isinstance(part, str) for part in value)
    if wrong:
        wanted = _NAMES.get(base, "a list of texts" if base is tuple else "a table")
        raise ConfigError(f"{item.name} must be {wanted}, not {shown}")
    low, high, choices = (item.metadata[name] for name in ("low", "high", "choices"))
    # `not (value >= low)` also refuses NaN, which compares false with everything.
    if low is not None and not value >= low:
        raise ConfigError(f"{item.name} is {shown}, but must be at least {low}")
    if high is not None and not value <= high:
        raise ConfigError(f"{item.name} is {shown}, but must be at most {high}")
    if choices and value not in choices:
        close = difflib.get_close_matches(value, choices, 1)
        hint_text = f"; did you mean {close[0]}?" if close else ""
        raise ConfigError(f"{item.name} is {shown}, but must be one of {', '.join(choices)}{hint_text}")
