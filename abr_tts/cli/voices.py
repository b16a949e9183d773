"""`abr-tts voices`: who can speak, here or at a server. Adding and removing stand in `voice_clips`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from . import voice_clips
from .failure import Failure
from .remote import ask, base_of
from .say import KEY_VARIABLE
from .trust import add_trust, context_of

if TYPE_CHECKING:
    from ..engine.base import Voice

PATH = "/v1/audio/voices"
"""Where a server tells its voices (docs/openai.md)."""


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "voices",
        help="list the voices of this machine's engine or of a server, add and remove made ones",
        description="List the voices, the default first; or add one made of a clip, or remove such a one. "
        "Without --url they are those of the engine that the environment sets for this machine.",
    )
    parser.add_argument("--language", metavar="TAG", help="only those that speak it, such as en or pt-br")
    parser.add_argument("--url", help="ask this server: ws://host:port or wss://host")
    parser.add_argument("--api-key", metavar="KEY", help=f"better in the environment as {KEY_VARIABLE}")
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)
    voice_clips.add(parser.add_subparsers(metavar="add | remove"))


def run(arguments: argparse.Namespace) -> int:
    """List them; 0, but 1 if none speaks the language."""
    voices = _voices_at(arguments) if arguments.url else asyncio.run(_voices())
    if arguments.language is not None:
        voices = [voice for voice in voices if speaks(voice, arguments.language)]
        if not voices:
            raise Failure(f"no voice speaks {arguments.language!r}; without --language all are listed")
    if arguments.json:
        print(json.dumps({"voices": [asdict(voice) for voice in voices]}, ensure_ascii=False))
        return 0
    width = max((len(voice.name) for voice in voices), default=0)
    for voice in voices:
        tags = ", ".join(dict.fromkeys(voice.languages)) or "language not told"
        print(f"{voice.name:{width}}  {voice.sample_rate} Hz  {voice.description} ({tags})")
    return 0


def speaks(voice: Voice, tag: str) -> bool:
    """Whether one of the voice's languages is `tag` or a kind of it: `pt` finds `pt-br`."""
    wanted = tag.lower().replace("_", "-")
    return any(own == wanted or own.startswith(f"{wanted}-") for own in voice.languages)


async def _voices() -> list[Voice]:
    from ..server.speech.synthesis import pool_of_one
    from .local import settings

    pool = pool_of_one(settings())
    await pool.start()
    try:
        return list(pool.voices)
    finally:
        await pool.stop()


def _voices_at(arguments: argparse.Namespace) -> list[Voice]:
    """
    Those of a server's engine, as `say --voice` takes them; names that only its door of OpenAI's knows are
    left out.
    """
    from ..client.dial import checked_key
    from ..engine.base import Voice

    key = checked_key(arguments.api_key or os.environ.get(KEY_VARIABLE))
    base = base_of(arguments.url)
    none = f"{base} does not tell its voices; has it openai.enabled = false?"
    answer = ask(base, PATH, key=key, context=context_of(arguments), missing=none)
    try:
        return [
            Voice(one["name"], tuple(one["languages"]), one["sample_rate"], one["description"])
            for one in answer["voices"]
            if "sample_rate" in one
        ]
    except (KeyError, TypeError):
        raise Failure(f"{base} tells of no voices as a server of this kind does") from None
