"""
The limits of one connection, each with its unit, its default and the error that tells it.

Values only. The server fills them from its settings and publishes `public()` in `welcome`;
what lies beyond one connection (keys, addresses, all streams of a server) is not here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Limits:
    """
    What one side of a connection takes, sends and waits for.

    Raises:
        ValueError: a limit that is not above zero, or a handle count beyond the wire's 255.
    """

    message_bytes: int = 1_048_576
    """Bytes of one message, either way; `message_too_big`. 1 MiB holds 200 000 characters of any script."""
    text_chars: int = 200_000
    """Code points of text of one stream, all its messages together; `text_too_long`. About 4 hours."""
    streams: int = 16
    """Streams at once of one connection, until `stream_end` is sent; `too_many_streams`."""
    messages_per_s: float = 500.0
    """Messages a second taken in the long run; `rate_limited`. 16 streams of hints and tokens need 400."""
    message_burst: int = 1_000
    """Messages taken at once before the rate binds (the size of the token bucket)."""
    uplink_s: float = 30.0
    """Seconds of one uplink stream's sound; `audio_too_long`. CosyVoice's tokenizer takes no more."""
    hello_s: float = 10.0
    """Seconds for the peer's first message (`hello`, or the server's `welcome`); `hello_timeout`."""
    idle_s: float = 90.0
    """Seconds of silence before the peer counts as gone; `idle_timeout`. Hidden tabs wake once a minute."""
    ping_s: float = 20.0
    """Seconds between a client's pings: three in the 60 s that proxies wait by default (nginx)."""
    pong_s: float = 20.0
    """Seconds after a client's ping without any message before the server counts as gone; `idle_timeout`.
    Twice a radio outage of 10 s, which TCP outlives."""
    hint_ms: int = 100
    """Milliseconds between two hints of one stream, at least; told to the client, not enforced here."""
    nesting: int = 8
    """Maps and arrays within each other; `bad_message`. The protocol's own messages need 3."""
    values: int = 4_096
    """Keys and values of one message; `bad_message`. Bounds the memory that decoding can take."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if not getattr(self, item.name) > 0:
                raise ValueError(f"limit {item.name} must be above zero, not {getattr(self, item.name)}")
        if self.streams > 255:
            raise ValueError(f"limit streams is at most 255, not {self.streams}: a handle is one byte")

    def public(self) -> dict[str, int]:
        """What `welcome.limits` tells the client; times in milliseconds."""
        return {
            "message_bytes": self.message_bytes,
            "text_chars": self.text_chars,
            "streams": self.streams,
            "messages_per_s": int(self.messages_per_s),
            "message_burst": self.message_burst,
            "uplink_ms": round(self.uplink_s * 1000),
            "hello_ms": round(self.hello_s * 1000),
            "idle_ms": round(self.idle_s * 1000),
        }


DEFAULT = Limits()
"""Every limit at its default."""
