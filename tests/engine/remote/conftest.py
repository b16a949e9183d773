"""Fixtures of these tests."""

import pytest

from ...ports import kept_port


@pytest.fixture
def unused_port():
    """A port on which nobody listens, but for who is told its number."""
    with kept_port() as port:
        yield port
