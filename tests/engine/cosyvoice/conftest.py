"""The fake as a checkout, and folders of weights."""

import pytest

from .checkout import make_checkout, make_clip, make_weights


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """Signatures since December 2025."""
    return make_checkout(tmp_path_factory.mktemp("new") / "CosyVoice")


@pytest.fixture(scope="session")
def old_checkout(tmp_path_factory):
    """Signatures until then."""
    return make_checkout(tmp_path_factory.mktemp("old") / "CosyVoice", old=True)


@pytest.fixture(scope="session")
def weights(tmp_path_factory):
    """Version → folder of weights."""
    folder = tmp_path_factory.mktemp("weights")
    return {version: make_weights(folder / f"v{version}", version) for version in (1, 2, 3)}


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """Two seconds of somebody."""
    return make_clip(tmp_path_factory.mktemp("clips") / "anna.wav")
