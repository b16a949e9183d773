"""
Requests and answers as OpenAI has them: what validates, and what `document` describes.

Where a field may be null, null is as good as nothing. Fields that are not known are ignored: clients send
those of other servers too.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field, to_builtins

MOST_CHARS = 4096
"""Characters of `input` (OpenAI's API reference, "Create speech"); of `instructions` too."""

Format = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]


class VoiceId(Struct):
    """A voice by its id, as OpenAI names custom voices."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]


Name = Annotated[str, Meta(min_length=1, max_length=200, examples=["tts-1"])]
Input = Annotated[str, Meta(min_length=1, max_length=MOST_CHARS, examples=["Hello, world!"])]
Instructions = Annotated[str, Meta(max_length=MOST_CHARS)]
Speed = Annotated[float, Meta(ge=0.25, le=4.0)]
Rate = Annotated[int, Meta(ge=8000, le=48000)]


class SpeechRequest(Struct):
    """
    What is to be said, and how. `sample_rate` and `stream` are not OpenAI's.

    Any `model` will do, for a server has one engine. `voice` is one of `/v1/audio/voices`, or of OpenAI's 13
    names. `instructions` are ignored where the engine cannot follow them. Without a `response_format` it is
    mp3, without a `sample_rate` 24000 Hz. With `stream` false the answer comes when all is spoken, with its
    length.
    """

    model: Name
    input: Input
    voice: Annotated[str | VoiceId, Meta(examples=["alloy"])]
    instructions: Instructions | None = None
    response_format: Format | None = None
    speed: Speed | None = None
    stream_format: Literal["audio", "sse"] | None = None
    sample_rate: Rate | None = None
    stream: bool | None = None


class Usage(Struct):
    """What was used, in this server's own counts: it has no tokens."""

    input_tokens: Annotated[int, Meta(ge=0, description="Characters of the input.")]
    output_tokens: Annotated[int, Meta(ge=0, description="Frames of 20 ms.")]
    total_tokens: Annotated[int, Meta(ge=0)]


class AudioDelta(Struct, tag="speech.audio.delta"):
    """More sound."""

    audio: Annotated[str, Meta(description="base64; put together, the bytes of one file.")]


class AudioDone(Struct, tag="speech.audio.done"):
    """All is spoken."""

    usage: Usage


class Model(Struct):
    """A name under which the engine may be asked for."""

    id: str
    created: Annotated[int, Meta(ge=0, description="Unix time.")]
    owned_by: str
    object: Literal["model"] = "model"


class ModelList(Struct):
    """All of them."""

    data: list[Model]
    object: Literal["list"] = "list"


class VoiceInfo(Struct):
    """One voice, or another name for one."""

    id: str
    name: str
    languages: list[str]
    description: str = ""
    sample_rate: Annotated[int, Meta(ge=1, description="Hz of the engine's own voices.")] | UnsetType = UNSET


class VoiceList(Struct):
    """All of them, the default one first."""

    voices: list[VoiceInfo]


class VoiceNames(Struct):
    """The same as names alone."""

    voices: list[str]


class Fault(Struct):
    """What went wrong."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class FaultAnswer(Struct):
    """The body of every answer from 400 on, and the last event of a stream that failed."""

    error: Fault


# ---------------------------------------------------------------- headers


class AnswerHeaders(Struct):
    """Of every answer."""

    request_id: Annotated[str, Meta(description="The request, for whoever looks into logs.")] = field(
        name="x-request-id"
    )


Ignored = Annotated[str, Meta(description="Fields of the request that changed nothing, with commas between.")]


class SoundHeaders(Struct):
    """Of an answer with sound."""

    sample_rate: Annotated[int, Meta(ge=8000, le=48000, description="Hz of the sound.")] = field(
        name="X-Audio-Sample-Rate"
    )
    ignored: Ignored | UnsetType = field(name="X-Ignored", default=UNSET)


class LaterHeaders(Struct):
    """Of a refusal that need not be one the next time."""

    retry_after: Annotated[int, Meta(ge=1, description="Seconds after which to try again.")] = field(
        name="Retry-After"
    )


def as_headers(value: AnswerHeaders | SoundHeaders | LaterHeaders) -> dict[str, str]:
    """What they are on the wire."""
    return {name: str(told) for name, told in to_builtins(value).items()}
