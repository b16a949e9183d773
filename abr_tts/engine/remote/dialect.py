"""
What a kind of remote engine must say: how a server is asked to speak, and what it offers.

A dialect knows one protocol and no queue, no time-out beyond the connection, no retry, no breaker:
those are the pool's, the same for all.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Optional, Protocol

from ..base import Abilities, Line, Samples, Voice
from ..references import References
from .options import Options


class Dialect(Protocol):
    """One protocol. Made before the loop runs; `open` and `close` in it."""

    def __init__(self, options: Options) -> None: ...

    @property
    def options(self) -> Options:
        """What it was made with."""

    @property
    def abilities(self) -> Abilities:
        """What holds whatever the voice."""

    @property
    def references(self) -> Optional[References]:
        """The folder of voices that it sends along; None: it cannot."""

    async def open(self) -> None:
        """Make ready to ask."""

    async def close(self) -> None:
        """Close every connection."""

    async def greet(self, url: str) -> Sequence[Voice]:
        """
        Ask a server whether it is there, without having it speak.

        Returns:
            The voices that it names; empty where its protocol has no way to say, or they are set.

        Raises:
            Failed: it is not, or does not want us.
        """

    def speak(self, url: str, line: Line) -> AsyncGenerator[Samples, None]:
        """
        Ask for `line`; yields samples (int16, any number) as they come. Closing it closes the request.

        Raises:
            Failed: it did not speak, or not to the end.
        """
