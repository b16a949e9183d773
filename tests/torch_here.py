"""The resampler of the extra `torch`, for tests, which skip where it does not load."""

import pytest

from abr_tts.audio.resample import Resampler, by_name
from abr_tts.errors import MissingDependency


def torchaudio() -> Resampler:
    """On the CPU: what it computes is the same on every device."""
    try:
        return by_name("torchaudio", "cpu")
    except MissingDependency as missing:
        pytest.skip(str(missing))
