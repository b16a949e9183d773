"""
Every exception of the house, with its wire code and what it ends.

`protocol/errors.json` is the public list; a test holds the two equal. Errors that never
reach a wire (a bad setting, a library that is missing) stand at the end.
"""

from __future__ import annotations

from typing import Any, ClassVar

CONNECTION, STREAM, NOTHING = "connection", "stream", "nothing"
"""What an error ends: the whole connection, one stream, or nothing (a warning)."""


class AbrError(Exception):
    """
    The root. `code` names the fault for programs, the message tells a person.

    Args:
        message: one sentence for a person; it may be shown to a listener.
        retry_after: seconds after which the same request may succeed, where known.
        detail: small values for programs (a limit, the allowed names).
    """

    code: ClassVar[str] = "internal"
    scope: ClassVar[str] = CONNECTION
    close: ClassVar[int] = 1011

    def __init__(self, message: str, *, retry_after: float | None = None, **detail: Any) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.detail = detail


class ConnectionFault(AbrError):
    """Ends the connection, with the WebSocket close code of its class."""

    close = 1008


class BadMessage(ConnectionFault):
    """Not one msgpack value of the protocol's form."""

    code = "bad_message"


class MessageTooBig(ConnectionFault):
    """A message longer than the limit."""

    code, close = "message_too_big", 1009


class WrongState(ConnectionFault):
    """A message that this state of the connection does not allow (a second hello, none at all)."""

    code = "wrong_state"


class HelloTimeout(ConnectionFault):
    """No hello within the limit."""

    code = "hello_timeout"


class IdleTimeout(ConnectionFault):
    """Nothing heard from the peer, not even a ping, within the limit."""

    code = "idle_timeout"


class UnsupportedVersion(ConnectionFault):
    """The peer speaks no version of the protocol that we speak."""

    code = "unsupported_version"


class Unauthorized(ConnectionFault):
    """No key, or not one of the keys, or one no longer."""

    code = "unauthorized"


class RateLimited(ConnectionFault):
    """More messages a second than the limit."""

    code = "rate_limited"


class Overloaded(ConnectionFault):
    """The server takes no more connections now."""

    code, close = "overloaded", 1013


class ShuttingDown(ConnectionFault):
    """The server is draining; connect again, to another replica if there is one."""

    code, close = "shutting_down", 1012


class Internal(ConnectionFault):
    """A fault of the server's own."""

    code, close = "internal", 1011


class StreamError(AbrError):
    """Ends one stream; the connection lives on."""

    code = "stream_failed"
    scope = STREAM
    close = 1000


class BadField(StreamError):
    """A field of the wrong type or out of its bounds."""

    code = "bad_field"


class EmptyText(StreamError):
    """Nothing to pronounce."""

    code = "empty_text"


class TextTooLong(StreamError):
    """More characters than the limit."""

    code = "text_too_long"


class TextAfterEnd(StreamError):
    """`text` after `text_end`, or for a stream that was not opened for more text."""

    code = "text_after_end"


class UnknownVoice(StreamError):
    """No engine has this voice."""

    code = "unknown_voice"


class UnknownRung(StreamError):
    """The ladder has no such rung."""

    code = "unknown_rung"


class UnknownPolicy(StreamError):
    """The server has no such policy."""

    code = "unknown_policy"


class NoCommonFormat(StreamError):
    """No rung of the ladder is one that the client decodes."""

    code = "no_common_format"


class DuplicateStream(StreamError):
    """This stream id is in use or was used; nothing is synthesised twice."""

    code = "duplicate_stream"


class TooManyStreams(StreamError):
    """More streams at once than the connection may have."""

    code = "too_many_streams"


class Busy(StreamError):
    """No worker is free; the client may try again after `retry_after`."""

    code = "busy"


class ResumeLost(StreamError):
    """The stream is no longer held; ask again from a clause boundary."""

    code = "resume_lost"


class ResumeRefused(StreamError):
    """Wrong token, or another connection holds the stream."""

    code = "resume_refused"


class Unsupported(StreamError):
    """This server or engine cannot do what is asked."""

    code = "unsupported"


class BadAudio(StreamError):
    """Uplink sound that is not what `audio_start` said, or cannot be decoded or used."""

    code = "bad_audio"


class AudioTooLong(StreamError):
    """More uplink sound than the limit."""

    code = "audio_too_long"


class NoConsent(StreamError):
    """A voice is made only of a speaker who agreed, and `consent` was not set."""

    code = "no_consent"


class VoiceTaken(StreamError):
    """There is a voice of this name already."""

    code = "voice_taken"


class TooManyVoices(StreamError):
    """The server keeps no more voices."""

    code = "too_many_voices"


class EngineError(StreamError):
    """The engine could not speak this text."""

    code = "engine_failed"


class EngineTimeout(EngineError):
    """The engine was silent for longer than its limit; its worker is replaced."""

    code = "engine_timeout"


class EngineLost(EngineError):
    """The engine's process died; its worker is replaced."""

    code = "engine_lost"


class Notice(AbrError):
    """Ends nothing: told to the peer, and the stream goes on."""

    code = "notice"
    scope = NOTHING
    close = 1000


class Queued(Notice):
    """The engine has no room for the stream yet; it begins in its turn, at place `detail.position`."""

    code = "queued"


class Reduced(Notice):
    """The server is short of power and gives the stream less than it would; `detail.how` says what."""

    code = "reduced"


class UnknownType(Notice):
    """A message type that this side does not know; it was ignored."""

    code = "unknown_type"


class UnknownStream(Notice):
    """A message for a stream that this connection does not have (any more)."""

    code = "unknown_stream"


class UnknownScript(Notice):
    """Part of the text is in a script that the voice cannot pronounce."""

    code = "unknown_script"


class LocalError(Exception):
    """Root of the errors that never reach a wire: told to the person who runs the program."""


class ConfigError(LocalError):
    """A setting that is unknown, of the wrong type, out of range, or at odds with another."""


class PolicyError(ConfigError):
    """A policy that cannot be. `.keys` are the keys at fault, so that a reader of files finds the line."""

    def __init__(self, message: str, *keys: str) -> None:
        super().__init__(message)
        self.keys = keys


class MissingDependency(LocalError):
    """A library that this job needs is not installed; the message says how to get it (`to_install`)."""


def to_install(extra: str) -> str:
    """What to type for an extra of this package, of which README's first command wants a copy at hand."""
    return f"pip install '.[{extra}]' in the folder of abr-tts"


class NoSound(LocalError):
    """There is no sound device to play through, or it refused; the message says which and why."""


class OpusError(LocalError):
    """libopus refused. `.number` is its error code (opus_defines.h)."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class ConnectFailed(LocalError):
    """
    The server cannot be reached, or refused the connection.

    Args:
        final: the same will happen the next time.
        retry_after: seconds that the server asks to wait, where it told.
    """

    def __init__(self, message: str, *, final: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.final, self.retry_after = final, retry_after


class PlayoutError(LocalError):
    """
    A server's message breaks the rules of tracks; the player has ignored it.

    `.fault` names the rule for programs: one of the faults that `protocol/vectors/playout.md`
    lists.
    """

    def __init__(self, message: str, fault: str) -> None:
        super().__init__(message)
        self.fault = fault


class ConnectionLost(LocalError):
    """The connection ended in mid-speech without a word why."""
