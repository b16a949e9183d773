"""Folders that look like a checkout of CosyVoice and like its weights, with the fake in them."""

import math
import shutil
import wave
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
YAML = {1: "cosyvoice.yaml", 2: "cosyvoice2.yaml", 3: "cosyvoice3.yaml"}


def make_checkout(folder, old=False):
    """`engine.options.path`: the package with the fake, of the signatures before or since December 2025."""
    cli = folder / "cosyvoice" / "cli"
    cli.mkdir(parents=True)
    for package in (cli, cli.parent):
        (package / "__init__.py").touch()
    shutil.copy(HERE / "fake.py", cli / "cosyvoice.py")
    if old:
        (cli / "old").touch()
    (folder / "third_party" / "Matcha-TTS" / "matcha").mkdir(parents=True)
    return str(folder)


def make_weights(folder, version=2):
    """`engine.options.model_dir`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / YAML[version]).touch()
    return str(folder)


def make_clip(path, seconds=2.0, rate=16_000):
    """A WAV file of somebody's voice, to the fake."""
    samples = 8_000 * np.sin(2 * math.pi * 220 * np.arange(round(rate * seconds)) / rate)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, samples.size, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())
    return str(path)
