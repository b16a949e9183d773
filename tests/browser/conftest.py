"""
A Chromium without a screen, and the server whose pages it sees. Where there is no Chromium these tests are
skipped, but not in CI: there it is a fault.
"""

import os
import shutil

import pytest

from .cdp import Browser
from .site import Loop, serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
"""Debian's name, Ubuntu's, Google's."""


@pytest.fixture(scope="session")
def loop():
    loop = Loop()
    yield loop
    loop.stop()


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        assert "CI" not in os.environ, "no chromium here; these tests may not be skipped in CI"
        pytest.skip("no chromium here")
    return CHROMIUM


@pytest.fixture(scope="session")
def browser(loop, chromium):
    """One that lets sound out without a gesture."""
    with loop.holding(Browser(chromium, "--autoplay-policy=no-user-gesture-required")) as browser:
        yield browser


@pytest.fixture(scope="session")
def server(loop):
    with loop.holding(serving()) as server:
        yield server


@pytest.fixture
def page(loop, browser, server):
    """A page of the server, with a tap on the loudspeaker."""
    page = loop.run(browser.page(f"{server.http_url}/page/tap.html"))
    yield page
    loop.run(page.close())
    assert not page.complaints
