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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import AbrError, ConfigError, LocalError, to_install

if TYPE_CHECKING:
    from ..server.config import Settings

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

EXTRAS = {
    "formats": ("av", "mp3, AAC and FLAC for OpenAI's and DashScope's clients"),
    "jwt": ("jwt", "JSON Web Tokens (auth.jwt_file)"),
    "grpc": ("grpc_health", "the gRPC door (grpc.enabled)"),
    "otel": ("opentelemetry.sdk", "traces for a collector (tracing.endpoint)"),
}
"""Extras of the server that are no engine: a module that each brings, and what it is for (pyproject)."""

TRY = "abr-tts engine check {} tries it"
"""What is said of an engine that is found and was not started."""

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
    yield check_libopus()
    engine = check_engine()
    yield engine
    yield check_player()
    yield from (check for check in check_engines() if check.facts["engine"] != engine.facts.get("engine"))
    yield from check_extras()


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


def check_engine() -> Check:
    """The engine that the environment sets: it is started, as the server does."""
    from ..engine.kinds import KINDS
    from .local import hushed, settings

    try:
        chosen = settings()
    except ConfigError as fault:
        return Check("settings", False, str(fault), "abr-tts serve --settings lists them")
    except ImportError as fault:  # of a package that has a line of its own above
        return Check("engine", False, f"cannot be tried without {fault.name}")
    kind = chosen.engine.kind
    facts: dict[str, Any] = {"engine": kind}

    def look() -> Check:
        with hushed():
            version, voices = asyncio.run(_start(chosen))
        facts.update(version=version, voices=voices)
        where = _espeak_paths(chosen.engine.options) if kind == "espeak" else {}
        facts.update(where)
        detail = f"{version}, {voices} voices" + "".join(f", {key} {path}" for key, path in where.items())
        return Check(_called(kind), True, detail, facts=facts)

    extra = KINDS[kind].extra
    found = _tried(_called(kind), look, to_install(extra) if extra else "", facts=facts)
    return found if found.ok else replace(found, remedy=found.remedy + _instead(kind))


def _called(kind: str) -> str:
    return kind if kind == "espeak" else f"engine {kind}"


def _espeak_paths(options: Mapping[str, Any]) -> dict[str, str]:
    from ..engine.libespeak import find

    path, data = find(options)
    return {"path": path, "data": data}


def _instead(kind: str) -> str:
    """Which engine that is here would do, where nobody has chosen another than the default one."""
    if kind != "espeak":
        return ""
    here = [check.facts["engine"] for check in check_engines() if check.ok]
    return f"; or export ABR_TTS_ENGINE__KIND={here[0]}, which is installed" if here else ""


def check_player() -> Check:
    """A program that `say` can play through; a file can always be written."""

    def look() -> Check:
        from .speaker import HOW_TO_GET, NONE, installed

        player = installed()
        return Check("player", player is not None, player.name if player else NONE, HOW_TO_GET, needed=False)

    return _tried("player", look, "pip install numpy", needed=False)


def check_engines() -> Iterator[Check]:
    """The engines that an extra brings: which of them are installed here."""
    from ..engine.kinds import KINDS

    for name, kind in KINDS.items():
        if kind.extra:
            missing = [module for module in kind.needs if not _is_here(module)]
            detail = f"{missing[0]} is not installed" if missing else f"installed; {TRY.format(name)}"
            facts = {"engine": name, "extra": kind.extra, "missing": missing}
            remedy = to_install(kind.extra)
            yield Check(f"engine {name}", not missing, detail, remedy, needed=False, facts=facts)


def check_extras() -> Iterator[Check]:
    """The extras that bring no engine: which of them are installed here."""
    for extra, (module, what) in EXTRAS.items():
        here = _is_here(module)
        detail = f"installed; {what}" if here else f"{module} is not installed; {what}"
        yield Check(f"extra {extra}", here, detail, to_install(extra), needed=False, facts={"extra": extra})


def _is_here(module: str) -> bool:
    """Whether it can be found; it is not loaded, which takes seconds for some."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is in is missing
        return False


async def _start(chosen: Settings) -> tuple[str, int]:
    from ..server.speech.synthesis import pool_of_one

    pool = pool_of_one(chosen)
    await pool.start()
    try:
        return pool.abilities.version or "it starts", len(pool.voices)
    finally:
        await pool.stop()


def _tried(
    name: str,
    look: Callable[[], Check],
    remedy: str,
    needed: bool = True,
    facts: dict[str, Any] | None = None,
) -> Check:
    """What was found; of a fault that says itself how to get what is missing, that is the remedy."""
    try:
        return look()
    except ImportError as fault:
        detail = f"{fault.name or fault} is not installed"
        return Check(name, False, detail, remedy, needed, facts or {})
    except (AbrError, LocalError, OSError) as fault:
        what, *how = HOW.split(str(fault), 1)
        return Check(name, False, what, how[0] if how else remedy, needed, facts or {})


def _lines(checks: list[Check]) -> Iterator[str]:
    """
    A line for each, with how to get what is missing below it: of what is needed once, below the first that it
    is for; of what may be had besides below each, since one looks up the one that one wants.
    """
    told: set[str] = set()
    for check in checks:
        mark = "ok" if check.ok else "MISSING" if check.needed else "none"
        yield f"{mark:8} {check.name}: {check.detail}"
        if not check.ok and check.remedy and not (check.needed and check.remedy in told):
            told.add(check.remedy)
            yield f"         {check.remedy}"
