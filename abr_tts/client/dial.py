"""
From a URL to an open WebSocket, or to one sentence that says why not.

Everything that aiohttp, the resolver and TLS may raise while connecting becomes
`ConnectFailed` here; nothing of the protocol beyond its address and its name is known.
"""

from __future__ import annotations

import ssl as tls
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

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

TRUSTED = "to trust who signed it: --ca FILE, in Python ssl="
"""What helps where a certificate is not trusted, as one that signed itself."""

MAY_PASS = (408, 425, 429)
"""Refusals below HTTP 500 that may be other the next time (RFC 9110; RFC 6585, RFC 8470)."""

Ticket: TypeAlias = str | Callable[[], Awaitable[str]]
"""A ticket of `POST /v1/tickets`, good for one connection, or what gets a new one for each."""

SESSION = "session"
"""The parameter of the address by which proxies tell clients apart (protocol/SPEC.md)."""

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
        words = f"{url!r} is no address of a server; it looks like ws://host:8080 or wss://host"
        raise ConnectFailed(words, final=True)
    parsed = parsed.with_scheme(scheme)
    return parsed if parsed.path not in ("", "/") else parsed.with_path(PATH, keep_query=True)


def with_session(url: URL) -> URL:
    """
    The address with a random word of this client's own, unless it names one: a proxy before several
    servers sends a client that connects again to the one that holds its streams (SPEC.md, Connecting).
    """
    return url if SESSION in url.query else url.update_query({SESSION: uuid.uuid4().hex})


def checked_key(key: str | None) -> str | None:
    """
    The key as it may stand in a header; blanks around it, which files end with, go.

    Raises:
        ConnectFailed: it has characters that no key of a server has.
    """
    key = key.strip() if key else None
    if key and not (key.isascii() and key.isprintable()):
        words = "the API key has characters that cannot be sent; is it the right one?"
        raise ConnectFailed(words, final=True)
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


async def with_ticket(url: URL, ticket: Ticket | None) -> URL:
    """The address with a ticket that was not used yet, where there is to be one."""
    if ticket is None:
        return url
    given = ticket if isinstance(ticket, str) else await ticket()
    return url.update_query(ticket=given.strip())


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
        raise ConnectFailed(f"{_shown(url)} is a WebSocket, but not one of an abr-tts server", final=True)
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
        words = f"the certificate of {url.host} is not trusted: {reason}; {TRUSTED}"
        raise ConnectFailed(words, final=True) from None
    except aiohttp.ClientConnectorSSLError:
        raise ConnectFailed(f"{url.host}:{url.port} does not speak TLS; perhaps it serves ws://") from None
    except aiohttp.WSServerHandshakeError as fault:
        final = fault.status < 500 and fault.status not in MAY_PASS
        told = fault.headers.get("Retry-After") if fault.headers else None
        words, wait = _refusal(url, fault.status), _seconds(told)
        raise ConnectFailed(words, final=final, retry_after=wait) from None
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


def _shown(url: URL) -> URL:
    """Without what follows the path: a ticket is nobody else's affair."""
    return url.with_query(None)


def _seconds(header: str | None) -> float | None:
    """Retry-After, where it says seconds and no date."""
    return float(header) if header and header.isascii() and header.isdigit() else None


def _refusal(url: URL, status: int) -> str:
    if status == 401:
        return f"{url.host} refused the API key (HTTP 401); give one that it knows: api_key, --api-key"
    if status == 403:
        return f"{url.host} does not let this client in (HTTP 403)"
    if status in (429, 503):
        return f"{url.host} takes no more connections now (HTTP {status}); try again later"
    return f"{_shown(url)} is not an abr-tts server: it answered with HTTP {status}"
