"""`abr-tts convert`: what somebody says in a WAV file, in another voice."""

from __future__ import annotations

import argparse
import asyncio
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from .clip import read_clip
from .progress import Progress
from .say import KEY_VARIABLE, hear, output_of
from .trust import add_trust, context_of

if TYPE_CHECKING:
    from .wav import Output


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "convert",
        help="say what a WAV file says in another voice",
        description="Say what is said in a WAV file, up to 30 s, in another voice, by an engine that "
        "converts. Without --url a server is started for it, without -o it is played.",
    )
    parser.add_argument("file", help="WAV file: PCM of 8 to 32 bits, one channel or two, any rate")
    parser.add_argument("-o", "--output", metavar="FILE", help="write a WAV file; - for standard output")
    parser.add_argument("--voice", help="who says it; see abr-tts voices")
    parser.add_argument("--speed", type=float, default=1.0, help="1.0 is that of the file")
    parser.add_argument("--url", help="server: ws://host:port or wss://host")
    parser.add_argument("--api-key", metavar="KEY", help=f"better in the environment as {KEY_VARIABLE}")
    add_trust(parser)
    parser.add_argument("--quiet", action="store_true", help="say nothing but faults")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Convert; 0 when all of it was heard."""
    sound, rate = read_clip(arguments.file)
    asyncio.run(_convert(arguments, sound, rate, output_of(arguments.output)))
    return 0


async def _convert(arguments: argparse.Namespace, sound: Any, rate: int, output: Output) -> None:
    from ..client import Client
    from .local import own_server
    from .wav import WavFile

    async with AsyncExitStack() as stack:
        stack.callback(output.abort)
        url = arguments.url or await stack.enter_async_context(own_server())
        key = arguments.api_key or os.environ.get(KEY_VARIABLE)
        client = await stack.enter_async_context(Client(url, api_key=key, ssl=context_of(arguments)))
        progress = Progress(not arguments.quiet)
        speech = client.convert(
            sound,
            rate,
            voice=arguments.voice,
            speed=arguments.speed,
            whole=isinstance(output, WavFile),
            events=progress.note,
        )
        await hear(speech, output, progress, arguments.output)
