"""`abr-tts say`: text to a WAV file, to standard output, or to the loudspeaker."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import ssl
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import to_install
from ..units import frame_samples
from .failure import Failure
from .progress import Progress
from .trust import add_trust, context_of

if TYPE_CHECKING:
    from ..client import Speech
    from .wav import Output

KEY_VARIABLE = "ABR_TTS_API_KEY"
"""Environment variable of the API key: a flag would show in the list of processes."""

HIGHEST_RATE = 192_000
"""Hz that `--rate` takes at most: the highest that sound cards play."""


def add(subparsers: Any) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "say",
        help="speak a text",
        description="Speak a text. Without --url a server is started for it, without -o it is played: by a "
        "program that the system has, or with --play by PortAudio.",
    )
    parser.add_argument("text", nargs="*", help='what to say; "-" or nothing reads standard input (UTF-8)')
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write a WAV file, 16 bits mono; - writes it to standard output as it arrives (into a pipe "
        "with the longest length in its header, since the true one is not known yet)",
    )
    where.add_argument(
        "--play",
        action="store_true",
        help=f"play it through the sound device, as it comes; needs {to_install('live')}",
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="of --play: a part of a device's name, or its number; the system's own",
    )
    parser.add_argument("--url", help="server: ws://host:port or wss://host")
    parser.add_argument("--voice", help="see abr-tts voices")
    parser.add_argument(
        "--language", metavar="TAG", help="such as en or zh; by the script of the text if not given"
    )
    parser.add_argument("--speed", type=float, default=1.0, help="1.0 is the voice's own")
    parser.add_argument(
        "--instruct",
        metavar="WORDS",
        help='how to speak, such as "in a whisper", for engines that follow words',
    )
    parser.add_argument("--rung", help="hold the stream at this rung: pcm22, ulaw16k, opus64 … opus8")
    parser.add_argument("--policy", metavar="NAME", help="how it adapts: one of the server's policies")
    parser.add_argument(
        "--rate", type=_rate, metavar="HZ", help="sample rate of the output; the engine's if not given"
    )
    parser.add_argument("--realtime", action="store_true", help="take a frame every 20 ms, and count stalls")
    parser.add_argument(
        "--live",
        action="store_true",
        help="as --realtime, and rather in time than whole: slower while little is held, short gaps bridged, "
        "what is over 2 s late dropped",
    )
    parser.add_argument("--api-key", metavar="KEY", help=f"better in the environment as {KEY_VARIABLE}")
    add_trust(parser)
    told = parser.add_mutually_exclusive_group()
    told.add_argument(
        "--json", action="store_true", help="print figures as one JSON object to standard output"
    )
    told.add_argument(
        "--quiet", action="store_true", help="say nothing but faults; no progress, and no line for a file"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Speak; 0 when all of it was heard."""
    if arguments.json and arguments.output == "-":
        raise Failure("--json and -o - both want standard output; write the sound to a file", status=2)
    if arguments.device is not None and not arguments.play:
        raise Failure("--device is of --play", status=2)
    trusted = context_of(arguments)
    text = _text(arguments.text)
    output = _loudspeaker(arguments.device) if arguments.play else output_of(arguments.output)
    asyncio.run(_say(arguments, text, output, trusted))
    return 0


async def _say(
    arguments: argparse.Namespace, text: str, output: Output, trusted: ssl.SSLContext | None
) -> None:
    async with AsyncExitStack() as stack:
        stack.callback(output.abort)
        url = arguments.url
        if url is None:
            from .local import own_server

            url = await stack.enter_async_context(own_server())
        from ..client import Client
        from .wav import WavFile

        key = arguments.api_key or os.environ.get(KEY_VARIABLE)
        client = await stack.enter_async_context(Client(url, api_key=key, ssl=trusted))
        progress = Progress(not (arguments.json or arguments.quiet))
        in_time = arguments.realtime or arguments.play or arguments.live
        speech = client.speak(
            text,
            voice=arguments.voice,
            language=arguments.language,
            speed=arguments.speed,
            rung=arguments.rung,
            policy=arguments.policy,
            out_rate=arguments.rate,
            realtime=in_time,
            live=arguments.live,
            whole=isinstance(output, WavFile) and not in_time,
            instruct=arguments.instruct,
            events=progress.note,
        )
        await hear(speech, output, progress, arguments.output)
        if arguments.json:
            print(json.dumps({**speech.stats.as_dict(), "warnings": progress.warnings}))


