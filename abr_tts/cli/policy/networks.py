"""
Files of recorded networks: found, read, named, and sorted into kinds.

A folder may hold any of the formats of `sim.importers`, and an `INDEX.csv` (`file,kind,base_rtt_ms`)
that tells what the files do not.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...sim import importers
from ...sim.importers.text import MOST_BYTES
from ...sim.scenario import Scenario
from ...sim.study import Case
from ..failure import Failure

INDEX = "INDEX.csv"
"""Beside the files: what kind each is, and its round trip."""

MOST_FILES = 10_000
"""Files that one study reads."""

NO_NETWORKS = re.compile(r"(\.|README|LICEN[CS]E|NOTICE|Makefile|INDEX\.csv$)|.*\.(md|py|sh|am|up|zip|gz)$")
"""Names that a folder may hold beside networks. `.up` is the way back of a mahimahi recording: the way
back is ample here, because reports need 2 kbit/s."""

SUFFIXES = {".csv", ".json", ".txt", ".log", ".down", ".pps"}
"""Ends of names that say nothing of the network."""

PREFIX = re.compile(r"([A-Za-z][A-Za-z0-9]*)_")
"""What files of one kind begin with: `hsdpa3g_…`, `norway_…`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What an index says of a file."""

    kind: str
    rtt_ms: float | None


def load(paths: Sequence[Path], form: str = "", rtt_ms: float | None = None) -> tuple[Case, ...]:
    """
    The networks of files and folders, in the order of their names.

    Args:
        form: of all files; told by their content if empty.
        rtt_ms: round trip of the idle path, over what files and index say.

    Raises:
        ConfigError: a file is no network; with path and line.
        Failure: a path cannot be read, or there is nothing in it.
    """
    cases: list[Case] = []
    for path in paths:
        folder = path if path.is_dir() else path.parent
        index = _index(folder)
        files = _files(path)
        if len(files) > MOST_FILES:
            raise Failure(f"{path}: holds {len(files)} files; at most {MOST_FILES} are read", status=2)
        for file in files:
            cases += _read(file, folder, index.get(str(file.relative_to(folder))), form, rtt_ms)
    if not cases:
        raise Failure(f"{', '.join(map(str, paths))}: no recorded network in it", status=2)
    return tuple(_named_apart(cases))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [file for file in path.rglob("*") if file.is_file() and not NO_NETWORKS.match(file.name)]
    return sorted(file for file in found if not any(part[0] == "." for part in file.relative_to(path).parts))


def _read(file: Path, folder: Path, entry: Entry | None, form: str, rtt_ms: float | None) -> Iterable[Case]:
    text = _text(file)
    if rtt_ms is None and entry is not None:
        rtt_ms = entry.rtt_ms
    name = file.stem if file.suffix in SUFFIXES else file.name
    found = importers.read(text, str(file), name=name, form=form, rtt_ms=rtt_ms)
    kind = entry.kind if entry else ""
    return [Case(scenario, kind or _kind(file, folder, text, scenario)) for scenario in found]


def _kind(file: Path, folder: Path, text: str, scenario: Scenario) -> str:
    """Of a file that no index knows: its own folder's name, or what its name begins with."""
    if file.parent != folder:
        return file.parent.name
    if text.lstrip()[:1] == "{":
        return "scenario"
    told = PREFIX.match(file.name)
    return told[1] if told else "network"


def _text(file: Path) -> str:
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise Failure(f"{file}: is {size} bytes long; at most {MOST_BYTES} are read", status=2)
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise Failure(f"{file}: cannot be read: {error.strerror or error}", status=2) from None
    except UnicodeDecodeError as error:
        line = 1 + error.object[: error.start].count(b"\n")
        raise Failure(f"{file}:{line}: is not UTF-8, so it is no recorded network", status=2) from None


def _index(folder: Path) -> dict[str, Entry]:
    path = folder / INDEX
    if not path.is_file():
        return {}
    rows = csv.DictReader(_text(path).splitlines())
    entries = {}
    for row in rows:
        file, rtt = row.get("file"), row.get("base_rtt_ms") or ""
        if not file:
            raise Failure(f"{path}:{rows.line_num}: no file is named", status=2)
        try:
            rtt_ms = float(rtt) if rtt else None
        except ValueError:
            rtt_ms = -1.0
        if rtt_ms is not None and not 0 <= rtt_ms <= 10_000:
            raise Failure(f"{path}:{rows.line_num}: base_rtt_ms must be 0 to 10000, not {rtt!r}", status=2)
        entries[file] = Entry(row.get("kind") or "", rtt_ms)
    return entries


def _named_apart(cases: Sequence[Case]) -> list[Case]:
    """The networks; of a name that stands twice, the second and later ones get a number."""
    seen: Counter[str] = Counter()
    apart = []
    for case in cases:
        seen[case.name] += 1
        times = seen[case.name]
        if times > 1:
            case = Case(replace(case.scenario, name=f"{case.name} ({times})"), case.kind)
        apart.append(case)
    return apart


def summary(cases: Sequence[Case]) -> str:
    """How many there are of each kind, in words."""
    count = Counter(case.kind for case in cases)
    told = ", ".join(f"{kind} {number}" for kind, number in sorted(count.items()))
    return f"{len(cases)} network{'' if len(cases) == 1 else 's'} ({told})"
