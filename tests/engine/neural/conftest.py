"""Async tests run on a loop of their own, each within a time limit, so that a hang is a failure."""

from ...server.conftest import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
