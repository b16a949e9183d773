"""`abr-tts voices add` and `voices remove`: voices made of clips, in a folder or at a server."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from .clip import read_clip
from .failure import Failure
from .say import KEY_VARIABLE
from .trust import add_trust, context_of


def add(subparsers: Any) -> None:
    """Declare the two commands."""
    adds = subparsers.add_parser(
        "add",
        help="make a voice of a WAV file",
        description="Make a voice of 1 to 30 s of somebody's speech (3 to 10 s are best), for engines that "
        "clone. Without --url it goes into the folder that servers share, engine.voices_dir.",
        argument_default=argparse.SUPPRESS,  # what stands before `add` holds, where nothing else is said
    )
    adds.add_argument("name", help="1 to 48 letters, digits, - and _")
    adds.add_argument("file", help="WAV file: PCM of 8 to 32 bits, one channel or two, any rate")
    adds.add_argument(
        "--text", default="", help="what is said in it, word for word: the voice comes out closer"
    )
    adds.add_argument("--language", metavar="TAG", help="in which it is said, such as en or zh")
    adds.add_argument(
        "--consent", action="store_true", default=False,
        help="the speaker agrees to be cloned; nothing is added without",
    )  # fmt: skip
    adds.add_argument("--url", help="hand it to this server: ws://host:port or wss://host")
    adds.add_argument("--api-key", metavar="KEY", help=f"better in the environment as {KEY_VARIABLE}")
    add_trust(adds)
    _add_dir(adds)
    adds.set_defaults(run=run_add)
    removes = subparsers.add_parser(
        "remove", help="forget such a voice", description="Forget a voice: it is gone at once everywhere."
    )
    removes.add_argument("name", help="the voice")
    _add_dir(removes)
    removes.set_defaults(run=run_remove)


def _add_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir", type=Path, default=None, help="the folder; ABR_TTS_ENGINE__VOICES_DIR if not given"
    )


def run_add(arguments: argparse.Namespace) -> int:
    """Add it; 0 when it can be used."""
    if not arguments.consent:
        raise Failure("a voice is made only of a speaker who agreed: say so with --consent", status=2)
    sound, rate = read_clip(arguments.file)
    if arguments.url:
        seconds = asyncio.run(_upload(arguments, sound, rate))
        print(f"{arguments.name}: {seconds:.1f} s of speech at {arguments.url}")
    else:
        seconds = _keep(arguments, sound, rate)
        print(f"{arguments.name}: {seconds:.1f} s of speech in {_folder(arguments)}")
        _warn_of_engine()
    return 0


def _warn_of_engine() -> None:
    """The folder may well be for servers of another engine, so it is no fault."""
    from ..engine.kinds import KINDS
    from .local import settings

    kind = settings().engine.kind
    if not KINDS[kind].clones:
        print(
            f"abr-tts: warning: kept; but the engine of these settings, {kind}, does not clone: "
            "set ABR_TTS_ENGINE__KIND to one that does (docs/engines.md)",
            file=sys.stderr,
        )


def run_remove(arguments: argparse.Namespace) -> int:
    """Remove it; 0 if there was one."""
    from ..engine.references import References

    if arguments.url:
        raise Failure("a voice is removed where its folder is, not at a server", status=2)
    if not References(_folder(arguments)).remove(arguments.name):
        raise Failure(f"there is no voice {arguments.name!r} in {_folder(arguments)}")
    return 0


def _folder(arguments: argparse.Namespace) -> Path:
    from .local import settings

    folder = arguments.dir or settings().engine.voices_dir
    if folder is None:
        raise Failure("which folder? give --dir, or set ABR_TTS_ENGINE__VOICES_DIR", status=2)
    return Path(folder)


def _keep(arguments: argparse.Namespace, sound: Any, rate: int) -> float:
    """Into the folder, as a server would keep it."""
    from ..audio.clip import mono
    from ..audio.pcm import to_int16
    from ..audio.resample import convert
    from ..engine.references import RATE, References

    folder = _folder(arguments)
    if folder.exists() and not folder.is_dir():
        raise Failure(f"{folder} is no folder")
    clip = to_int16(convert(mono(sound), rate, RATE))
    languages = (arguments.language,) if arguments.language else ()
    added = References(folder).add(
        arguments.name, clip, text=arguments.text, languages=languages, consent=True
    )
    return added.seconds


async def _upload(arguments: argparse.Namespace, sound: Any, rate: int) -> float:
    from ..client import Client

    key = arguments.api_key or os.environ.get(KEY_VARIABLE)
    async with Client(arguments.url, api_key=key, ssl=context_of(arguments)) as client:
        return await client.add_voice(
            arguments.name, sound, rate, consent=True, text=arguments.text, language=arguments.language
        )
