"""What the tests of commands share: recorded networks on disk, and sessions that take a moment."""

from pathlib import Path

import pytest

from abr_tts.sim import study

from .recordings import write


@pytest.fixture
def networks(tmp_path, monkeypatch) -> Path:
    """A folder of six networks; utterances begin within their ten seconds."""
    monkeypatch.setattr(study, "LEAST_SESSION_S", 10.0)
    return write(tmp_path / "nets")
