"""
`abr-tts policy status`, `rollback` and `canary`: what a running server has in use, and how to go back.

They speak to /admin/policy. On the server's own machine the settings that it was started with say where it
is and what opens it, so that in a hurry nothing has to be looked up.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .failure import Failure
from .remote import ask, base_of
from .trust import add_trust, context_of

if TYPE_CHECKING:
    from ..server.config import Settings

KEY_VARIABLE = "ABR_TTS_ADMIN_KEY"
"""Environment variable of the admin key: a flag would show in the list of processes."""


def add(verbs: Any) -> None:
    """Declare the three verbs below `abr-tts policy`."""
    status = verbs.add_parser(
        "status",
        help="what a running server has in use",
        description="Show which policies a running server has in use, which before them, and what is wrong.",
    )
    rollback = verbs.add_parser(
        "rollback",
        help="undo a running server's latest roll-out",
        description="Have a running server go back to the policy before the one that was rolled out last; "
        "a canary ends. New streams take it at once. The version that is left is not taken again until its "
        "file says something else.",
    )
    rollback.add_argument(
        "setting", nargs="?", help="undo the latest one of this setting, such as canary.policy"
    )
    canary = verbs.add_parser(
        "canary",
        help="give the canary to another share of sessions",
        description="Give the canary of a running server to another share of its sessions, until it ends.",
    )
    canary.add_argument("share", type=float, help="0 for none, 1 for all")
    for parser, run in ((status, run_status), (rollback, run_rollback), (canary, run_canary)):
        parser.add_argument("--config", metavar="FILE", type=Path, help="settings that the server was given")
        parser.add_argument("--url", help="server: http://host:port; the one of the settings if not given")
        parser.add_argument("--admin-key", metavar="KEY", help=f"better in the environment as {KEY_VARIABLE}")
        add_trust(parser)
        parser.add_argument("--json", action="store_true", help="print the server's answer")
        parser.set_defaults(run=run)


def run_status(arguments: argparse.Namespace) -> int:
    """Show it; 0."""
    answer = _ask(arguments, "", None)
    _print(arguments, answer, _table(answer))
    return 0


def run_rollback(arguments: argparse.Namespace) -> int:
    """Do it; 0 if there was something to undo."""
    asked = {"setting": arguments.setting} if arguments.setting else {}
    answer = _ask(arguments, "/rollback", asked)
    _print(arguments, answer, f"{answer['setting']}: {answer['words']}")
    return 0


def run_canary(arguments: argparse.Namespace) -> int:
    """Do it; 0."""
    answer = _ask(arguments, "/canary", {"share": arguments.share})
    share = f"the canary has {answer['canary_share']:g} of sessions from now on"
    _print(arguments, answer, f"{share}\n{_table(answer)}")
    return 0


def _print(arguments: argparse.Namespace, answer: dict[str, Any], words: str) -> None:
    print(json.dumps(answer) if arguments.json else words)


def _table(status: dict[str, Any]) -> str:
    """One line a setting, below it what it was before and what is wrong."""
    lines = []
    width = max((len(one["setting"]) for one in status["settings"]), default=0)
    for one in status["settings"]:
        share = f", {status['canary_share']:g} of sessions" if one["setting"] == "canary.policy" else ""
        lines.append(f"{one['setting']:{width}}  {_version(one)}{share}")
        if one["earlier"]:
            lines.append(f"{'':{width}}  before: {', '.join(map(_version, one['earlier']))}")
        if one["fault"]:
            lines.append(f"{'':{width}}  ! {one['fault']}")
    return "\n".join(lines)


def _version(one: dict[str, Any]) -> str:
    return f"{one['name']} ({one['hash']})" if one["hash"] else "none"


# ------------------------------------------------------------ the way to the server


def _ask(arguments: argparse.Namespace, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
    from ..server.config import load
    from ..server.watching.admin import PATH

    settings = load(arguments.config, os.environ)
    base = base_of(arguments.url) if arguments.url else _own(settings)
    key = _key(arguments, settings)
    return ask(base, PATH + path, key=key, context=context_of(arguments), body=body)


def _own(settings: Settings) -> str:
    from ..server.app import place

    scheme = "https" if settings.tls.cert_file else "http"
    return f"{scheme}://{place(settings.server.host, settings.server.port)}"


def _key(arguments: argparse.Namespace, settings: Settings) -> str:
    from ..server.access.keys import read_keys

    given = (arguments.admin_key or os.environ.get(KEY_VARIABLE, "")).strip()
    keys = [("", given)] if given else read_keys(settings.admin.keys, settings.admin.keys_file, "admin")
    if not keys:
        raise Failure(
            f"no admin key: give it as {KEY_VARIABLE} in the environment, or by the server's --config"
        )
    key = keys[0][1]
    if not (key.isascii() and key.isprintable()):
        raise Failure("the admin key has characters that no key of a server has")
    return key