async def hear(speech: Speech, output: Output, progress: Progress, name: str | None) -> None:
    """All of it into `output`; a file that was named has a line in the end, on a terminal everything has."""
    stats, words, file = speech.stats, "", "" if name in (None, "-") else f"{name}: "
    try:
        async for frame in speech:
            await output.write(frame, speech.sample_rate)
            progress.draw(stats.seconds, speech.rung, speech.buffer_ms, stats.switches)
        await output.close()
        rungs = ", ".join(f"{rung} {seconds:.1f} s" for rung, seconds in stats.rungs.items())
        first = f"first sound after {stats.first_sound_ms or 0:.0f} ms"
        words = f"{file}{stats.seconds:.1f} s of {stats.voice}, {first} ({rungs})"
    except BrokenPipeError:
        raise
    except OSError as fault:
        raise Failure(f"the speech cannot be written: {fault.strerror or fault}") from None
    finally:
        progress.end(words, anywhere=bool(file))


def _text(words: list[str]) -> str:
    """The text of the arguments, or of standard input."""
    text = _standard_input() if words in ([], ["-"]) else " ".join(words)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Failure("the text is not valid UTF-8") from None
    if not text.strip():
        raise Failure("the text is empty: there is nothing to say")
    return text


def _standard_input() -> str:
    if sys.stdin is None:
        raise Failure("there is no standard input; give the text as an argument")
    if sys.stdin.isatty():
        print("abr-tts: reading the text from the terminal; Ctrl-D ends it", file=sys.stderr)
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failure("the text on standard input is not valid UTF-8") from None


def output_of(name: str | None) -> Output:
    """Where the speech goes; a bad place is told before anything is asked of a server."""
    from .speaker import Speaker, find
    from .wav import WavFile

    if name is None:
        return Speaker(find())
    if name == "-":
        return _standard_output()
    try:
        return WavFile(_checked(name))
    except OSError as fault:
        raise Failure(f"{name} cannot be written: {fault.strerror or fault}") from None


def _loudspeaker(device: str | None) -> Output:
    """The sound device; its lack is told before anything is asked of a server."""
    from ..client.loudspeaker import Loudspeaker

    return Loudspeaker(int(device) if device and device.isdecimal() else device)


def _checked(name: str) -> str:
    """`name`, if a file can be written there."""
    path = Path(name)
    if not name:
        raise Failure("-o needs the name of a file")
    if path.is_dir() or name.endswith(os.sep):
        raise Failure(f"{name} is a directory; name a file in it")
    if path.is_fifo():
        raise Failure(f"{name} is a pipe; write to it with -o - and a redirection")
    if not path.parent.is_dir():
        raise Failure(f"there is no directory {path.parent}; make it, or write elsewhere")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise Failure(f"{name} cannot be written: permission denied")
    return name


def _standard_output() -> Output:
    """A file behind standard output gets its true length in the end; a pipe cannot."""
    from .wav import WavFile, WavPipe

    if sys.__stdout__ is None:
        raise Failure("there is no standard output; name a file with -o out.wav")
    if sys.stdout.isatty():
        raise Failure("standard output is a terminal; redirect it, or name a file with -o out.wav")
    file = sys.stdout.buffer
    return WavFile(file) if file.seekable() else WavPipe(file)


def _rate(text: str) -> int:
    try:
        rate = int(text)
        frame_samples(rate)
    except ValueError:
        rate = 0
    if not 0 < rate <= HIGHEST_RATE:
        raise argparse.ArgumentTypeError(f"must be a multiple of 50 Hz up to {HIGHEST_RATE}, not {text}")
    return rate
