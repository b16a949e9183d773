"""
What `say` and `voices` run on when no server is named: one of their own, in this process.

Settings of the engine and of streams come from the environment as for `serve`; those of the
network do not: this server is for one listener on this machine and takes any free port.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..server.config import Settings

OWN_SECTIONS = ("ABR_TTS_ENGINE__", "ABR_TTS_STREAM__")
"""Prefixes of the variables that count here."""


def settings() -> Settings:
    """
    The settings of a server of our own.

    Raises:
        ConfigError: a variable is wrong.
    """
    from ..server.config import load

    environ = {name: value for name, value in os.environ.items() if name.startswith(OWN_SECTIONS)}
    environ.setdefault("ABR_TTS_ENGINE__WORKERS", "1")
    alone = {"openai.enabled": False, "dashscope.enabled": False}  # nobody comes by them, and they cost
    return load(None, environ, {"server.host": "127.0.0.1", "server.port": 0} | alone)


@asynccontextmanager
async def own_server() -> AsyncIterator[str]:
    """
    A server for one listener; gives its URL, and stops it in the end.

    Raises:
        ConfigError, MissingDependency, EngineError: it cannot start.
    """
    from ..server.app import Server

    with hushed():
        server = Server(settings())
        await server.start()
        try:
            yield server.url
        finally:
            await server.stop()


@contextmanager
def hushed() -> Iterator[None]:
    """No log lines: what goes wrong is told by the errors themselves."""
    import logging

    log, quiet = logging.getLogger("abr_tts"), logging.NullHandler()
    log.addHandler(quiet)
    propagated, log.propagate = log.propagate, False
    try:
        yield
    finally:
        log.propagate = propagated
        log.removeHandler(quiet)
