"""
What speaks and what is sent: [engine], [stream], [resume], [record].
"""

# ruff: noqa: RUF009 -- `setting` returns a dataclass field, which is what a default may be
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...engine.build import POOLS
from ...engine.kinds import KINDS
from .options import Section, setting


@dataclass(frozen=True)
class EngineSettings(Section):
    """[engine]: what speaks, and how long it may take."""

    kind: str = setting("espeak", "The synthesiser; see engines.md.", choices=tuple(KINDS))
    pool: str = setting(
        "processes", "Where its workers run: processes of this machine, or ray, a cluster.", choices=POOLS
    )
    workers: int = setting(2, "Engine processes; each speaks `parallel` clauses at a time.", low=1, high=256)
    parallel: int = setting(
        1, "Clauses that each of them speaks at once on its one model, where the engine can (engines.md).",
        low=1, high=64,
    )  # fmt: skip
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
class RecordSettings(Section):
    """[record]: traces of streams, to replay their decisions. They hold neither text nor sound nor keys."""

    dir: Path | None = setting(None, "Folder for one file a stream; nothing is recorded if empty.")
    files: int = setting(200, "Files that are kept; the oldest go first.", low=1, high=1_000_000)
    file_bytes: int = setting(
        8_388_608, "Bytes of one file; what comes after is not recorded.", low=65_536, high=1_073_741_824
    )
