"""
What a client may have, and a server takes on: [limits].
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ConfigError
from .options import Section, setting


@dataclass(frozen=True)
class LimitSettings(Section):
    """[limits]: what one client, and all of them, may cost."""

    connections: int = setting(1000, "WebSocket connections at once.", low=1, high=1_000_000)
    connections_per_key: int = setting(
        500, "Of them with one API key, or with one sub of JSON Web Tokens.", low=1, high=1_000_000
    )
    streams: int = setting(500, "Streams that are being made or sent at once.", low=1, high=1_000_000)
    streams_per_connection: int = setting(16, "Of them on one connection.", low=1, high=255)
    waiting_clauses: int = setting(
        64, "Clauses that wait for a worker; of more, it is with new streams as past waiting_streams.",
        low=0, high=100_000,
    )  # fmt: skip
    waiting_streams: int = setting(
        64, "Streams that wait for their turn at the engine; of more, new ones come whole, up to "
        "whole_streams. Those whose text still comes, and those of other doors that want it as it is made, "
        "are told to come back.",
        low=0, high=100_000,
    )  # fmt: skip
    whole_streams: int = setting(
        64, "Streams that wait to be delivered whole, in place of a refusal, while engine or processors have "
        "no room; of more, new ones are told to come back. 0: they are at once.",
        low=0, high=100_000,
    )  # fmt: skip
    engine_share: float = setting(
        0.8, "Share of the engine that streams may need together to sound without a stall, by its measured "
        "speed; of more, the last to come wait. Above 1 none waits lest others stall.",
        low=0.1, high=100,
    )  # fmt: skip
    relief: bool = setting(
        True, "Whether new streams get less, and at last are refused, while the process is short of power."
    )
    uplinks: int = setting(16, "Clips that clients send at once.", low=1, high=10_000)
    uplink_s: float = setting(30.0, "Seconds of sound of one clip.", low=1, high=30)
    uplink_timeout_s: float = setting(
        300.0, "Seconds that a clip may take from its start to its end.", low=0.05, high=3600
    )
    uplink_kbps: float = setting(
        20_000, "Kilobits a second at which clips are taken, all together.", low=1, high=1_000_000
    )
    voices: int = setting(
        1000, "Voices in engine.voices_dir up to which clients may add more.", low=1, high=1_000_000
    )
    retry_after_s: float = setting(1.0, "Seconds that a refused client is asked to wait.", low=0, high=600)
    text_chars: int = setting(200_000, "Characters of one stream's text.", low=1, high=10_000_000)
    requests_per_s: float = setting(
        100.0,
        "Requests a second with one API key; without keys, of one connection.",
        low=0.01,
        high=1_000_000,
    )
    request_burst: int = setting(
        500, "Requests that a key which was silent may make at once.", low=1, high=1_000_000
    )
    chars_per_s: float = setting(
        20_000.0, "Characters of text a second with one API key; without keys, of one connection.",
        low=1, high=100_000_000,
    )  # fmt: skip
    chars_burst: int = setting(
        1_000_000, "Characters that a key which was silent may send at once.", low=1, high=1_000_000_000
    )
    message_bytes: int = setting(
        1_048_576, "Bytes of one message from a client; more closes with 1009.", low=1024, high=67_108_864
    )
    messages_per_s: float = setting(500.0, "Messages a second from one client.", low=1, high=1_000_000)
    message_burst: int = setting(
        1000, "Messages that a silent client may send at once.", low=1, high=1_000_000
    )
    hello_timeout_s: float = setting(
        10.0,
        "Seconds within which a client says hello; before that, sends a whole request.",
        low=0.01,
        high=600,
    )
    idle_timeout_s: float = setting(
        90.0,
        "Seconds without any message, pings included, after which a client is gone.",
        low=0.05,
        high=86_400,
    )
    ping_s: float = setting(
        20.0,
        "Seconds of silence after which a client is asked to ping; proxies cut at 60.",
        low=0.02,
        high=3600,
    )
    hint_ms: int = setting(100, "Milliseconds between two reports of one stream.", low=20, high=5000)
    hints_per_s: float = setting(
        50.0, "Reports of one stream a second that are looked at; of more, the newest when it is due.",
        low=1, high=10_000,
    )  # fmt: skip
    hint_burst: int = setting(
        200,
        "Reports of it that are looked at in one go, as after a hole in the network.",
        low=1,
        high=100_000,
    )
    close_timeout_s: float = setting(
        5.0, "Seconds that a closing client has to read what was sent and to say goodbye.", low=0.05, high=120
    )
    stream_ids: int = setting(
        50_000, "Ids of past streams that are remembered, lest one is made twice.", low=1, high=10_000_000
    )
    stream_ids_s: float = setting(600.0, "Seconds that they are remembered.", low=1, high=86_400)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ping_s >= self.idle_timeout_s:
            raise ConfigError(
                f"limits.ping_s ({self.ping_s:g}) must be below limits.idle_timeout_s "
                f"({self.idle_timeout_s:g}), or clients that obey are cut off"
            )
        if self.chars_burst < self.text_chars:
            raise ConfigError(
                f"limits.chars_burst ({self.chars_burst}) must be at least limits.text_chars "
                f"({self.text_chars}), or a text that is allowed could never be sent"
            )
