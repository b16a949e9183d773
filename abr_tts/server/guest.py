"""
What the server wants of whoever it serves: a session of the native protocol, or a visit at another door.
"""

from __future__ import annotations

from typing import Any, Protocol

from .access.auth import Caller


class Guest(Protocol):
    """One client, as long as it is here."""

    @property
    def caller(self) -> Caller:
        """Who it is."""

    @property
    def outstanding_bytes(self) -> int:
        """Bytes on their way to it."""

    def count(self, states: dict[str, int]) -> None:
        """Add its streams to a count by state."""

    def told(self) -> list[dict[str, Any]]:
        """What an operator is shown of its streams."""

    def go_away(self, deadline_s: float) -> None:
        """The server drains, and has so many seconds left."""

    def move(self) -> None:
        """What may go on elsewhere should do so now."""

    def dismiss(self, words: str) -> None:
        """Its right to be here has ended, for this reason: it must go now."""

    def shut(self) -> None:
        """The server stops now."""
