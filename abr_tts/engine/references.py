"""
Voices made of somebody's own speech: a folder of clips that replicas and their engines share.

One sub-folder a voice, named as the voice: `audio.wav` (PCM16, mono, 16 kHz) and `voice.json` (what
is said in it, whether the speaker agreed, …). A voice is written beside its place and renamed into
it, so that a reader sees all of it or nothing, and is never changed: a name means one clip until it
is removed. Runs under Python 3.10 with numpy alone; knows no engine and no client.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
import unicodedata
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional

from ..audio.pcm import decode_pcm16, encode_pcm16
from ..errors import BadAudio, BadField, TooManyVoices, VoiceTaken
from .base import CONVERTED_RATE, CONVERTED_S, Samples

RATE = CONVERTED_RATE
"""Hz of a kept clip: what speaker encoders read (CosyVoice's `prompt_speech_16k`)."""

LEAST_S, MOST_S = 1.0, CONVERTED_S
"""Seconds of a clip: from less no speaker encoder makes a voice (a guess; 3 to 10 s are advised), and
CosyVoice's tokenizer takes no more than 30."""

QUIET = 33
"""Peak of int16 (-60 dBFS) below which a clip is silence: a muted microphone, and zeros that Opus has coded,
come out a step or two beside it."""

NAME_CHARS = 48
"""Characters of a name: in UTF-8 at most 192 of the 255 bytes that file systems give a name."""

TEXT_CHARS = 2_000
"""Characters of what is said in a clip: four times what anybody says in 30 s."""

AUDIO, FACTS = "audio.wav", "voice.json"
"""The two files of a voice."""

UNFINISHED, LEAVING = ".new-", ".old-"
"""Begins the name of a folder that is being written, or removed. No voice's name begins with a dot."""

LISTED_S = 10.0
"""Seconds after which the folder is looked through again although it says that it has not changed: files
that somebody puts into a voice's own folder do not change the one around it. Chosen here."""

STALE_S = 3600.0
"""Age at which such a folder was left by a process that died."""


@dataclass(frozen=True)
class Reference:
    """
    One voice.

    Args:
        name: what requests call it, in lower case.
        audio: the clip: WAV, PCM16, mono, 16 000 Hz.
        text: what is said in it, word for word; "" if nobody told: then it can be cloned across
            languages only.
        languages: BCP 47 tags in lower case of what is said in it; empty if nobody told.
        consent: the speaker agreed, as whoever added it said.
        made: when it was added, UTC, ISO 8601. With `name` it tells two voices apart of which one
            took the name of the other, for whoever keeps what he computed of a clip.
        seconds: of the clip.
    """

    name: str
    audio: Path
    text: str = ""
    languages: tuple[str, ...] = ()
    consent: bool = False
    made: str = ""
    seconds: float = 0.0

    def read(self) -> Samples:
        """
        The clip: int16, mono, `RATE` Hz.

        Raises:
            OSError: it is gone.
        """
        return read_wav(self.audio)


class References:
    """
    The voices of a folder. Any number of processes and machines may share it.

    Args:
        folder: where they are; it is made when the first one is added.
        most: voices that it may hold.
    """

    def __init__(self, folder: Path | str, most: int = 1000) -> None:
        self.folder = Path(folder)
        self._most = most
        self._known: dict[str, tuple[tuple[int, int], Reference]] = {}
        self._listed: tuple[int, tuple[str, ...]] = (-1, ())
        self._listed_at = 0.0

    def names(self) -> tuple[str, ...]:
        """Every name, sorted; cheap while the folder stays as it is, and no older than `LISTED_S`."""
        try:
            changed = self.folder.stat().st_mtime_ns
        except OSError:
            return ()
        # A folder that changed this very moment may change again within its clock's tick.
        fresh = time.time_ns() - changed < 1_000_000_000
        if fresh or changed != self._listed[0] or time.monotonic() - self._listed_at > LISTED_S:
            self._listed_at = time.monotonic()
            self._listed = (changed, tuple(sorted(self._found())))
        return self._listed[1]

    def get(self, name: str) -> Optional[Reference]:
        """The voice called `name`, in whatever case, as it is now in the folder; None if there is none."""
        try:
            plain = checked_name(name)
        except BadField:
            return None
        path = self.folder / plain / FACTS
        try:
            now = path.stat()
            version = (now.st_mtime_ns, now.st_ino)
            known = self._known.get(plain)
            if known is None or known[0] != version:
                known = (version, _read(plain, path))
                self._known[plain] = known
        except (OSError, ValueError, TypeError, ArithmeticError, RecursionError):
            self._known.pop(plain, None)
            return None
        return known[1]

    def add(
        self,
        name: str,
        audio: Samples,
        *,
        text: str = "",
        languages: Sequence[str] = (),
        consent: bool = False,
    ) -> Reference:
        """
        Keep a voice; it can be used at once, by everybody who shares the folder.

        Args:
            audio: int16, mono, `RATE` Hz, `LEAST_S` to `MOST_S`.

        Raises:
            BadField: a name that cannot be, or too long a text.
            BadAudio: too short, too long, or silent.
            VoiceTaken: there is one of this name; it must be removed first.
            TooManyVoices: the folder is full.
            OSError: it cannot be written.
        """
        plain = checked_name(name)
        if len(text) > TEXT_CHARS:
            raise BadField(f"more than {TEXT_CHARS} characters of transcript", field="text", limit=TEXT_CHARS)
        _check_clip(audio)
        self.check_free(plain)
        seconds = round(len(audio) / RATE, 3)
        made = datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")
        facts = {
            "name": plain,
            "text": text,
            "languages": [tag.lower() for tag in languages],
            "consent": consent,
            "made": made,
            "seconds": seconds,
        }
        self._sweep()
        with self._place(plain) as folder:
            write_wav(folder / AUDIO, audio)
            _write(folder / FACTS, json.dumps(facts, ensure_ascii=False, indent=1).encode() + b"\n")
        added = self.get(plain)
        assert added is not None, "what was renamed into its place is there"
        return added

    def check_free(self, name: str) -> None:
        """
        Refuse early what `add` would refuse in the end.

        Raises:
            BadField: a name that cannot be.
            VoiceTaken: there is one of this name.
            TooManyVoices: the folder is full.
        """
        plain = checked_name(name)
        if os.path.lexists(self.folder / plain):
            raise VoiceTaken(f"there is a voice {plain!r} already; take another name", voice=plain)
        if sum(1 for _ in self._found()) >= self._most:
            raise TooManyVoices(f"there are {self._most} voices already", limit=self._most)

    def remove(self, name: str) -> bool:
        """
        Forget a voice: it is gone at once for everybody; False if there is none.

        Raises:
            OSError: it cannot be removed.
        """
        plain = checked_name(name)
        leaving = self.folder / f"{LEAVING}{secrets.token_hex(8)}"
        try:
            (self.folder / plain).rename(leaving)
        except FileNotFoundError:
            return False
        _discard(leaving)
        self._known.pop(plain, None)
        return True

    def _found(self) -> Iterator[str]:
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                if _is_name(entry.name) and os.path.exists(os.path.join(entry.path, FACTS)):
                    yield entry.name

    @contextlib.contextmanager
    def _place(self, name: str) -> Iterator[Path]:
        """A folder to write into, which then becomes the voice's, or nothing at all."""
        folder = self.folder / f"{UNFINISHED}{secrets.token_hex(8)}"
        folder.mkdir(parents=True)
        try:
            yield folder
            folder.rename(self.folder / name)  # never over another one: a folder that is not empty stays
        except OSError:
            if os.path.lexists(self.folder / name):
                raise VoiceTaken(f"there is a voice {name!r} already", voice=name) from None
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove what processes left behind that died at it."""
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                left = entry.name.startswith((UNFINISHED, LEAVING))
                if left and time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_S:
                    _discard(entry.path)


def _discard(path: Path | str) -> None:
    """Remove a folder, or a link to one and not what it leads to."""
    with contextlib.suppress(OSError):
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
    shutil.rmtree(path, ignore_errors=True)


def checked_name(name: str) -> str:
    """
    A voice's name as it is kept: letters of any script, digits, `-` and `_`, no two of which differ
    in case alone. It is the name of a folder too, so it can never lead out of the one it is in.

    Raises:
        BadField: it is no such name.
    """
    plain = unicodedata.normalize("NFC", name).lower()
    plain = unicodedata.normalize("NFC", plain)  # a small letter may compose where its capital does not
    allowed = all(char in "-_" or unicodedata.category(char)[0] in "LMN" for char in plain)
    if not allowed or not 1 <= len(plain) <= NAME_CHARS or not plain[0].isalnum():
        rule = f"1 to {NAME_CHARS} letters, digits, - and _, the first a letter or a digit"
        raise BadField(f"a voice's name has {rule}", type="audio_start", field="voice")
    return plain


def _is_name(name: str) -> bool:
    """Whether a folder's name is that of a voice, as it is kept."""
    try:
        return checked_name(name) == name
    except BadField:
        return False


def read_wav(path: Path | str) -> Samples:
    """
    A clip of this folder: int16, mono, `RATE` Hz.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no WAV file of that form.
    """
    try:
        with wave.open(str(path), "rb") as file:
            if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, RATE):
                raise ValueError(f"{path} is not 16-bit mono at {RATE} Hz")
            return decode_pcm16(file.readframes(file.getnframes()))
    except (wave.Error, EOFError, RuntimeError) as error:  # the last of a chunk that leads out of the file
        raise ValueError(f"{path} is no WAV file: {str(error) or 'it ends too soon'}") from None


