"""
From a request for speech to what a desk is asked: fields held against each other, and against this server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from ...audio.encoded import NEEDS_AV, available
from ...audio.resample import Resampler
from ...engine.face import Speaking
from ...errors import BadField
from ..doors.asking import Ask
from ..doors.formats import FORMS, OPUS_HZ, Container, Form, make
from .faults import bad_request
from .models import SpeechRequest, VoiceId
from .voices import meant

RATE = 24_000
"""Hz of what is asked for without a rate: OpenAI's, which clients have written into them."""

DEFAULT_FORMAT = "mp3"
"""OpenAI's."""

_decoder = msgspec.json.Decoder(SpeechRequest)


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    Args:
        ask: for the desk.
        form: of the sound.
        rate: Hz of it.
        events: it comes in server-sent events.
        whole: it comes when all is spoken.
        ignored: fields that change nothing here.
    """

    ask: Ask
    form: Form
    rate: int
    events: bool
    whole: bool
    ignored: tuple[str, ...]

    def container(self, in_rate: int, resampler: Resampler) -> Container:
        """What the samples of an engine go into; the header of a WAV that comes whole is made in the end."""
        name = "pcm" if self.form.name == "wav" and self.whole else self.form.name
        return make(name, in_rate, self.rate, resampler=resampler)


def read(body: bytes) -> SpeechRequest:
    """
    Raises:
        BadField: it is no request for speech; `detail.field` says what is wrong with it.
    """
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(error) from None
    except UnicodeDecodeError:
        raise BadField("the body is not UTF-8") from None
    except RecursionError:
        raise BadField("the body is nested too deep") from None


def wanted(request: SpeechRequest, pool: Speaking, aliases: Mapping[str, str]) -> Wanted:
    """
    Args:
        request: as it came.
        pool: the engine, started.
        aliases: names of the settings, each for a voice of the engine.

    Raises:
        BadField: a rate that the format does not have, a format that cannot be had here, two fields that
            contradict each other.
    """
    form = FORMS[request.response_format or DEFAULT_FORMAT]
    if form.needs_av and not available():
        raise BadField(f"no {form.name}, but pcm, wav and opus: {NEEDS_AV}", field="response_format")
    rate = OPUS_HZ if form.name == "opus" else RATE
    if request.sample_rate is not None:
        rate = request.sample_rate
    if not form.has(rate):
        there = ", ".join(map(str, form.rates))
        raise BadField(f"{form.name} cannot be had at {rate} Hz, but at {there}", field="sample_rate")
    whole, events = request.stream is False, request.stream_format == "sse"
    if whole and events:
        raise BadField("events come as it is spoken: not with `stream` false", field="stream")
    follows = pool.abilities.instructs
    name = request.voice.id if isinstance(request.voice, VoiceId) else request.voice
    ask = Ask(
        request.input, voice=meant(name, aliases, pool.voices),
        speed=1.0 if request.speed is None else request.speed,
        instruct=request.instructions or None if follows else None, opus=form.name == "opus", whole=whole,
    )  # fmt: skip
    ignored = ("instructions",) if request.instructions and not follows else ()
    return Wanted(ask, form, rate, events, whole, ignored)
