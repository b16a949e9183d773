"""
What a run-task asks for, in our own terms; and a plain no to what no engine of ours can do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import BadField, Unsupported
from .messages import Parameters, RunTask

DEFAULT_RATE = 22_050
"""Hz of `sample_rate` 0, and of a format that names none (Alibaba's reference; the SDK's `DEFAULT`)."""

DEFAULT_KBPS = 32
"""kbit/s of opus where none is asked for (Alibaba's reference)."""

LEAST_KBPS = 6
"""The lowest bit rate of opus (RFC 6716 2.1.1, and Alibaba's reference)."""

OWN_VOLUME = 50
"""The `volume` that leaves the engine's samples as they are."""

SSML = re.compile(r"\s*(<\?xml|<speak[\s>])", re.IGNORECASE)
"""How a text begins that is SSML: the root element is `speak` (W3C, SSML 1.1, 3.1.1)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    One task.

    Args:
        task_id: as the client named it.
        voice: of ours; None: the engine's first.
        language: BCP 47, or None.
        speed: 0.5 to 2.
        instruct: how to speak, in words, or None.
        format: `pcm`, `wav`, `mp3` or `opus`.
        sample_rate: Hz.
        kbps: of opus.
        gain: what samples are multiplied by, 0 to 2.
        ssml: whether text that is SSML would be read as such, and is refused.
        text: what came with it.
    """

    task_id: str
    voice: str | None
    language: str | None
    speed: float
    instruct: str | None
    format: str
    sample_rate: int
    kbps: int
    gain: float
    ssml: bool
    text: str


def asked(request: RunTask, voices: Mapping[str, str]) -> Asked:
    """
    Args:
        request: as it came.
        voices: name that clients use → name of ours.

    Raises:
        Unsupported: it asks for what would be missing in what is heard.
        BadField: a bit rate that opus does not have.
    """
    wanted = request.payload.parameters
    _refuse(wanted)
    if wanted.format == "opus" and 0 < wanted.bit_rate < LEAST_KBPS:
        raise BadField(f"bit_rate must be 0 or {LEAST_KBPS} to 510 kbit/s")
    return Asked(
        task_id=request.header.task_id,
        voice=voices.get(wanted.voice, wanted.voice) if wanted.voice else None,
        language=wanted.language_hints[0] if wanted.language_hints else None,
        speed=wanted.rate,
        instruct=wanted.instruction or None,
        format="mp3" if wanted.format == "Default" else wanted.format,
        sample_rate=wanted.sample_rate or DEFAULT_RATE,
        kbps=wanted.bit_rate or DEFAULT_KBPS,
        gain=wanted.volume / OWN_VOLUME,
        ssml=wanted.enable_ssml,
        text=request.payload.input.text or "",
    )


def _refuse(wanted: Parameters) -> None:
    if wanted.pitch != 1:
        raise Unsupported("pitch: this server's engines keep the voice's own; leave it out, or at 1")
    if wanted.text_type == "SSML":
        raise Unsupported("text_type: this server reads no SSML; send plain text")
    if wanted.word_timestamp_enabled or wanted.phoneme_timestamp_enabled:
        raise Unsupported("word_timestamp_enabled: this server's engines tell no times of words")
    if wanted.enable_markdown_filter:
        raise Unsupported("enable_markdown_filter: this server reads text as it is; filter it before")
    if wanted.hot_fix and (wanted.hot_fix.pronunciation or wanted.hot_fix.replace):
        raise Unsupported("hot_fix: this server replaces no words; replace them before")


def check_plain(text: str) -> None:
    """
    Raises:
        Unsupported: the text is SSML.

    The Python SDK's `call` sets `enable_ssml` whatever the text is (dashscope 2.0.2), so that the flag alone
    cannot be refused; markup can.
    """
    if SSML.match(text):
        raise Unsupported("enable_ssml: this server reads no SSML; send plain text without <speak>")