def write_wav(path: Path, audio: Samples) -> None:
    """A clip as a file that is on the disk when this returns."""
    with path.open("wb") as file:
        with wave.open(file, "wb") as wav:
            wav.setparams((1, 2, RATE, len(audio), "NONE", ""))
            wav.writeframes(encode_pcm16(audio))
        file.flush()
        os.fsync(file.fileno())


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _check_clip(audio: Samples) -> None:
    seconds = len(audio) / RATE
    if seconds < LEAST_S:
        raise BadAudio(f"{seconds:.2f} s of sound are too short for a voice: {LEAST_S:g} s at least")
    if seconds > MOST_S:
        raise BadAudio(f"{seconds:.2f} s of sound are too long for a voice: {MOST_S:g} s at most")
    if max(int(audio.max()), -int(audio.min())) < QUIET:
        raise BadAudio("there is nothing but silence in this sound")


def _read(name: str, path: Path) -> Reference:
    """
    The voice of a file of facts; one that a person wrote may lack all but a clip beside it.

    Raises:
        OSError, ValueError, TypeError, ArithmeticError, RecursionError: it cannot be read.
    """
    facts: Any = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(facts, dict):
        raise ValueError(f"{path} is not an object")
    audio = path.parent / AUDIO
    size = audio.stat().st_size
    tags = facts.get("languages") or []
    languages = [tags] if isinstance(tags, str) else tags
    return Reference(
        name=name,
        audio=audio,
        text=str(facts.get("text") or ""),
        languages=tuple(str(tag).lower() for tag in languages),
        consent=facts.get("consent") is True,
        made=str(facts.get("made") or path.stat().st_mtime_ns),
        seconds=float(facts.get("seconds") or max(0, size - 44) / (2 * RATE)),
    )
