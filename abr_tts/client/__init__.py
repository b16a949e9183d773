"""
The asyncio client: `Client` connects, `Client.speak` gives a `Speech` to iterate over.

It looks at units, errors, audio, wire and stream; it must not know the server or engines.
"""

from ..stream.live import Live
from .client import Client
from .events import Event, Expired, Reconnected, Reconnecting
from .pool import ClientPool
from .speech import Speech
from .stats import SpeechStats

__all__ = [
    "Client",
    "ClientPool",
    "Event",
    "Expired",
    "Live",
    "Reconnected",
    "Reconnecting",
    "Speech",
    "SpeechStats",
]
