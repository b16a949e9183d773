"""
The command line: `abr-tts serve`, `say`, `convert`, `demo`, `replay`, `policy`, `voices`, `engine`,
`doctor`. One module each.

This module parses and speaks faults; a command's module adds its own arguments and does the
work. Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import AbrError, LocalError
from . import convert, demo, doctor, engine, policy, replay, say, serve, voices
from .failure import Failure

COMMANDS = (serve, say, convert, demo, replay, policy, voices, engine, doctor)
"""Modules with `add(subparsers)`; the parser they make has `run`, a function of the arguments."""


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run one command.

    Returns:
        The exit status: 0; 1 after a failure, told in one sentence on stderr; 2 after wrong usage;
        130 after Ctrl-C.

    Raises:
        SystemExit: 2 for wrong usage, 0 for `--help` and `--version` (argparse's own).
    """
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 -- None where the shell closed it
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 -- the same
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _let_go_of_output()  # who read it has gone, as `head` does
        return 1
    except ModuleNotFoundError as fault:
        print(f"abr-tts: error: {fault.name} is not installed; abr-tts doctor says what is", file=sys.stderr)
        return 1
    except (AbrError, LocalError, Failure) as fault:
        print(f"abr-tts: error: {_sentence(fault)}", file=sys.stderr)
        return fault.status if isinstance(fault, Failure) else 1
    except OSError as fault:
        _let_go_of_output()
        where = f"{fault.filename}: " if fault.filename else ""
        print(f"abr-tts: error: {where}{fault.strerror or fault}", file=sys.stderr)
        return 1
    return status


def _let_go_of_output() -> None:
    """Python must not write to standard output again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="abr-tts",
        description="Streaming text-to-speech whose audio survives bad networks.",
        epilog="Exit status: 0 done, 1 failed (one sentence on stderr says why), 2 wrong usage, 130 Ctrl-C.",
    )
    parser.add_argument("--version", action="version", version=f"abr-tts {__version__}")
    subparsers = parser.add_subparsers(metavar="command", required=True)
    for command in COMMANDS:
        command.add(subparsers)
    return parser


def _sentence(fault: Exception) -> str:
    words = " ".join(str(fault).split())
    retry_after = getattr(fault, "retry_after", None)
    return f"{words} (try again in {retry_after:g} s)" if retry_after else words
