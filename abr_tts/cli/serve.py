"""`abr-tts serve`: settings from a file, the environment and flags; then the server until a signal."""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.kinds import KINDS
from ..errors import ConfigError
from .failure import Failure

if TYPE_CHECKING:
    from ..server.config import Settings

FLAGS = {
    "host": "server.host",
    "port": "server.port",
    "engine": "engine.kind",
    "model_dir": "engine.options.model_dir",
    "workers": "engine.workers",
    "cert": "tls.cert_file",
    "key": "tls.key_file",
    "policy": "stream.policy",
    "canary": "canary.policy",
    "record": "record.dir",
}
"""Flags that stand for a setting of their own; every other setting is reached by `--set`."""


DEMO_FILES = 100
"""Recordings that a server with `--demo` keeps for its pages where it was not told to record: some 10 MB."""


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "serve",
        help="run the server",
        description="Run the server until SIGTERM or Ctrl-C; running streams may then finish. Policy files "
        "are read again when they change, and on SIGHUP.",
        epilog="Settings: flags over ABR_TTS_SECTION__KEY in the environment over the file. "
        "--settings lists them all.",
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help="settings file (TOML)")
    parser.add_argument("--host", help="address to listen on (server.host)")
    parser.add_argument("--port", help="TCP port, 0 for any free one (server.port)")
    parser.add_argument(
        "--engine", metavar="KIND", help=f"{', '.join(KINDS)}; see abr-tts engine list (engine.kind)"
    )
    parser.add_argument(
        "--model-dir",
        metavar="DIR",
        type=_folder,
        help="weights of an engine that has none of its own, such as cosyvoice (engine.options.model_dir)",
    )
    parser.add_argument("--workers", metavar="N", help="engine processes (engine.workers)")
    parser.add_argument("--cert", metavar="PEM", help="certificate, for wss:// (tls.cert_file)")
    parser.add_argument("--key", metavar="PEM", help="its private key (tls.key_file)")
    parser.add_argument("--policy", metavar="POLICY", help="a preset, or a policy file (stream.policy)")
    parser.add_argument("--canary", metavar="POLICY", help="the same, tried on some sessions (canary.policy)")
    parser.add_argument("--record", metavar="DIR", help="a trace of each stream goes there (record.dir)")
    parser.add_argument(
        "--demo",
        action="store_true",
        help="let pages spoil their own link and fetch their decisions; not for servers that others use",
    )
    parser.add_argument(
        "--set", metavar="SECTION.KEY=VALUE", action="append", default=[], help="any setting; may be repeated"
    )
    parser.add_argument("--settings", action="store_true", help="list every setting and its default, and end")
    parser.set_defaults(run=run)


def _folder(name: str) -> str:
    """Absolute, so that a folder called 1 is no number."""
    return str(Path(name).absolute())


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop; 0 after a clean stop."""
    from ..server.config import load

    if arguments.settings:
        return _list_settings()
    overrides = _overrides(arguments)
    try:
        settings = load(arguments.config, os.environ, overrides)
    except ConfigError as fault:
        raise Failure(_as_typed(str(fault), arguments)) from None
    if not arguments.demo:
        asyncio.run(_serve(settings))
        return 0
    if not settings.web.enabled:
        raise Failure("--demo needs the pages: web.enabled is false", status=2)
    with tempfile.TemporaryDirectory(prefix="abr-tts-") as folder:
        asyncio.run(_serve(_recorded(settings, Path(folder)), demo=True))
    return 0


def _recorded(settings: Settings, folder: Path) -> Settings:
    """The same with streams recorded in `folder`, unless they are recorded already."""
    if settings.record.dir is not None:
        return settings
    return replace(settings, record=replace(settings.record, dir=folder, files=DEMO_FILES))


def _overrides(arguments: argparse.Namespace) -> dict[str, str]:
    chosen = {}
    for assignment in arguments.set:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise Failure(
                f"--set {assignment}: it must look like section.key=value, such as server.port=80", status=2
            )
        chosen[name.strip()] = value.strip()
    given = {name: getattr(arguments, flag) for flag, name in FLAGS.items()}
    return chosen | {name: value for name, value in given.items() if value is not None}


def _as_typed(sentence: str, arguments: argparse.Namespace) -> str:
    """The sentence with the flag that was typed: a fault names the setting, as `--server.port: ...`."""
    name = sentence.partition(":")[0].removeprefix("--")
    flags = [
        flag for flag, setting in FLAGS.items() if setting == name and getattr(arguments, flag) is not None
    ]
    if not sentence.startswith("--"):
        return sentence
    return sentence.replace(f"--{name}", f"--{flags[0]}" if flags else f"--set {name}", 1)


async def _serve(settings: Settings, demo: bool = False) -> None:
    import logging

    from ..demo.links import Links
    from ..server.app import Server
    from ..server.program import run as run_server
    from ..server.watching.logs import set_up

    def made(server: Server) -> None:
        if demo:
            Links(server).open()

    def started(server: Server) -> None:
        if _open_to_all(settings):
            logging.getLogger(__name__).warning(
                "whoever reaches %s on the network may use this server: it has no API keys (auth.keys_file)",
                settings.server.host,
            )
        if settings.web.enabled:
            logging.getLogger(__name__).info("the page is %s/", server.http_url)

    set_up(settings.log)
    await run_server(settings, started, made)


def _open_to_all(settings: Settings) -> bool:
    """Whether it listens beyond this machine and asks for no key."""
    from ipaddress import ip_address

    host, auth = settings.server.host, settings.auth
    try:
        here = ip_address(host.partition("%")[0]).is_loopback
    except ValueError:  # a name
        here = host == "localhost"
    return not (here or auth.keys or auth.keys_file or auth.jwt_file)


def _list_settings() -> int:
    from ..server.config import describe

    for one in describe():
        print(f"{one.name} = {one.default!r}\n    {one.sentence} ({one.variable})")
    return 0
