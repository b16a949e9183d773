"""Fixtures of these tests."""

import socket

import pytest


@pytest.fixture
def unused_port():
    """A port on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]
