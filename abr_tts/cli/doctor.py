"""
`abr-tts doctor`: what serves here, what is missing, and how to get it.

Each check tries the thing itself as the server would, and looks at nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.metadata
import importlib.util
import json
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import AbrError, LocalError, to_install

PACKAGES = {
    "aiohttp": "aiohttp",
    "msgpack": "msgpack",
    "numpy": "numpy",
    "msgspec": "msgspec",
    "soxr": "soxr",
    "opuslib": None,
    "opuslib-next-bundled": None,
    "prometheus-client": "prometheus_client",
}
"""The core dependencies of pyproject, and what to import to try each. The two of Opus are tried
together, as `libopus`."""

PINS = {"opuslib": "==3.0.1", "opuslib-next-bundled": "==0.1.1"}
"""Versions of those that fit no other (pyproject)."""

HOW = re.compile("[:;] (?=pip install )")
"""Where a fault that says how to get what is missing begins to say it."""

PYTHON = (3, 11)
"""The oldest Python that the server runs on (pyproject)."""


@dataclass(frozen=True, slots=True)
class Check:
    """
    One finding.

    Args:
        name: of the thing.
        ok: it works.
        detail: what was found, for a person.
        remedy: how to get it, where it is missing.
        needed: speech needs it; a missing one that is not needed is a remark.
        facts: the same for programs.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = True
    facts: dict[str, Any] = field(default_factory=dict)


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "doctor",
        help="say what works here and what is missing",
        description="Check what this machine has. The exit status is 1 if something needed is missing.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check everything; 0 if nothing needed is missing."""
    checks = list(examine())
    missing = [check.name for check in checks if check.needed and not check.ok]
    if arguments.json:
        print(json.dumps({"ok": not missing, "checks": [asdict(check) for check in checks]}))
    else:
        print("\n".join(_lines(checks)))
        print(f"missing: {', '.join(missing)}" if missing else "everything needed is here")
    return 1 if missing else 0


def examine() -> Iterator[Check]:
    """All checks, in order."""
    yield check_python()
    for distribution, module in PACKAGES.items():
        yield check_package(distribution, module)
    for check in (check_libopus, check_espeak, check_player):
        yield check()
    yield from check_engines()


def check_python() -> Check:
    """The interpreter."""
    version = platform.python_version()
    wanted = ".".join(map(str, PYTHON))
    ok = sys.version_info >= PYTHON
    return Check("python", ok, f"{version}, {sys.executable}", f"install Python {wanted} or newer")


def check_package(distribution: str, module: str | None) -> Check:
    """One dependency: installed, and can be imported."""
    remedy = f"pip install {distribution}{PINS.get(distribution, '')}"
    try:
        version = importlib.metadata.version(distribution)
        if module:
            importlib.import_module(module)
    except importlib.metadata.PackageNotFoundError:
        return Check(distribution, False, "not installed", remedy)
    except ImportError as fault:
        return Check(distribution, False, f"cannot be imported: {fault}", f"{remedy} --force-reinstall")
    return Check(distribution, True, version, facts={"version": version})


def check_libopus() -> Check:
    """The codec: which library, from where, and whether it is the published one."""

    def look() -> Check:
        from ..audio.libopus import load

        found = load()
        hashed = "SHA-256 as published" if found.verified else "SHA-256 not one that we know"
        facts = {name: getattr(found, name) for name in ("path", "version", "source", "sha256", "verified")}
        return Check("libopus", True, f"{found.version}, {found.source}, {hashed}, {found.path}", facts=facts)

    return _tried("libopus", look, "pip install opuslib==3.0.1 opuslib-next-bundled==0.1.1")


def check_espeak() -> Check:
    """The default engine: its worker is started, as the server does."""

    def look() -> Check:
        import espeakng_loader

        from ..engine.pool import EngineSpec

        path, data = espeakng_loader.get_library_path(), espeakng_loader.get_data_path()
        version, voices = asyncio.run(_start_engine(EngineSpec("espeak", {}, None)))
        facts = {"version": version, "voices": voices, "path": str(path), "data": str(data)}
        return Check("espeak", True, f"{version}, {voices} voices, {path}, data {data}", facts=facts)

    return _tried("espeak", look, to_install("espeak"))


def check_player() -> Check:
    """A program that `say` can play through; a file can always be written."""

    def look() -> Check:
        from .speaker import HOW_TO_GET, NONE, installed

        player = installed()
        return Check("player", player is not None, player.name if player else NONE, HOW_TO_GET, needed=False)

    return _tried("player", look, "pip install numpy", needed=False)


def check_engines() -> Iterator[Check]:
    """The engines that an extra brings, other than the default one: which of them are installed here."""
    from ..engine.kinds import KINDS

    for name, kind in KINDS.items():
        if kind.extra and name != "espeak":
            missing = [module for module in kind.needs if not _is_here(module)]
            detail = (
                f"{missing[0]} is not installed" if missing else "installed; abr-tts engine check tries it"
            )
            facts = {"extra": kind.extra, "missing": missing}
            remedy = to_install(kind.extra)
            yield Check(f"engine {name}", not missing, detail, remedy, needed=False, facts=facts)


def _is_here(module: str) -> bool:
    """Whether it can be found; it is not loaded, which takes seconds for some."""
    return importlib.util.find_spec(module) is not None


async def _start_engine(spec: Any) -> tuple[str, int]:
    from ..engine.pool import Pool

    pool = Pool(spec, 1)
    await pool.start()
    try:
        return pool.abilities.version, len(pool.voices)
    finally:
        await pool.stop()


def _tried(name: str, look: Callable[[], Check], remedy: str, needed: bool = True) -> Check:
    """What was found; of a fault that says itself how to get what is missing, that is the remedy."""
    try:
        return look()
    except ImportError as fault:
        return Check(name, False, f"{fault.name or fault} is not installed", remedy, needed)
    except (AbrError, LocalError, OSError) as fault:
        what, *how = HOW.split(str(fault), 1)
        return Check(name, False, what, how[0] if how else remedy, needed)


def _lines(checks: list[Check]) -> Iterator[str]:
    """A line for each, with the remedy of what is missing below the first that it is for."""
    told: set[str] = set()
    for check in checks:
        mark = "ok" if check.ok else "MISSING" if check.needed else "none"
        yield f"{mark:8} {check.name}: {check.detail}"
        if not check.ok and check.remedy not in told:
            told.add(check.remedy)
            yield f"         {check.remedy}"
