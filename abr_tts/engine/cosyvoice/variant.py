"""
What the versions of CosyVoice want differently: how a prompt is handed over, and where the mark that
ends instructions must stand. Read off the functions at hand, because forks and dates mix freely.

In December 2025 `prompt_speech_16k`, a tensor, became `prompt_wav`, a path, in the same position, and
the front end stopped adding the mark itself. CosyVoice3 fails in its own thread without the mark.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...audio.pcm import to_float
from ..base import CONVERTED_RATE, Samples
from ..references import read_wav, write_wav

MARK = "<|endofprompt|>"
"""Ends what a model is told and begins what it says."""


REGISTER = "add_zero_shot_spk"
"""The function that computes a prompt once and keeps it; CosyVoice before April 2025 has none."""


class Variant:
    """
    One loaded model as its version wants to be used.

    Args:
        model: an object of `CosyVoice`, `CosyVoice2` or `CosyVoice3`.
        version: 1, 2 or 3.
        system: what CosyVoice3 is told before each prompt.
    """

    def __init__(self, model: Any, version: int, system: str) -> None:
        self.model = model
        self.version = version
        self.rate = int(model.sample_rate)
        self._system = system
        prompt = list(inspect.signature(model.inference_zero_shot).parameters)[2]
        self.takes_paths = not prompt.startswith("prompt_speech")
        self.registers = hasattr(model, REGISTER)
        self.converts = hasattr(model, "inference_vc")
        adder = "frontend_instruct" if version == 1 else "frontend_instruct2"
        # An instruction that is registered as the text of a prompt gets no mark from anybody.
        self._marks = _adds_a_mark(self._function(adder)) and (version == 1 or not self.registers)

    @property
    def instructs(self) -> bool:
        """Whether it can be told how to speak: CosyVoice-300M-Instruct, and every later version."""
        if self.version > 1:
            return hasattr(self.model, "inference_instruct2")
        told = getattr(self.model, "instruct", "-Instruct" in str(getattr(self.model, "model_dir", "")))
        return hasattr(self.model, "inference_instruct") and bool(told)

    # -- text -----------------------------------------------------------------------------

    def transcript(self, text: str) -> str:
        """What is said in a prompt, as `add_zero_shot_spk` and `inference_zero_shot` take it."""
        text = self.normal(_unmarked(text))
        return f"{self._system}{MARK}{text}" if self.version == 3 else text

    def instruction(self, text: str) -> str:
        """How to speak, as `inference_instruct` and `inference_instruct2` take it."""
        text = _unmarked(text)
        if self.version == 3:
            text = f"{self._system} {text}".strip()
        return text if self._marks else text + MARK

    def unprompted(self, text: str) -> str:
        """What to say where no text of a prompt precedes it."""
        text = _unmarked(text)
        return f"{self._system}{MARK}{self.normal(text)}" if self.version == 3 else text

    def prompted(self, text: str) -> str:
        """What to say where the text of a prompt precedes it."""
        return _unmarked(text)

    def normal(self, text: str) -> str:
        """
        `text` with numbers written out. The front end leaves a text alone that has a mark in it, and
        `add_zero_shot_spk` leaves every text alone.
        """
        normalize = self._function("text_normalize")
        if normalize is None or not text:
            return text
        normal = normalize(text, split=False)
        return normal if isinstance(normal, str) else text

    # -- sound ----------------------------------------------------------------------------

    def prompt(self, audio: Path) -> Any:
        """
        The speech in a WAV file as this version takes it.

        Raises:
            OSError, ValueError: it cannot be read, or is not PCM16, mono, 16 kHz where a tensor
                is made of it.
        """
        if self.takes_paths:
            if not audio.is_file():
                raise FileNotFoundError(f"there is no file {audio}")
            return str(audio)
        return _tensor(read_wav(audio))

    @contextmanager
    def source(self, audio: Samples) -> Iterator[Any]:
        """`audio` (int16, mono, 16 kHz) as `inference_vc` takes it; a file goes when this ends."""
        if not self.takes_paths:
            yield _tensor(audio)
            return
        with tempfile.TemporaryDirectory(prefix="abr-tts-") as folder:
            path = Path(folder) / "source.wav"
            write_wav(path, audio)
            yield str(path)

    def _function(self, name: str) -> Any:
        return getattr(getattr(self.model, "frontend", None), name, None)


def take_turns(model: Any) -> None:
    """
    Have the front end work for one thread at a time: nobody says whether what writes numbers out and reads
    prompts may be called by several, and it takes little of a sentence's time.
    """
    front = getattr(model, "frontend", None)
    turn = threading.RLock()  # one function of it calls another

    def alone(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            with turn:
                return function(*arguments, **named)

        return called

    for name in dir(front):
        if name.startswith("frontend_") or name == "text_normalize":
            setattr(front, name, alone(getattr(front, name)))


def samples_of(output: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What a generation yields, a tensor [1, n] on any device and of any precision, as float32 [n]."""
    speech = output["tts_speech"]
    for step in ("detach", "cpu", "float"):
        speech = getattr(speech, step, lambda same=speech: same)()
    whole = speech.numpy() if hasattr(speech, "numpy") else np.asarray(speech)
    return np.asarray(whole, np.float32).reshape(-1)


def accepted(function: Callable[..., Any], **more: Any) -> dict[str, Any]:
    """Those of `more` that `function` has a parameter for."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in more.items() if name in parameters}


def _unmarked(text: str) -> str:
    """A listener's text may not end what the model is told."""
    return text.replace(MARK, " ").strip()


def _adds_a_mark(function: Any) -> bool:
    constants = getattr(getattr(function, "__code__", None), "co_consts", ())
    return any(isinstance(constant, str) and "endofprompt" in constant for constant in constants)


def _tensor(samples: Samples) -> Any:
    """float32 [1, n] at 16 kHz: a tensor where the model is torch's."""
    floats = to_float(samples)[None]
    assert CONVERTED_RATE == 16_000, "what prompt_speech_16k says"
    return importlib.import_module("torch").from_numpy(floats) if "torch" in sys.modules else floats
