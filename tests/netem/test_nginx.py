"""Debian's nginx with TLS before a real server, as the tools set it up: speech comes through whole."""

import asyncio
import ssl
import subprocess

import numpy as np
import pytest
import trustme

from abr_tts.client import Client

from ..ports import kept_port
from ..server.harness import serving_in_a_thread


@pytest.fixture
def proxied(tmp_path):
    """(URL, TLS context) of a server behind nginx."""
    import nginx

    if not nginx.installed():
        pytest.skip("nginx is not installed")
    authority, context = trustme.CA(), ssl.create_default_context()
    issued = authority.issue_cert("127.0.0.1")
    authority.configure_trust(context)
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    issued.cert_chain_pems[0].write_to_path(files[0])
    issued.private_key_pem.write_to_path(files[1])
    with (
        kept_port() as port,
        serving_in_a_thread() as server,
        nginx.proxy(
            ("127.0.0.1", port), f"127.0.0.1:{server.port}", (str(files[0]), str(files[1])), subprocess.Popen
        ),
    ):
        yield f"wss://127.0.0.1:{port}", context


def test_speech_comes_whole_through_nginx_with_tls(proxied):
    url, context = proxied

    async def listen() -> int:
        async with Client(url, ssl=context) as client:
            chunks = [chunk async for chunk in client.speak("Twenty characters ok", rung="pcm22")]
            return len(np.concatenate(chunks))

    assert asyncio.run(listen()) == 20 * 0.06 * 22_050


def test_a_configuration_that_does_not_listen_is_an_error(tmp_path):
    import nginx

    if not nginx.installed():
        pytest.skip("nginx is not installed")
    missing = str(tmp_path / "no.pem")
    with (
        pytest.raises(OSError),
        nginx.proxy(("127.0.0.1", 1), "127.0.0.1:2", (missing, missing), subprocess.Popen),
    ):
        pass
