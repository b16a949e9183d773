"""
What an operator can set, with the default of each setting and the reason for it.

`load` puts the sources together: a TOML file, over it the environment, over both the flags.
How they are read stands in `options`. A `Settings` that exists is valid.
"""

# ruff: noqa: RUF009 -- `setting` returns a dataclass field, which is what a default may be
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..engine.build import POOLS
from ..engine.kinds import KINDS
from ..errors import ConfigError
from .options import Described, Section, build, over, read_environment, read_file, read_flags, setting
from .options import describe as _describe


@dataclass(frozen=True)
class ServerSettings(Section):
    """[server]: where it listens and how it stops."""

    host: str = setting("127.0.0.1", "Address to listen on; 0.0.0.0 or :: opens it to the network.")
    port: int = setting(8765, "TCP port; 0 takes any free one.", low=0, high=65535)
    backlog_connections: int = setting(
        512, "Connections that the kernel holds until they are accepted.", low=1, high=65535
    )
    drain_s: float = setting(
        30.0, "Seconds in which a stop is done: running streams may end, then they are closed, for which "
        "limits.close_timeout_s is kept back.",
        low=0, high=3600,
    )  # fmt: skip
    trim_s: float = setting(20.0, "Seconds after which freed memory goes back; 0: never.", low=0, high=3600)
    codec_threads: int = setting(
        0, "Threads that encode audio; 0 takes one for each processor core.", low=0, high=256
    )


