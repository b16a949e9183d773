"""
CosyVoice behind NVIDIA Triton (`runtime/triton_trtllm` of FunAudioLLM/CosyVoice, Apache-2.0).

The models `cosyvoice2`, `cosyvoice2_dit` and `cosyvoice3` take `target_text` and, unless the voice
is the one that the server has cached, `reference_wav` (16 kHz), its length and `reference_text`; each
response carries `waveform`, float32 at 24 kHz. Decoupled, they answer a request with many responses.

gRPC by the stubs that tritonclient ships: its own asyncio client cannot ask for the empty final
response, which tells a finished stream from a broken one.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator, Sequence
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ...audio.pcm import to_float, to_int16
from ...errors import ConfigError, EngineError, MissingDependency, to_install
from ..base import Abilities, Line, Samples, Voice
from ..references import References
from ..spec import EngineSpec, Limits
from .failures import Failed, lost, no_speech, tidy, unable
from .options import Options, read
from .pool import RemotePool
from .prompt import prefixed

OWN_VOICE = "default"
"""The speaker whose features the server has cached (`spk2info.pt`): asked for by sending no reference."""

MOST_BYTES = 64 << 20
"""Longest message: gRPC's own limit of 4 MB is 43 s of float32 at 24 kHz. Chosen here."""

RECONNECT_MS = {"initial": 200, "min": 200, "max": 1000}
"""Pauses between gRPC's own tries to connect. By default they grow to 2 minutes, in which a server that is
back would not be noticed; how often it is asked is for the breaker to say."""

FINAL, ASK_FINAL = "triton_final_response", "triton_enable_empty_final_response"
"""Parameters of Triton's protocol: this response is the last one; send one even if it is empty."""

TRIED_AGAIN = frozenset({"UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"})
REFUSED = frozenset(
    {"INVALID_ARGUMENT", "NOT_FOUND", "UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"}
)
"""gRPC statuses: of a server that is not there or full; of a request that it will not take."""


