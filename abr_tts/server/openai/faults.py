"""
Errors as OpenAI's clients know them: `{"error": {"message", "type", "param", "code"}}`, and the headers by
which their libraries try again.
"""

from __future__ import annotations

import re

import msgspec
from aiohttp import web

from ...errors import AbrError, BadField
from ..doors.faults import retry_after, status_of
from .models import Fault, FaultAnswer, LaterHeaders, as_headers

CODES = {
    "unauthorized": "invalid_api_key", "text_too_long": "string_above_max_length",
    "unknown_voice": "voice_not_found", "rate_limited": "rate_limit_exceeded", "bad_field": "invalid_value",
}  # fmt: skip
"""Code of the house → the one that OpenAI has for it; any other is told as it is."""

PARAMS = {"empty_text": "input", "text_too_long": "input", "unknown_voice": "voice"}
"""Code → field of the request that it is about."""

_AT = re.compile(r" - at `\$\.(\w+)[^`]*`$")
_MISSING = re.compile(r"missing required field `(\w+)`")
"""How msgspec says which field it is about."""

_LONG = re.compile(r"`str` of length <= ")
"""How it says that a text is too long."""


def fault_of(error: AbrError) -> Fault:
    """What a client is told of an error."""
    status = status_of(error)
    kind = "invalid_request_error" if status < 500 else "server_error"
    if status == 429:
        kind = "rate_limit_error"
    param = error.detail.get("field") or PARAMS.get(error.code)
    code = error.detail.get("code", CODES.get(error.code, error.code))
    return Fault(error.message, kind, param, code)


def answer(error: AbrError) -> web.Response:
    """The whole answer, where nothing has been sent."""
    headers = {"Cache-Control": "no-store"}
    again = retry_after(error)
    if again is not None:
        headers |= as_headers(LaterHeaders(int(again)))
    status = status_of(error)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = msgspec.json.encode(FaultAnswer(fault_of(error)))
    made = web.Response(status=status, body=body, content_type="application/json", headers=headers)
    if status == 408:
        made.force_close()  # what comes of the request later is no next one
    return made


def http_answer(error: web.HTTPException) -> web.Response:
    """What HTTP itself refuses: a path that there is not, a method that it does not have."""
    fault = Fault(f"{error.status} {error.reason}", "invalid_request_error", None, None)
    headers = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
    body = msgspec.json.encode(FaultAnswer(fault))
    return web.Response(status=error.status, body=body, content_type="application/json", headers=headers)


def bad_request(error: msgspec.DecodeError) -> BadField:
    """What is wrong with a body, with the field that it is about where there is one."""
    words = str(error)
    found = _AT.search(words) or _MISSING.search(words)
    if not isinstance(error, msgspec.ValidationError):
        words = f"the body is not JSON: {words}"
    code = "string_above_max_length" if _LONG.search(words) else CODES["bad_field"]
    return BadField(_AT.sub("", words), field=found[1] if found else None, code=code)