@dataclass(frozen=True)
class TlsSettings(Section):
    """[tls]: wss:// by the server itself. Behind a proxy that ends TLS, leave it out."""

    cert_file: Path | None = setting(None, "PEM file of the certificate and its chain.")
    key_file: Path | None = setting(None, "PEM file of the certificate's private key.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, other in (("cert_file", "key_file"), ("key_file", "cert_file")):
            if getattr(self, name) and not getattr(self, other):
                raise ConfigError(f"tls.{name} is set, but tls.{other} is missing: TLS needs both")


@dataclass(frozen=True)
class EngineSettings(Section):
    """[engine]: what speaks, and how long it may take."""

    kind: str = setting("espeak", "The synthesiser; see engines.md.", choices=tuple(KINDS))
    pool: str = setting(
        "processes", "Where its workers run: processes of this machine, or ray, a cluster.", choices=POOLS
    )
    workers: int = setting(2, "Engine processes; each speaks one clause at a time.", low=1, high=256)
    python: str | None = setting(
        None, "Interpreter that runs the workers, 3.10 or later with numpy and msgpack; "
        "the server's own if empty.",
    )  # fmt: skip
    devices: tuple[str, ...] = setting(
        (), "GPUs that workers take by turns, as CUDA_VISIBLE_DEVICES names them; all see all if empty."
    )
    threads: int = setting(
        0, "Threads of numeric libraries in a worker; 0: a share of the cores, if there are several workers.",
        low=0, high=1024,
    )  # fmt: skip
    voices_dir: Path | None = setting(
        None, "Folder of reference voices, which replicas may share, for engines that speak with them."
    )
    options: dict[str, Any] = setting({}, "What the engine itself takes, as a table [engine.options].")
    cluster: dict[str, Any] = setting({}, "What a pool other than processes takes, as [engine.cluster].")
    load_s: float = setting(60.0, "Seconds that a worker may take to load its model.", low=0.1, high=3600)
    first_chunk_s: float = setting(
        15.0, "Seconds that an engine may take to its first chunk; then it is replaced.", low=0.01, high=600
    )
    gap_s: float = setting(
        15.0, "Seconds between two chunks after which an engine counts as hung.", low=0.01, high=600
    )
    clause_chars: int = setting(200, "Longest clause that is synthesised in one piece.", low=10, high=10_000)
    first_clause_chars: int = setting(
        80, "Longest first clause: a short one is heard sooner from a slow engine.", low=5, high=10_000
    )
    text_idle_s: float = setting(
        0.5, "Seconds without new text after which a sentence counts as ended, and a listener who has "
        "nothing else to hear gets what there is, up to a whole word; 0: never.",
        low=0, high=60,
    )  # fmt: skip


@dataclass(frozen=True)
class StreamSettings(Section):
    """[stream]: how speech is sent."""

    policy: str = setting(
        "default", "How streams adapt: default, classic, opus, thrifty, or the path of a policy file (TOML)."
    )
    policies: dict[str, Any] = setting(
        {"default": "default", "classic": "classic", "opus": "opus", "thrifty": "thrifty"},
        "Policies that a request may name, each a preset or the path of a file.",
    )
    max_ahead_s: float = setting(
        30.0, "Seconds of speech ahead of the listener at which the engine is paused.", low=1, high=600
    )
    max_lead_s: float = setting(
        30.0, "Seconds of speech that are sent ahead of the listener at most.", low=1, high=600
    )
    linger_s: float = setting(
        30.0, "Seconds beyond its sound that a sent stream waits for the listener's last report.",
        low=0, high=3600,
    )  # fmt: skip
    opus_library: Path | None = setting(None, "Path of libopus, if not the bundled one.")
    resampler: str = setting(
        "soxr", "What brings speech to the rate of a rung; torchaudio needs the extra torch, see engines.md.",
        choices=("soxr", "torchaudio"),
    )  # fmt: skip
    resampler_device: str = setting(
        "auto",
        "Where torchaudio resamples: cpu, cuda, cuda:1 …; auto: the GPU if there is one. soxr needs none.",
    )


@dataclass(frozen=True)
class ResumeSettings(Section):
    """[resume]: streams whose connection is lost, kept for clients that come back (level 2)."""

    window_s: float = setting(
        60.0, "Seconds that a stream is kept without a connection; 0: streams end with their connection.",
        low=0, high=3600,
    )  # fmt: skip
    streams: int = setting(
        200, "Streams that are kept at once; the ones that lost their connection first go first.",
        low=1, high=1_000_000,
    )  # fmt: skip
    held_bytes: int = setting(
        134_217_728, "Bytes of sound and packets that they hold, all together; the same go first.",
        low=1024, high=1_099_511_627_776,
    )  # fmt: skip


@dataclass(frozen=True)
class RolloutSettings(Section):
    """[rollout]: how policy files that change come into use; see rollout.md."""

    check_s: float = setting(
        5.0, "Seconds between two looks at policy files, and at those of keys and certificates; 0: they are "
        "read again on SIGHUP alone.",
        low=0, high=3600,
    )  # fmt: skip
    state_file: Path | None = setting(
        None, "File that keeps what was rolled out and rolled back over a restart, one a server; "
        "in memory alone if empty.",
    )  # fmt: skip


@dataclass(frozen=True)
class CanarySettings(Section):
    """[canary]: a policy tried on a share of sessions, save requests and keys with one of their own."""

    policy: str | None = setting(
        None, "A preset, or the path of a policy file; while there is no such file, there is no canary."
    )
    share: float = setting(0.1, "Share of sessions whose streams get it, 0 to 1.", low=0, high=1)


@dataclass(frozen=True)
class RecordSettings(Section):
    """[record]: traces of streams, to replay their decisions. They hold neither text nor sound nor keys."""

    dir: Path | None = setting(None, "Folder for one file a stream; nothing is recorded if empty.")
    files: int = setting(200, "Files that are kept; the oldest go first.", low=1, high=1_000_000)
    file_bytes: int = setting(
        8_388_608, "Bytes of one file; what comes after is not recorded.", low=65_536, high=1_073_741_824
    )


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
        64, "Clauses that wait for a worker at which new streams are told to come back.", low=0, high=100_000
    )
    waiting_streams: int = setting(
        64, "Streams that wait for their turn at the engine, at which new ones are told to come back.",
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


@dataclass(frozen=True)
class AuthSettings(Section):
    """[auth]: who may speak. Without any key everybody who reaches the port may."""

    keys: tuple[str, ...] = setting(
        (), "API keys, each with a name before it or not (anna:KEY); better in a file.", secret=True
    )
    keys_file: Path | None = setting(
        None, "File with one API key a line, with a name before it or not; # starts a comment."
    )
    policies: dict[str, Any] = setting(
        {}, "Policy of the keys of a name, as stream.policy has it for all; a request may name another."
    )
    origins: tuple[str, ...] = setting(
        (),
        "Web origins besides the server's own whose pages may connect, e.g. https://example.org; * for any.",
    )
    ticket_s: float = setting(
        60.0, "Seconds within which a ticket of POST /v1/tickets opens one connection; 0: none are given.",
        low=0, high=3600,
    )  # fmt: skip
    tickets: int = setting(10_000, "Tickets that are out at once.", low=1, high=1_000_000)
    jwt_file: Path | None = setting(
        None, "File that verifies JSON Web Tokens, which then are keys as well: a JWKS, public keys in PEM "
        "(RS256, ES256), or a shared secret (HS256).",
    )  # fmt: skip
    jwt_issuer: str | None = setting(None, "The iss that a token must have; any if empty.")
    jwt_audience: str | None = setting(None, "An aud that a token must have; any if empty.")
    jwt_leeway_s: float = setting(
        10.0, "Seconds that exp and nbf may be off, as clocks are.", low=0, high=600
    )


@dataclass(frozen=True)
class AdminSettings(Section):
    """[admin]: who may see and roll back policies, at /admin/policy. Without any key nobody may."""

    keys: tuple[str, ...] = setting((), "Admin keys; better in a file.", secret=True)
    keys_file: Path | None = setting(None, "File with one admin key a line; # starts a comment.")


@dataclass(frozen=True)
class WebSettings(Section):
    """[web]: pages for people; see web.md. They need no key, what they ask for does."""

    enabled: bool = setting(
        True,
        "Whether there are pages: to hear it at /, for operators at /ops, the client's files at /static/.",
    )


@dataclass(frozen=True)
class LogSettings(Section):
    """[log]: what is told to the operator. Texts and keys never are."""

    level: str = setting("info", "The least that is logged.", choices=("debug", "info", "warning", "error"))
    format: str = setting(
        "text", "Lines for people, or one JSON object a line; see metrics.md.", choices=("text", "json")
    )


@dataclass(frozen=True)
class DebugSettings(Section):
    """[debug]: what costs speed, to find out where memory goes."""

    memory: bool = setting(
        False, "Whether /debug/memory tells which lines of code hold most memory, to those with an admin key."
    )
    memory_s: float = setting(
        0.0, "Seconds between two lines of the log that tell the same; 0: none.", low=0, high=86_400
    )


@dataclass(frozen=True)
class Settings:
    """Everything that can be set. Each section checks itself; an instance is valid."""

    server: ServerSettings = field(default_factory=ServerSettings)
    tls: TlsSettings = field(default_factory=TlsSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    stream: StreamSettings = field(default_factory=StreamSettings)
    resume: ResumeSettings = field(default_factory=ResumeSettings)
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    canary: CanarySettings = field(default_factory=CanarySettings)
    record: RecordSettings = field(default_factory=RecordSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    admin: AdminSettings = field(default_factory=AdminSettings)
    web: WebSettings = field(default_factory=WebSettings)
    log: LogSettings = field(default_factory=LogSettings)
    debug: DebugSettings = field(default_factory=DebugSettings)


SECTIONS: dict[str, type] = {item.name: item.default_factory for item in fields(Settings)}  # type: ignore[misc]
"""The dataclass of each section, by its name."""


def load(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """
    The settings of a TOML file, over it the environment, over both the flags.

    Args:
        file: the TOML file; None for none.
        environ: variables such as ABR_TTS_SERVER__PORT; others are ignored.
        overrides: flags by dotted name, such as {"server.port": 80}.

    Raises:
        ConfigError: one sentence with the source, the key and what is wrong.
    """
    given = read_file(file) if file else {}
    given = over(given, read_environment(environ or {}))
    given = over(given, read_flags(overrides or {}))
    return Settings(**build(SECTIONS, given))


def describe() -> Iterator[Described]:
    """Every setting: dotted name, environment variable, default, sentence."""
    return _describe(SECTIONS)
