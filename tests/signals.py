"""Test signals, made by rule: the same bits on every machine that has the same numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))
"""Formants of five vowels, Hz (Peterson and Barney, 1952, men)."""


def speech_like(rate: int, seconds: float, seed: int = 1) -> NDArray[np.int16]:
    """
    Syllables of a gliding buzz under moving formants, hisses between them, and short pauses.

    int16, shape (rate·seconds,), peak at about half of full scale, content to 0.45·rate.
    """
    rng = np.random.default_rng(seed)
    total = round(rate * seconds)
    out = np.zeros(total)
    at = 0
    while at < total:
        voiced = rng.random() < 0.7
        size = int(rate * rng.uniform(0.12, 0.3 if voiced else 0.16))
        piece = _vowel(rng, rate, size) if voiced else _hiss(rng, size)
        piece *= np.hanning(size) ** 0.3
        out[at : at + size] += piece[: total - at]
        at += size + int(rate * rng.choice((0.0, 0.0, 0.03, 0.12)))
    return _scaled(out)


def tone(rate: int, seconds: float, hz: float = 1000.0, level: float = 0.5) -> NDArray[np.int16]:
    """A sine, int16, shape (rate·seconds,), `level` of full scale."""
    time = np.arange(round(rate * seconds)) / rate
    return np.rint(32767 * level * np.sin(2 * np.pi * hz * time)).astype(np.int16)


def sweep(
    rate: int, seconds: float, low: float = 200.0, high: float = 7000.0, level: float = 0.5
) -> NDArray[np.int16]:
    """A sine gliding linearly from `low` to `high` Hz, int16, shape (rate·seconds,)."""
    time = np.arange(round(rate * seconds)) / rate
    phase = 2 * np.pi * (low * time + (high - low) * time**2 / (2 * seconds))
    return np.rint(32767 * level * np.sin(phase)).astype(np.int16)


def _vowel(rng: np.random.Generator, rate: int, size: int) -> NDArray[np.float64]:
    """Harmonics of a gliding pitch, each as loud as the formants make it, with some breath."""
    time = np.arange(size) / rate
    pitch, formants = rng.uniform(90, 220), VOWELS[rng.integers(len(VOWELS))]
    phase = 2 * np.pi * pitch * (time + rng.uniform(-0.4, 0.4) * time**2)
    out = np.zeros(size)
    for number in range(1, int(0.38 * rate / pitch)):
        hz = number * pitch
        gain = sum(1 / (1 + ((hz - f) / (60 + 0.06 * f)) ** 2) for f in formants) + 0.01
        out += gain / number**0.5 * np.sin(number * phase + rng.uniform(0, 2 * np.pi))
    return out / np.abs(out).max() + 0.01 * rng.standard_normal(size)


def _hiss(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Noise that rises with frequency, as in s and f."""
    return 0.1 * np.diff(rng.standard_normal(size + 1))


def _scaled(signal: NDArray[np.float64]) -> NDArray[np.int16]:
    return np.rint(signal * (16384 / max(np.abs(signal).max(), 1e-9))).astype(np.int16)
