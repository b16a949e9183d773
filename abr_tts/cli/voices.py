"""`abr-tts voices`: who can speak here. Adding and removing stand in `voice_clips`."""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from . import voice_clips
from .failure import Failure

if TYPE_CHECKING:
    from ..engine.base import Voice


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "voices",
        help="list the voices of this machine's engine, add and remove made ones",
        description="List the voices, the default first; or add one made of a clip, or remove such a one.",
    )
    parser.add_argument("--language", metavar="TAG", help="only those that speak it, such as en or pt-br")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)
    voice_clips.add(parser.add_subparsers(metavar="add | remove"))


def run(arguments: argparse.Namespace) -> int:
    """List them; 0 if there are any."""
    voices = asyncio.run(_voices())
    if arguments.language is not None:
        voices = [voice for voice in voices if speaks(voice, arguments.language)]
        if not voices:
            raise Failure(f"no voice speaks {arguments.language!r}; abr-tts voices lists all")
    if arguments.json:
        print(json.dumps({"voices": [asdict(voice) for voice in voices]}, ensure_ascii=False))
        return 0
    width = max(len(voice.name) for voice in voices)
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
