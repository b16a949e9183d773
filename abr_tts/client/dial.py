"""
From a URL to an open WebSocket, or to one sentence that says why not.

Everything that aiohttp, the resolver and TLS may raise while connecting becomes
`ConnectFailed` here; nothing of the protocol beyond its address and its name is known.
"""

from __future__ import annotations

import ssl as tls
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from yarl import URL

from ..errors import ConnectFailed

PATH = "/v1/stream"
"""Where the protocol lives on a server (protocol/SPEC.md)."""

SUBPROTOCOL = "abr-tts.v1"
"""The WebSocket subprotocol that both sides name (protocol/SPEC.md)."""

MAX_MESSAGE_BYTES = 1 << 20
"""Longest message accepted: the protocol's own limit, 1 MiB. Audio messages stay below 10 kB."""

CLOSE_S = 2.0
"""Seconds that a server has to answer our close before the socket is dropped."""

_SCHEMES = {"ws": "ws", "wss": "wss", "http": "ws", "https": "wss"}


def stream_url(url: str) -> URL:
    """
    The address of the stream endpoint; a URL without a path gets the protocol's.

    Raises:
        ConnectFailed: not a ws:// or wss:// URL (http:// and https:// stand for them).
    """
    try:
        parsed = URL(url)
        scheme, host = _SCHEMES.get(parsed.scheme), parsed.host
    except ValueError:
        scheme = host = None
    if not scheme or not host:
        raise ConnectFailed(f"{url!r} is no address of a server; it looks like ws://host:8080 or wss://host")
    return (
        parsed.with_scheme(scheme)
        if parsed.path not in ("", "/")
        else parsed.with_scheme(scheme).with_path(PATH)
    )


def checked_key(key: str | None) -> str | None:
    """
    The key as it may stand in a header; blanks around it, which files end with, go.

    Raises:
        ConnectFailed: it has characters that no key of a server has.
    """
    key = key.strip() if key else None
    if key and not (key.isascii() and key.isprintable()):
        raise ConnectFailed("the API key has characters that cannot be sent; is it the right one?")
    return key


def tls_setting(context: tls.SSLContext | None, insecure: bool) -> tls.SSLContext | bool:
    """What aiohttp wants as `ssl`; `insecure` checks neither certificate nor name: for tests only."""
    if context is not None:
        return context
    if not insecure:
        return True
    context = tls.create_default_context()
    context.check_hostname = False
    context.verify_mode = tls.CERT_NONE
    return context


async def dial(
    session: aiohttp.ClientSession, url: URL, *, api_key: str | None, ssl: tls.SSLContext | bool
) -> aiohttp.ClientWebSocketResponse:
    """
    Open the WebSocket.

    Raises:
        ConnectFailed: with the reason in one sentence.
    """
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    with plain_words(url):
        socket = await session.ws_connect(
            url,
            protocols=(SUBPROTOCOL,),
            headers=headers,
            ssl=ssl,
            compress=0,
            max_msg_size=MAX_MESSAGE_BYTES,
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_S),
        )
    if socket.protocol != SUBPROTOCOL:
        await socket.close()
        raise ConnectFailed(f"{url} is a WebSocket, but not one of an abr-tts server")
    return socket


@contextmanager
def plain_words(url: URL) -> Iterator[None]:
    """Turn what connecting may raise into `ConnectFailed` with one sentence."""
    try:
        yield
    except (aiohttp.ClientConnectorDNSError, UnicodeError):
        raise ConnectFailed(f"no server is known by the name {url.host!r}") from None
    except aiohttp.ClientConnectorCertificateError as fault:
        reason = getattr(fault.certificate_error, "verify_message", "") or fault.certificate_error
        raise ConnectFailed(f"the certificate of {url.host} is not trusted: {reason}") from None
    except aiohttp.ClientConnectorSSLError:
        raise ConnectFailed(f"{url.host}:{url.port} does not speak TLS; perhaps it serves ws://") from None
    except aiohttp.WSServerHandshakeError as fault:
        raise ConnectFailed(_refusal(url, fault.status)) from None
    except aiohttp.ClientConnectorError as fault:
        raise ConnectFailed(_unreachable(url, fault.os_error)) from None
    except TimeoutError:
        raise ConnectFailed(f"{url.host}:{url.port} did not answer in time") from None
    except (aiohttp.ClientError, OSError) as fault:
        hint = " (perhaps it serves wss://)" if url.scheme == "ws" else ""
        raise ConnectFailed(f"{url.host}:{url.port} closed the connection without an answer{hint}") from fault


def _unreachable(url: URL, fault: OSError) -> str:
    if isinstance(fault, ConnectionRefusedError):
        return f"no server listens on {url.host}:{url.port}"
    return f"{url.host}:{url.port} cannot be reached: {fault.strerror or fault}"


def _refusal(url: URL, status: int) -> str:
    if status == 401:
        return f"{url.host} refused the API key (HTTP 401); give one that it knows"
    if status == 403:
        return f"{url.host} does not let this client in (HTTP 403)"
    if status in (429, 503):
        return f"{url.host} takes no more connections now (HTTP {status}); try again later"
    return f"{url} is not an abr-tts server: it answered with HTTP {status}"
