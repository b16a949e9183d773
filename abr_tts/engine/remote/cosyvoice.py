"""
CosyVoice's own HTTP server (`runtime/python/fastapi` of FunAudioLLM/CosyVoice, Apache-2.0).

Forms in, raw int16 PCM out, without a content type. What it was asked with says which of its five
inferences is meant: a voice of its own (SFT), a clip with its transcript (zero-shot), a clip alone
(cross-lingual), either with an instruction. It knows no speed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Union

import aiohttp

from ..base import Abilities, Line, Samples, Voice
from ..references import Reference, References
from ..spec import EngineSpec, Limits
from .failures import refused, unable
from .options import Options, read
from .pool import RemotePool
from .prompt import instruction, prefixed, transcript
from .web import Web

SAMPLE_RATE = 24_000
"""Hz of CosyVoice 2 and 3; CosyVoice-300M has 22 050."""


class CosyVoiceHttp:
    """The dialect (see `dialect.Dialect`)."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._web = Web(options, {})
        self.open, self.close = self._web.open, self._web.close
        self.references = References(options.voices_dir) if options.voices_dir else None

    @property
    def abilities(self) -> Abilities:
        """One speed: the server's."""
        return Abilities(
            "cosyvoice-http",
            str(self.options.generation),
            speed=(1.0, 1.0),
            instructs=self.options.instructs,
            clones=self.references is not None,
        )

    async def greet(self, url: str) -> Sequence[Voice]:
        """No voices: the server cannot list them. FastAPI answers for its own description."""
        status, body = await self._web.get(f"{url}/openapi.json")
        if status in (401, 403) or status >= 500:
            raise refused(status, "application/json", body, "", 0.0)
        return ()

    async def speak(self, url: str, line: Line) -> AsyncGenerator[Samples, None]:
        """See `dialect.Dialect.speak`."""
        reference = self.references.get(line.voice) if self.references else None
        fields: Union[dict[str, str], aiohttp.FormData]
        if reference is None:
            if line.voice not in (voice.name for voice in self.options.voices):
                raise unable(f"there is no voice {line.voice!r} any more")
            route, fields = self._own(line)
        else:
            route, fields = await self._cloned(line, reference)
        async with aclosing(self._web.speech(f"{url}/{route}", data=fields)) as speech:
            async for samples in speech:
                yield samples

    def _own(self, line: Line) -> tuple[str, dict[str, str]]:
        """Route and form for a voice of the server's own."""
        fields = {"tts_text": line.text, "spk_id": line.voice}
        if not line.instruct:
            return "inference_sft", fields
        return "inference_instruct", fields | {"instruct_text": instruction(line.instruct, self.options)}

    async def _cloned(self, line: Line, reference: Reference) -> tuple[str, aiohttp.FormData]:
        """Route and form for a clip: up to 960 kB, which goes along with every clause."""
        clip = await asyncio.to_thread(_bytes, reference)
        form = aiohttp.FormData()
        if line.instruct:
            route, text = "inference_instruct2", line.text
            form.add_field("instruct_text", instruction(line.instruct, self.options))
        elif reference.text:
            route, text = "inference_zero_shot", line.text
            form.add_field("prompt_text", transcript(reference.text, self.options))
        else:
            route, text = "inference_cross_lingual", prefixed(line.text, self.options)
        form.add_field("tts_text", text)
        form.add_field("prompt_wav", clip, filename="prompt.wav", content_type="audio/wav")
        return route, form


def cosyvoice_http(spec: EngineSpec, size: int, limits: Limits) -> RemotePool:
    """
    The pool of kind "cosyvoice-http"; see `build.pool_for`.

    Raises:
        ConfigError: an option that cannot be.
    """
    takes = ("voices_dir", "instructs", "generation", "end_of_prompt")
    options = read(
        spec.options, takes, ("http", "https"), parallel=size, sample_rate=SAMPLE_RATE, instructs=True
    )
    return RemotePool(CosyVoiceHttp(options), limits)


def _bytes(reference: Reference) -> bytes:
    try:
        return reference.audio.read_bytes()
    except OSError:
        raise unable(f"the voice {reference.name!r} was removed") from None
