"""
The clips that one connection sends, from `audio_start` to a voice that is kept, or to speech that is
converted.

Each refusal is an error of the tree, raised before any sound is sent where that can be. What becomes of
a clip when it is whole is decided at its start. It knows the connection by `Uplinked` alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ...audio.clip import ClipFormat
from ...engine.base import Samples
from ...engine.references import RATE, Reference, References, checked_name
from ...errors import BadAudio, BadField, Busy, NoConsent, StreamError, Unsupported, VoiceTaken
from ...wire import messages as m
from ..config import LimitSettings
from .intake import SLACK_TICKS, Intake
from .reception import Accepted
from .surroundings import Services

REFERENCE, CONVERSION = PURPOSES = ("reference", "conversion")
"""What a clip may be for."""

log = logging.getLogger(__name__)

UPLINK = "uplink"
"""The rung of a stream that brings nothing down."""

T = TypeVar("T")


class Uplinked(Protocol):
    """What clips need of their connection."""

    def admit(self, stream_id: str, accept: Callable[[], T]) -> T:
        """Count a stream if `accept` takes it; its result, or what it raises, or Busy, DuplicateStream."""

    def receive(self, request: m.StreamStart) -> Accepted:
        """What a request for speech gets; raises as `reception.receive` does."""

    def open_stream(self, stream_id: str, voice: str, rate: int, codec: str, rung: str) -> int:
        """Tell that it has started; its handle."""

    def send(self, message: m.Message) -> None:
        """Write a message."""

    def convert(self, audio: Samples, request: m.StreamStart, handle: int, accepted: Accepted) -> None:
        """Begin to speak."""

    def settle_uplink(self, stream_id: str, reason: str) -> None:
        """A clip that led to no speech is over: forget the stream."""

    def fault_of(self, stream_id: str, error: Exception) -> None:
        """Tell the peer of a fault, and end the stream."""


class Share:
    """
    How many clips a server takes at once, and how fast: all of them share `limits.uplink_kbps`.

    A client that sends faster than it is told gains nothing: a clip is short, and its size bounded.
    """

    def __init__(self, settings: LimitSettings) -> None:
        self._settings = settings
        self._clips: dict[Clip, None] = {}

    def __len__(self) -> int:
        return len(self._clips)

    def check(self) -> None:
        """
        Refuse one clip too many.

        Raises:
            Busy: there are as many as there may be.
        """
        most = self._settings.uplinks
        if len(self._clips) >= most:
            raise Busy(
                f"{most} clips come in already; try again later", retry_after=self._settings.retry_after_s,
                name="uplinks",
            )  # fmt: skip

    def join(self, clip: Clip) -> None:
        """One more: each is told its smaller share."""
        self._clips[clip] = None
        self._tell()

    def leave(self, clip: Clip) -> None:
        """One less: each is told its greater share."""
        if clip in self._clips:
            del self._clips[clip]
            self._tell()

    def _tell(self) -> None:
        for clip in self._clips:
            clip.tell_rate(round(self._settings.uplink_kbps / len(self._clips), 1))


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A clip under way, and how its client is told what pace to keep."""

    stream_id: str
    handle: int
    intake: Intake
    rate: int
    """Hz, of the `stream_end` that a cancel gets."""
    tell: Callable[[m.Message], None]
    timer: asyncio.TimerHandle
    """Ends a clip that takes for ever, and keeps others from being taken."""

    def tell_rate(self, kbps: float) -> None:
        """At most so much of it a second from here on."""
        self.tell(m.FlowControl(kbps, stream=self.handle))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a clip is, what `stream_started` says of it, and what is done with the whole."""

    form: ClipFormat
    voice: str
    rate: int
    codec: str
    rung: str
    whole: Callable[[Clip, Samples], None]


class Uplinks:
    """
    Args:
        link: the connection.
        services: what all share.
        share: of the server.
        references: the folder of voices; None: it has none.
    """

    def __init__(
        self, link: Uplinked, services: Services, share: Share, references: References | None
    ) -> None:
        self._link, self._services, self._share, self._references = link, services, share, references
        self._clips: dict[str, Clip] = {}

    def __contains__(self, stream_id: object) -> bool:
        return stream_id in self._clips

    def __len__(self) -> int:
        return len(self._clips)

    # ------------------------------------------------------------ what the client asks

    def start(self, message: m.AudioStart) -> None:
        """
        Take a clip, or say at once why not.

        Raises:
            Unsupported, BadAudio, BadField, NoConsent, VoiceTaken, TooManyVoices, Busy, and what
            `Uplinked.receive` raises.
        """
        plan = self._link.admit(message.stream_id, lambda: self._accept(message))
        self._open(message, plan)

    def _accept(self, message: m.AudioStart) -> Plan:
        if message.purpose not in PURPOSES:
            words = f"no purpose {message.purpose!r}; there is {', '.join(PURPOSES)}"
            raise Unsupported(words, purposes=list(PURPOSES))
        abilities = self._services.pool.abilities
        reference = message.purpose == REFERENCE
        if not (abilities.clones and self._references if reference else abilities.converts):
            lacks = "makes no voices of clips" if reference else "converts no voices"
            raise Unsupported(f"this server's engine, {abilities.engine}, {lacks}")
        form = ClipFormat(message.codec, message.sample_rate, message.channels)
        self._share.check()
        return self._reference(message, form) if reference else self._conversion(message, form)

    def take(self, stream_id: str, message: m.Message) -> None:
        """What the client says of a clip. Raises BadAudio, AudioTooLong."""
        clip = self._clips[stream_id]
        match message:
            case m.UplinkAudio():
                clip.intake.push(message)
            case m.TextEnd():
                clip.intake.end()
                clip.timer.cancel()
                self._share.leave(clip)
            case m.Cancel():
                self._link.send(m.StreamEnd(clip.handle, 0, clip.rate, 1, "", "cancelled"))
                self._link.settle_uplink(stream_id, "cancelled")

    def forget(self, stream_id: str) -> None:
        """It is over, for whatever reason; nothing of it is kept."""
        clip = self._clips.pop(stream_id, None)
        if clip is not None:
            clip.intake.close()
            clip.timer.cancel()
            self._share.leave(clip)

    def forget_all(self) -> list[str]:
        """The connection is gone; which clips were under way."""
        under_way = list(self._clips)
        for stream_id in under_way:
            self.forget(stream_id)
        return under_way

    # ------------------------------------------------------------ a voice to keep

    def _reference(self, message: m.AudioStart, form: ClipFormat) -> Plan:
        name = self._checked(message)
        return Plan(
            form, name, RATE, form.codec, UPLINK, lambda clip, audio: self._store(clip, name, message, audio)
        )

    def _checked(self, message: m.AudioStart) -> str:
        """The name of a voice that may be made. Raises what `start` does."""
        assert self._references is not None
        if message.voice is None:
            raise BadField(
                "a reference needs the name of the voice to make", type="audio_start", field="voice"
            )
        if not message.consent:
            raise NoConsent("a voice is made only of a speaker who agreed: say so with consent")
        name = checked_name(message.voice)
        self._references.check_free(name)
        if any(voice.name.lower() == name for voice in self._services.pool.voices):
            raise VoiceTaken(f"there is a voice {name!r} of the engine's own; take another name", voice=name)
        return name

    def _store(self, clip: Clip, name: str, message: m.AudioStart, audio: Samples) -> None:
        references = self._references
        assert references is not None
        languages = (message.language,) if message.language else ()

        def store() -> Reference:
            try:
                return references.add(name, audio, text=message.text, languages=languages, consent=True)
            except OSError as error:  # a full disk is the operator's to hear of, in a line and by its name
                log.error("a voice cannot be kept in %s: %s", references.folder, error.strerror or error)
                raise StreamError("the voice could not be kept") from error

        workshop = self._services.workshop

        def stored(_: Reference) -> None:
            if clip.stream_id in self._clips:
                self._link.send(m.StreamEnd(clip.handle, len(audio), RATE, 1, ""))
                self._link.settle_uplink(clip.stream_id, "done")
            else:  # cancelled, or the connection lost, while it was written
                workshop.submit(lambda: references.remove(name), lambda _: None, _log_fault)

        workshop.submit(store, stored, lambda error: self._fail(clip, error), SLACK_TICKS)

    # ------------------------------------------------------------ speech to convert

    def _conversion(self, message: m.AudioStart, form: ClipFormat) -> Plan:
        request = m.StreamStart(
            message.stream_id,
            open=True,
            voice=message.voice,
            speed=message.speed,
            rung=message.rung,
            policy=message.policy,
            mode=message.mode,
            formats=message.formats,
        )
        accepted = self._link.receive(request)
        connection = copy_context()  # a codec thread says when the clip is whole, and knows of no connection

        def convert(clip: Clip, audio: Samples) -> None:
            del self._clips[clip.stream_id]  # from here on it is an utterance of the connection
            connection.run(self._link.convert, audio, request, clip.handle, accepted)

        voice, first = accepted.voice, accepted.first
        return Plan(form, voice.name, voice.sample_rate, first.codec, first.name, convert)

    # ------------------------------------------------------------ both

    def _open(self, message: m.AudioStart, plan: Plan) -> None:
        """Take the clip in."""
        clip: Clip
        services, limits = self._services, self._services.settings.limits
        intake = Intake(
            plan.form,
            limits.uplink_s,
            services.workshop,
            services.library,
            lambda audio: plan.whole(clip, audio),
            lambda error: self._fail(clip, error),
        )
        handle = self._link.open_stream(message.stream_id, plan.voice, plan.rate, plan.codec, plan.rung)
        words = f"the clip did not end within {limits.uplink_timeout_s:g} s"
        late = BadAudio(words, name="uplink_timeout_s")
        timer = asyncio.get_running_loop().call_later(limits.uplink_timeout_s, lambda: self._fail(clip, late))
        clip = Clip(message.stream_id, handle, intake, plan.rate, self._link.send, timer)
        self._clips[message.stream_id] = clip
        self._share.join(clip)

    def _fail(self, clip: Clip, error: Exception) -> None:
        if clip.stream_id in self._clips:
            self._link.fault_of(clip.stream_id, error)


def _log_fault(error: Exception) -> None:
    log.error("a voice that nobody waits for could not be removed", exc_info=error)
