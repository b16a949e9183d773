"""
What espeak-ng's voices can pronounce, and which one takes which script: measured knowledge.

Everything here was read off libespeak-ng 1.52 (espeakng-loader 0.2.4) by asking each
voice for the phonemes of one word in each script. Pure data and two look-ups.
"""

from __future__ import annotations

RATE = 150
"""Words a minute at speed 1.0: clear speech; espeak-ng's own default of 175 is hurried (by ear)."""

RATES = {"cmn": 125, "cmn-latn-pinyin": 125}
"""Words a minute of the voices that need another: Mandarin is hard to follow any faster (by ear)."""

RATE_BOUNDS = (80, 900)
"""espeak-ng clamps below 80; at 900 it still speaks faster than at 600 (measured)."""

VARIANTS = {"cmn": "+f3", "cmn-latn-pinyin": "+f3"}
"""Suffix of the voice's file name: the stock Mandarin voice is hardly intelligible, f3 is."""

SILENT = frozenset({"fo", "kaa", "xex", "chr-us-qaaa-x-west", "cv", "sjn"})
"""
Voices that are not offered, because they lose text: Faroese, Karakalpak and xextan have no
dictionary; Cherokee spells code points; Chuvash and Sindarin pass over digits.
"""

EXTRA_TAGS = {"yue": ("zh-hk", "zh-mo"), "en-us": ("en",), "he": ("iw",), "id": ("in",)}
"""Language tags that people use and espeak-ng's files do not list."""

NATIVE = {
    "Arabic": ("ar", "fa", "fa-latn", "sd", "ug", "ur"),
    "Armenian": ("hy", "hyw"),
    "Bengali": ("as", "bn", "bpy"),
    "Bopomofo": ("cmn", "cmn-latn-pinyin"),
    "Cyrillic": (
        *("ba", "be", "bg", "bs", "hr", "kk", "ky", "mk", "nog"),
        *("ru", "ru-cl", "ru-lv", "sr", "tt", "uk", "uz"),
    ),
    "Devanagari": ("hi", "kok", "mr", "ne"),
    "Ethiopic": ("am", "ti"),
    "Georgian": ("ka",),
    "Greek": ("el", "grc"),
    "Gujarati": ("gu",),
    "Gurmukhi": ("pa",),
    "Han": ("cmn", "cmn-latn-pinyin", "yue", "yue-latn-jyutping"),
    "Hangul": ("ko",),
    "Hebrew": ("he",),
    "Kana": ("ja",),
    "Kannada": ("kn",),
    "Malayalam": ("ml",),
    "Myanmar": ("my", "shn"),
    "Oriya": ("or",),
    "Shavian": ("en-shaw",),
    "Sinhala": ("si",),
    "Tamil": ("ta",),
    "Telugu": ("te",),
    "Thai": ("th",),
}
"""Script → the voices that read it as words, without calling on another voice. Latin: see below."""

SPELLS_LATIN = frozenset({"ba", "hyw", "ja", "kok", "ky", "my", "nog", "shn", "ti"})
"""Voices that spell Latin words letter by letter; the others read them, as their own or as English."""

DEFAULTS = {
    "": "en-us",
    "Latin": "en-us",
    "Arabic": "ar",
    "Armenian": "hy",
    "Bengali": "bn",
    "Bopomofo": "cmn",
    "Cyrillic": "ru",
    "Devanagari": "hi",
    "Ethiopic": "am",
    "Georgian": "ka",
    "Greek": "el",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Han": "cmn",
    "Hangul": "ko",
    "Hebrew": "he",
    "Kana": "ja",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Myanmar": "my",
    "Oriya": "or",
    "Shavian": "en-shaw",
    "Sinhala": "si",
    "Tamil": "ta",
    "Telugu": "te",
    "Thai": "th",
}
"""Script → the voice that reads it when none was named, or the one named cannot."""


def reads(voice: str, script: str) -> bool:
    """Whether `voice` itself reads `script` as words."""
    if script == "Latin":
        return voice not in SPELLS_LATIN
    return voice in NATIVE.get(script, ())


def reader(voice: str, script: str) -> str:
    """The voice for a run of `script` where `voice` was asked for; `voice` itself if no other is better."""
    if not script or reads(voice, script):
        return voice
    return DEFAULTS.get(script, voice)


def rate(voice: str, speed: float) -> int:
    """Words a minute for `speed`, within what espeak-ng renders."""
    slowest, fastest = RATE_BOUNDS
    return min(max(round(RATES.get(voice, RATE) * speed), slowest), fastest)
