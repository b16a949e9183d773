"""
espeak-ng by ctypes: robotic, but 130 languages in a few megabytes and faster than any network.

Runs in a worker process of its own, because the library's state is global and two
threads in it free the same memory twice. Each run of a script is read by a voice that
can, so that nothing of a mixed text is lost.
"""

from __future__ import annotations

import ctypes
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Optional

from ..errors import EngineError
from . import languages, libespeak
from .base import Abilities, Emit, Line, Progress, Voice, unwatched
from .scripts import shares

OPTIONS = ("data", "library")
"""Names of the options."""


class Espeak:
    """
    The engine (see `base.Engine`). Options, both for a library of one's own:

    `library`: path of libespeak-ng; `data`: path of its espeak-ng-data.
    """

    def load(self, options: Mapping[str, Any], progress: Progress = unwatched) -> None:
        """Load the library, list its voices and read those of the default one: 4 ms of the first clause."""
        for name in options:
            if name not in OPTIONS:
                raise EngineError(f"espeak has no option {name!r}; there are {', '.join(OPTIONS)}")
        library, data = libespeak.find(options)
        self._lib = libespeak.bind(library)
        self._rate = libespeak.initialize(self._lib, data)
        self._version = self._lib.espeak_Info(None).decode().split()[0]
        self._files: dict[str, str] = {}
        self._voices = self._list_voices()
        self._loaded = ("", 0)
        self._emit: Optional[Emit] = None
        self._error: Optional[BaseException] = None
        self._callback = libespeak.Callback(self._on_pcm)  # kept: ctypes does not
        self._lib.espeak_SetSynthCallback(self._callback)
        self.say(Line("One.", self._voices[0].name), lambda chunk: True)

    @property
    def sample_rate(self) -> int:
        """Hz."""
        return self._rate

    @property
    def voices(self) -> Sequence[Voice]:
        """en-us, cmn, then the others by name."""
        return self._voices

    @property
    def abilities(self) -> Abilities:
        """Every script that some voice reads: runs go to the voice that can."""
        slowest, fastest = languages.RATE_BOUNDS
        scripts = tuple(script for script in languages.DEFAULTS if script)
        bounds = (slowest / languages.RATE, fastest / languages.RATE)
        return Abilities("espeak", self._version, scripts, languages.DEFAULTS, bounds)

    def say(self, line: Line, emit: Emit) -> None:
        """Speak each run of the text with the voice that reads its script; see `base.Engine.say`."""
        self._emit, self._error = emit, None
        for part, reader in shares(_plain(line.text), partial(languages.reader, line.voice)):
            self._select(reader, languages.rate(reader, line.speed))
            self._synth(part)
            if self._error is not None:
                raise self._error
            if self._emit is None:
                return

    def _select(self, voice: str, rate: int) -> None:
        """Set voice and rate: a file read for a new voice (0.2 to 9 ms), nothing for the last one."""
        if (voice, rate) == self._loaded:
            return
        self._loaded = ("", 0)
        if voice not in self._files:
            raise EngineError(f"espeak-ng has no voice {voice!r}")
        file = self._files[voice] + languages.VARIANTS.get(voice, "")
        if code := self._lib.espeak_SetVoiceByName(os.fsencode(file)):
            raise EngineError(f"espeak-ng cannot load the voice {voice!r} (code {code})")
        self._lib.espeak_SetParameter(libespeak.RATE_PARAMETER, rate, 0)
        self._loaded = (voice, rate)

    def _synth(self, text: str) -> None:
        flags = libespeak.CHARS_UTF8 | (libespeak.END_PAUSE if _ends_a_phrase(text) else 0)
        data = text.encode("utf-8", "ignore") + b"\0"
        if code := self._lib.espeak_Synth(data, len(data), 0, 0, 0, flags, None, None):
            raise EngineError(f"espeak-ng refused the text (code {code})")

    def _on_pcm(self, samples: Optional[int], count: int, events: Optional[int]) -> int:
        """The library's callback: 0 goes on, 1 aborts. What it raises ctypes would swallow."""
        if self._emit is None:
            return 1
        if not samples or count <= 0:
            return 0
        try:
            wanted = self._emit(ctypes.string_at(samples, 2 * count))
        except BaseException as error:
            self._error, wanted = error, False
        if not wanted:
            self._emit = None
        return 0 if wanted else 1

    def _list_voices(self) -> list[Voice]:
        voices: dict[str, Voice] = {}
        for record in libespeak.records(self._lib.espeak_ListVoices(None)):
            tags, file = libespeak.tags(record.languages), record.identifier.decode()
            name = tags[0] if tags[0] not in voices else file.rpartition("/")[2].lower()
            if name in languages.SILENT:
                continue
            tags = (*languages.EXTRA_TAGS.get(name, ()), *tags)
            self._files[name] = file
            voices[name] = Voice(name, tags, self._rate, record.name.decode().strip())
        first = [voices.pop(name) for name in ("en-us", "cmn") if name in voices]
        return first + [voices[name] for name in sorted(voices)]


_SAME_CHARACTER = (
    *("<wide>", "<narrow>", "<font>", "<circle>", "<square>", "<compat>"),
    *("<initial>", "<medial>", "<final>", "<isolated>"),
)
"""Decompositions that change the look alone; espeak-ng passes over such characters or spells them."""


_IN_A_NUMBER = re.compile(r"(?<=\d)[．，：](?=\d)")
"""Full-width marks inside a number. Elsewhere they stay: espeak-ng pauses at them, but at their
ASCII forms only before a space."""


def _plain(text: str) -> str:
    """`text` in characters that espeak-ng knows: digits in ASCII, no forms, no control characters."""
    if text.isascii() and text.isprintable():
        return text
    text = _IN_A_NUMBER.sub(lambda mark: unicodedata.normalize("NFKC", mark[0]), text)
    return "".join(map(_plain_char, text))


@lru_cache(maxsize=8192)
def _plain_char(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.digit(char))
    if category in ("Cc", "Zl", "Zp"):  # a NUL would end the text
        return " "
    if category == "Cs" or char == "\ufffd":
        return ""
    if category[0] == "P" and char not in "％＃＆＠＊／＼":
        return char
    same = unicodedata.decomposition(char).startswith(_SAME_CHARACTER)
    return unicodedata.normalize("NFKC", char) if same else char


def _ends_a_phrase(text: str) -> bool:
    """Whether a pause belongs after `text`: it ends in punctuation, not in the midst of words."""
    last = text.rstrip()[-1:]
    return bool(last) and unicodedata.category(last)[0] == "P"
