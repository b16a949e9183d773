"""
What `[engine.options]` may hold for CosyVoice: one frozen record that checks itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Optional

from ...errors import EngineError

SWITCHES = ("fp16", "load_jit", "load_trt", "load_vllm")
"""Options that the model's constructor takes, where this version of it does."""

DEVICES = ("", "cpu", "cuda")


@dataclass(frozen=True)
class Options:
    """
    The options of the engine.

    Args:
        model_dir: folder of the weights, with cosyvoice.yaml, cosyvoice2.yaml or cosyvoice3.yaml.
        path: a checkout of CosyVoice with its third_party/Matcha-TTS, where the package is not
            installed.
        device: "cpu" hides every GPU, "cuda" insists on one, "" takes what there is.
        fp16, load_jit, load_trt, load_vllm, trt_concurrent: as the model's constructor has them;
            `trt_concurrent` 0 leaves it as it is.
        constructor: more arguments of the constructor, for forks that have them.
        stream: hand out a sentence in pieces while it is computed.
        stream_scale_factor: how much longer each piece of CosyVoice2 and 3 is than the last one.
            1 keeps all as short as the first.
        text_frontend: have CosyVoice write out numbers and cut long texts.
        fade_in_ms: fade at the start of a sentence, where a tick may be; 0: none.
        tail_guard_ms: fade at its end, where noise may be; 0: none.
        voices: name → table of `audio` (PCM16 WAV, 16 kHz mono, at most 30 s), `transcript` and
            `languages`: voices to copy.
        voices_dir: folder of reference voices that clients stored.
        default_voice: the one that speaks where a request names none.
        system: what CosyVoice3 is told before each prompt.
        warm_up: what is spoken and thrown away while loading; "": nothing.
    """

    model_dir: str = ""
    path: Optional[str] = None
    device: str = ""
    fp16: bool = False
    load_jit: bool = False
    load_trt: bool = False
    load_vllm: bool = False
    trt_concurrent: int = 0
    constructor: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = True
    stream_scale_factor: int = 1
    text_frontend: bool = True
    fade_in_ms: float = 20.0
    tail_guard_ms: float = 40.0
    voices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    voices_dir: Optional[str] = None
    default_voice: str = ""
    system: str = "You are a helpful assistant."
    warm_up: str = "你好。Hello."


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "Optional[str]": (str, type(None)),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "Mapping[str, Any]": (Mapping,),
    "Mapping[str, Mapping[str, Any]]": (Mapping,),
}

_BOUNDS: dict[str, tuple[float, float]] = {
    "trt_concurrent": (0, 64),
    "stream_scale_factor": (1, 4),
    "fade_in_ms": (0, 200),
    "tail_guard_ms": (0, 200),
}
"""Least and most. A fade of more than 200 ms would eat a syllable; a piece more than four times as
long as the last one lets a listener run dry."""


def parse(given: Mapping[str, Any]) -> Options:
    """
    The options in `given`.

    Raises:
        EngineError: an unknown name, a wrong type, or a value out of its bounds.
    """
    known = {f.name: str(f.type) for f in fields(Options)}
    for name, value in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise EngineError(f"cosyvoice has no option {name!r}{hint}")
        allowed = _TYPES[known[name]]
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise EngineError(f"cosyvoice: the option {name} is of type {known[name]}, not {value!r}")
        low, high = _BOUNDS.get(name, (0, 0))
        if high and not low <= given[name] <= high:
            raise EngineError(f"cosyvoice: the option {name} is from {low} to {high}, not {value!r}")
    options = Options(**given)
    if options.device not in DEVICES:
        raise EngineError(
            f"cosyvoice: device is cpu or cuda, not {options.device!r}; which GPU is for engine.devices"
        )
    if not options.model_dir:
        raise EngineError("cosyvoice: no model folder; give --model-dir or engine.options.model_dir")
    return options
