"""
The voices that are copied from a prompt: from the settings, and from the folder that clients fill.

A prompt's features are computed once, by `add_zero_shot_spk`, and kept for the voices used last. Each
call of the model gets them under a name of its own in the model's table, because until December 2025 a
call writes its text into that entry, and inference_cross_lingual and inference_instruct2 delete parts of
it: the next call would fail, and one at the same time would say the other's words.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

from ...errors import EngineError
from ..references import Reference, References
from .variant import Variant

KEPT = 64
"""
Prompts whose features are kept. Those of 30 s take about 1 MB (3 000 frames of 80 floats), so the
most is small beside the model; a voice that is used again after 64 others costs its prompt anew.
"""

PREFIX = "abr-tts:"
"""Keeps our names in the model's table apart from the voices that it came with."""

SAMPLE = "asset/zero_shot_prompt.wav"
SAMPLE_TEXT = "希望你以后能够做的比我还好呦。"
"""The prompt that a checkout of CosyVoice brings along, with what is said in it (its example.py)."""


class Prompts:
    """
    Args:
        variant: the model.
        voices: the settings' table: name → `audio`, `transcript`, `languages`.
        folder: the folder of reference voices, or None.
    """

    def __init__(
        self, variant: Variant, voices: Mapping[str, Mapping[str, Any]], folder: Optional[str]
    ) -> None:
        self._variant = variant
        self._folder = References(folder) if folder else None
        self.own = {name: _reference(name, table) for name, table in voices.items()}
        self._kept: OrderedDict[tuple[str, str, str], dict[str, Any]] = OrderedDict()
        self._numbers = itertools.count(1)
        self._computing = threading.Lock()

    def add_sample(self, checkout: Optional[str]) -> None:
        """Take the prompt of a checkout as a voice; nothing if there is none."""
        path = Path(checkout or "") / SAMPLE
        if checkout and path.is_file():
            self.own["sample"] = Reference("sample", path, SAMPLE_TEXT, ("zh",))

    def get(self, name: str) -> Optional[Reference]:
        """The voice called `name`; one that another replica has just stored is found too."""
        if name in self.own:
            return self.own[name]
        return self._folder.get(name) if self._folder else None

    def ready(self, reference: Reference, text: str) -> tuple[str, Any, str]:
        """
        (text of the prompt, its speech, its name in the model's table) for one call of the model;
        where it has a name, the other two are empty, and `lent` must see the call's end.

        Args:
            text: what precedes the speech to be made: a transcript, an instruction, or "".

        Raises:
            EngineError: the clip cannot be used.
        """
        try:
            if not self._variant.registers:
                return text, self._prompt(reference), ""
            return "", "", self._registered(reference, text)
        except Exception as error:
            if "CUDA" in str(error):  # not the clip's fault: this process is of no more use
                raise
            raise EngineError(f"the voice {reference.name!r} cannot be used: {error}") from error

    def learn(self, reference: Reference, text: str) -> None:
        """
        Compute now what `ready` would have to.

        Raises:
            EngineError: the clip cannot be used.
        """
        for _ in self.lent(self.ready(reference, text)[2], ()):
            pass

    def speech(self, reference: Reference) -> Any:
        """
        The clip itself as the model takes it.

        Raises:
            EngineError: the clip cannot be used.
        """
        try:
            return self._prompt(reference)
        except (OSError, ValueError) as error:
            raise EngineError(f"the voice {reference.name!r} cannot be used: {error}") from error

    def _prompt(self, reference: Reference) -> Any:
        """As `variant.Variant.prompt`; raises OSError or ValueError."""
        if reference.name not in self.own:  # those of the settings were read when the model was loaded
            reference.read()  # a path goes to the model unread, and what it then raises costs the worker
        return self._variant.prompt(reference.audio)

    def lent(self, name: str, made: Iterable[Any]) -> Iterator[Any]:
        """What a call `made` with the prompt called `name`, which goes from the model's table at the end."""
        try:
            yield from made
        finally:
            self._variant.model.frontend.spk2info.pop(name, None)

    def _registered(self, reference: Reference, text: str) -> str:
        """A new name of (clip, text) in the model's table, whose features are computed if they must."""
        table = self._variant.model.frontend.spk2info
        name = f"{PREFIX}{reference.name}:{next(self._numbers)}"
        table[name] = dict(self._features(reference, text, name))
        return name

    def _features(self, reference: Reference, text: str, name: str) -> dict[str, Any]:
        """Those of (clip, text); computed under `name` if they are not kept."""
        model = self._variant.model
        which = (reference.name, reference.made, text)
        with self._computing:
            if which not in self._kept:
                model.add_zero_shot_spk(text, self._variant.prompt(reference.audio), name)
                self._kept[which] = model.frontend.spk2info.pop(name)
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(which)
            return self._kept[which]


def _reference(name: str, table: Mapping[str, Any]) -> Reference:
    """
    A voice of the settings.

    Raises:
        EngineError: the table lacks its clip, or has what no voice has.
    """
    unknown = set(table) - {"audio", "transcript", "languages"}
    if unknown:
        raise EngineError(
            f"cosyvoice: the voice {name!r} has audio, transcript and languages, "
            f"not {', '.join(sorted(unknown))}"
        )
    if not isinstance(table.get("audio"), str):
        raise EngineError(f'cosyvoice: the voice {name!r} needs its clip: audio = "the path of a WAV file"')
    tags = table.get("languages", ())
    languages = (tags,) if isinstance(tags, str) else tuple(str(tag).lower() for tag in tags)
    return Reference(name, Path(table["audio"]), str(table.get("transcript", "")), languages)