class Triton:
    """The dialect (see `dialect.Dialect`)."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._grpc, self._pb, self._stubs = _libraries()
        self._credentials = self._read_authorities()
        self._channels: dict[str, Any] = {}
        self.references = References(options.voices_dir) if options.voices_dir else None

    @property
    def abilities(self) -> Abilities:
        """One speed, the model's, and no instructions: its inputs have neither."""
        return Abilities("triton", self.options.model, speed=(1.0, 1.0), clones=self.references is not None)

    async def open(self) -> None:
        """A channel to each server; it connects when it is first used."""
        settings = [(f"grpc.max_{way}_message_length", MOST_BYTES) for way in ("send", "receive")]
        settings += [(f"grpc.{which}_reconnect_backoff_ms", ms) for which, ms in RECONNECT_MS.items()]
        for url in self.options.urls:
            parts = urlsplit(url)
            target = parts.netloc if parts.port else f"{parts.netloc}:8001"
            aio = self._grpc.aio
            if parts.scheme == "grpcs":
                channel = aio.secure_channel(target, self._credentials, options=settings)
            else:
                channel = aio.insecure_channel(target, options=settings)
            self._channels[url] = channel

    async def close(self) -> None:
        """Close every channel."""
        await asyncio.gather(*(channel.close(None) for channel in self._channels.values()))

    async def greet(self, url: str) -> Sequence[Voice]:
        """Its own voice, if none is named, once the model is loaded."""
        stub = self._stub(url)
        try:
            answer = await stub.ModelReady(self._pb.ModelReadyRequest(name=self.options.model))
        except self._grpc.RpcError as error:
            raise self._failed(error) from None
        if not answer.ready:
            raise lost(f"the engine's server has not loaded the model {self.options.model!r}")
        own = () if self.options.voices else (OWN_VOICE,)
        return [Voice(name, self.options.languages, self.options.sample_rate) for name in own]

    async def speak(self, url: str, line: Line) -> AsyncGenerator[Samples, None]:
        """See `dialect.Dialect.speak`."""
        asked = await self._request(line)
        await self._connected(url)
        call = self._stub(url).ModelStreamInfer(_one(asked))
        ended = False
        try:
            async for answer in call:
                if answer.error_message:
                    words = tidy(answer.error_message)
                    raise Failed(EngineError(f"the engine's server failed: {words}"), retry=True, hurt=True)
                samples = self._waveform(answer.infer_response)
                if samples.size:
                    yield samples
                ended = answer.infer_response.parameters[FINAL].bool_param
                if ended:
                    return
        except self._grpc.RpcError as error:
            raise self._failed(error) from None
        finally:
            call.cancel()  # harmless at the end; before it, how the server learns that nobody listens
        if not ended:
            raise lost("the engine's server broke off in the middle of its answer")

    async def _connected(self, url: str) -> None:
        """Wait for a connection, `connect_s` at most."""
        try:
            async with asyncio.timeout(self.options.connect_s):
                await self._channels[url].channel_ready()
        except TimeoutError:
            raise lost("the engine's server cannot be reached") from None

    def _stub(self, url: str) -> Any:
        return self._stubs.GRPCInferenceServiceStub(self._channels[url])

    async def _request(self, line: Line) -> Any:
        """The tensors of `line`."""
        request = self._pb.ModelInferRequest(model_name=self.options.model)
        request.parameters[ASK_FINAL].bool_param = True
        request.outputs.add(name="waveform")
        reference = self.references.get(line.voice) if self.references else None
        if reference is not None:
            try:
                clip = to_float(await asyncio.to_thread(reference.read))
            except OSError:
                raise unable(f"the voice {line.voice!r} was removed") from None
            _add(request, "reference_wav", "FP32", [1, clip.size], clip.astype("<f4").tobytes())
            _add(request, "reference_wav_len", "INT32", [1, 1], struct.pack("<i", clip.size))
            _add(request, "reference_text", "BYTES", [1, 1], _text(prefixed(reference.text, self.options)))
        elif line.voice not in (OWN_VOICE, *(voice.name for voice in self.options.voices)):
            raise unable(f"there is no voice {line.voice!r} any more")
        _add(request, "target_text", "BYTES", [1, 1], _text(line.text))
        return request

    def _waveform(self, answer: Any) -> Samples:
        """The samples of one response; none in a final one."""
        for place, output in enumerate(answer.outputs):
            if output.name != "waveform":
                continue
            if output.datatype != "FP32" or len(answer.raw_output_contents) <= place:
                raise no_speech(f"the engine's server sent {tidy(output.datatype)}, not FP32 samples")
            data = answer.raw_output_contents[place]
            if len(data) % 4:
                raise no_speech(f"the engine's server sent {len(data)} bytes, which are no FP32 samples")
            return to_int16(np.frombuffer(data, "<f4"))
        return np.zeros(0, np.int16)

    def _failed(self, error: Any) -> Failed:
        """A gRPC status as what may be done about it."""
        status = error.code().name
        if status == "UNAVAILABLE":
            return lost("the engine's server cannot be reached, or closed the connection")
        words = tidy(error.details() or "")
        sentence = (
            f"the engine's server failed ({status}): {words}"
            if words
            else f"the engine's server failed ({status})"
        )
        return Failed(EngineError(sentence), retry=status in TRIED_AGAIN, hurt=status not in REFUSED)

    def _read_authorities(self) -> Any:
        path = self.options.ca_file
        try:
            return self._grpc.ssl_channel_credentials(path.read_bytes() if path else None)
        except OSError as error:
            raise ConfigError(f"engine.options.ca_file: {path} cannot be read: {error.strerror}") from None


def triton(spec: EngineSpec, size: int, limits: Limits) -> RemotePool:
    """
    The pool of kind "triton"; see `build.pool_for`.

    Raises:
        ConfigError: an option that cannot be.
        MissingDependency: tritonclient is not installed.
    """
    takes = ("model", "voices_dir", "generation", "end_of_prompt")
    options = read(spec.options, takes, ("grpc", "grpcs"), parallel=size, model="cosyvoice2")
    return RemotePool(Triton(options), limits)


def _libraries() -> tuple[Any, Any, Any]:
    """gRPC, Triton's messages and its stubs; imported only where they are used."""
    names = ("grpc", "tritonclient.grpc.service_pb2", "tritonclient.grpc.service_pb2_grpc")
    try:
        grpc, messages, stubs = map(import_module, names)
    except ImportError as error:
        words = f"the triton engine needs tritonclient ({error}): {to_install('triton')}"
        raise MissingDependency(words) from None
    import_module("grpc.aio")
    return grpc, messages, stubs


def _add(request: Any, name: str, datatype: str, shape: Sequence[int], data: bytes) -> None:
    request.inputs.add(name=name, datatype=datatype, shape=shape)
    request.raw_input_contents.append(data)


def _text(words: str) -> bytes:
    """A BYTES element as Triton packs it: its length, then itself."""
    data = words.encode()
    return struct.pack("<I", len(data)) + data


async def _one(request: Any) -> AsyncGenerator[Any, None]:
    """The one request of a stream, and then the end of what we send."""
    yield request
