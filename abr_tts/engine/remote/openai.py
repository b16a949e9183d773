"""
An OpenAI-compatible speech server: POST /v1/audio/speech, raw PCM streamed back.

The form is OpenAI's "Create speech" (platform.openai.com/docs/api-reference/audio/createSpeech):
`response_format: pcm` is 24 kHz, 16 bits, mono, without a header. GET /v1/audio/voices is no part of it, but
Kokoro-FastAPI and others have it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from urllib.parse import urlsplit

from ...errors import ConfigError
from ..base import Abilities, Line, Samples, Voice
from ..spec import EngineSpec, Limits
from .failures import no_speech, refused
from .options import Options, read
from .pool import RemotePool
from .web import Web

SPEED = (0.25, 4.0)
"""Speeds that the form allows."""


class OpenAi:
    """The dialect (see `dialect.Dialect`)."""

    references = None
    """Its form has no place for a clip."""

    def __init__(self, options: Options) -> None:
        self.options = options
        key = {"Authorization": f"Bearer {options.key}"} if options.key else {}
        self._web = Web(options, key)
        self.open, self.close = self._web.open, self._web.close

    @property
    def abilities(self) -> Abilities:
        """Speed always; instructions where the operator says that the model follows them."""
        return Abilities("openai", self.options.model, speed=SPEED, instructs=self.options.instructs)

    async def greet(self, url: str) -> Sequence[Voice]:
        """Its voices; where they are set, just whether it answers and takes our key."""
        wanted = not self.options.voices
        status, body = await self._web.get(f"{_base(url)}/{'audio/voices' if wanted else 'models'}")
        if status in (401, 403) or status >= 500:
            raise refused(status, "application/json", body, "", 0.0, self.options.key)
        if not wanted:
            return ()
        names = _names(body) if status == 200 else []
        if not names:
            raise no_speech(
                "the engine's server does not list its voices: name them in engine.options.voices"
            )
        return [Voice(name, self.options.languages, self.options.sample_rate) for name in names]

    def speak(self, url: str, line: Line) -> AsyncGenerator[Samples, None]:
        """See `dialect.Dialect.speak`."""
        asked: dict[str, Any] = {
            **self.options.extra,
            "model": self.options.model,
            "input": line.text,
            "voice": line.voice,
            "response_format": "pcm",
            "speed": min(max(line.speed, SPEED[0]), SPEED[1]),
        }
        if line.instruct:
            asked["instructions"] = line.instruct
        return self._web.speech(f"{_base(url)}/audio/speech", json=asked)


def openai(spec: EngineSpec, size: int, limits: Limits) -> RemotePool:
    """
    The pool of kind "openai"; see `build.pool_for`.

    Raises:
        ConfigError: an option that cannot be.
    """
    takes = ("model", "api_key_file", "api_key_env", "instructs", "extra")
    options = read(spec.options, takes, ("http", "https"), parallel=size, model="tts-1")
    for name in set(options.extra) & {"model", "input", "voice", "response_format", "speed"}:
        raise ConfigError(f"engine.options.extra must not set {name!r}: the server does")
    return RemotePool(OpenAi(options), limits)


def _base(url: str) -> str:
    """With /v1 where the operator named the server alone."""
    return url if urlsplit(url).path.strip("/") else f"{url}/v1"


def _names(body: bytes) -> list[str]:
    """Of {"voices": […]} or […], where a voice is a name or an object with one."""
    try:
        found = json.loads(body)
    except ValueError:
        return []
    if isinstance(found, dict):
        found = found.get("voices", found.get("data", []))
    names = [
        one
        if isinstance(one, str)
        else next((one[k] for k in ("id", "voice_id", "name") if one.get(k)), None)
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, str | dict)
    ]
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))
