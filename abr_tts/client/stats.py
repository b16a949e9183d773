"""What a speech was like for its listener: one record, for people and for `--json`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class SpeechStats:
    """
    Figures of one speech, growing while it is heard.

    Milliseconds and seconds are of a monotonic clock and count from the request.
    """

    voice: str = ""
    sample_rate: int = 0
    """Of the samples handed out, Hz."""
    first_audio_ms: float | None = None
    """Request to the first packet of audio."""
    first_sound_ms: float | None = None
    """Request to the first frame handed to the listener."""
    seconds: float = 0.0
    """Sound handed out; but for live mode, that is the speech heard."""
    rungs: dict[str, float] = field(default_factory=dict)
    """Seconds of speech by the rung that was heard."""
    switches: int = 0
    """Changes of the rung that was heard."""
    stalls: int = 0
    """Times that the listener ran out of speech; only a real-time listener can."""
    stall_ms: float = 0.0
    slowed_ms: float = 0.0
    """Live mode, as the next two: sound added by slower speech."""
    concealed_ms: float = 0.0
    """Sound made up over gaps."""
    expired_ms: float = 0.0
    """Speech that was too late, and dropped."""
    bytes: int = 0
    """WebSocket payload of this stream's messages."""
    heard: int = 0
    """Characters of the text that were heard, once it is over; see `Speech.heard`."""
    complete: bool = False
    """Heard to its end."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the fields by name, milliseconds and seconds rounded to what they are worth."""
        values = asdict(self)
        values["rungs"] = {rung: round(seconds, 3) for rung, seconds in self.rungs.items()}
        return {
            name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()
        }
