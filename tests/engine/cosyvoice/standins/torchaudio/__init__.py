"""The few functions of torchaudio that CosyVoice's front end calls, near enough for random weights."""

import wave

import numpy as np
import torch

from . import compliance, transforms

__all__ = ["compliance", "load", "transforms"]


def load(path, backend=None):
    """(float tensor [channels, samples], rate) of a PCM16 file."""
    with wave.open(str(path), "rb") as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768
        return torch.from_numpy(samples.reshape(-1, file.getnchannels()).T.copy()), file.getframerate()
