"""A running server's answers in JSON over HTTP, or one sentence that says why there is none."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

from .failure import Failure

WITHIN_S = 10.0
"""Seconds that the server may take to answer; it does so from memory."""

_SCHEMES = {"ws": "http", "wss": "https", "http": "http", "https": "https"}


def base_of(url: str) -> str:
    """
    Where a server answers HTTP, without a path: http://host:8765.

    Raises:
        Failure: it is no address of one.
    """
    scheme, colon, rest = url.partition("://")
    if not colon or scheme not in _SCHEMES or not rest.strip("/"):
        raise Failure(f"{url!r} is no address of a server; it looks like http://host:8765", status=2)
    return f"{_SCHEMES[scheme]}://{rest.partition('/')[0]}"


def ask(
    base: str,
    path: str,
    *,
    key: str | None,
    context: ssl.SSLContext | None,
    body: Any = None,
    missing: str = "",
) -> dict[str, Any]:
    """
    What a server says.

    Args:
        base: as of `base_of`.
        path: with its slash.
        key: of the server, None for none; it is handed to nobody else.
        context: whom to believe; None: the system's authorities.
        body: to be posted as JSON; None: it is only asked.
        missing: what it means that there is nothing at this path.

    Raises:
        Failure: it refuses, does not answer, or is no server of ours.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(base + path, data=data, headers=headers)
    try:
        with _opener(context).open(request, timeout=WITHIN_S) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        raise Failure(
            missing if missing and error.code == HTTPStatus.NOT_FOUND else _refusal(error)
        ) from None
    except (OSError, ValueError, HTTPException) as error:  # URLError is an OSError; ValueError: not JSON
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, ssl.SSLCertVerificationError):
            from ..client.dial import TRUSTED

            words = f"the certificate of {base} is not trusted: {reason.verify_message}; {TRUSTED}"
            raise Failure(words) from None
        raise Failure(f"no answer from {base}: {reason}") from None
    if not isinstance(found, dict):
        raise Failure(f"{base} is no server of this kind")
    return found


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key is for the server that was named, and for no other that it may point to."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _opener(context: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    """Straight to the server, past any proxy of the environment."""
    return urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context), _NoRedirect
    )


def _refusal(error: urllib.error.HTTPError) -> str:
    """What the server says of it, in either shape that its answers have."""
    try:
        told = json.load(error)["error"]
        return str(told["message"] if isinstance(told, dict) else told)
    except (ValueError, KeyError, TypeError):
        return f"the server answers {error.code} {error.reason}"
