"""
Our errors by the names that DashScope has for them: `error_code` of `task-failed`.

Alibaba lists hundreds of codes; clients look at the part before the first dot, if at any, and tell people
the message, which is ours.
"""

from __future__ import annotations

from ...errors import (
    AbrError,
    BadMessage,
    Busy,
    EngineError,
    EngineTimeout,
    IdleTimeout,
    Internal,
    MessageTooBig,
    Overloaded,
    RateLimited,
    ShuttingDown,
    StreamError,
    TooManyStreams,
    Unauthorized,
    WrongState,
)

CODES: tuple[tuple[type[AbrError], str], ...] = (
    (EngineTimeout, "InternalError.Timeout"),
    (EngineError, "InternalError.Algo"),
    (Busy, "Throttling"),
    (RateLimited, "Throttling.RateQuota"),
    (TooManyStreams, "Throttling.RateQuota"),
    (Overloaded, "Throttling"),
    (ShuttingDown, "ModelUnavailable"),
    (Unauthorized, "InvalidApiKey"),
    (IdleTimeout, "CLIENT_ERROR"),  # as the hosted service says "request timeout after 23 seconds"
    (BadMessage, "InvalidParameter"),
    (MessageTooBig, "InvalidParameter"),
    (WrongState, "InvalidParameter"),
    (Internal, "InternalError"),
)
"""The first that fits; a class stands before those that it derives from."""


def code_of(error: AbrError) -> str:
    """The `error_code` of an error."""
    for kind, code in CODES:
        if isinstance(error, kind):
            return code
    plain = type(error) is StreamError  # "a fault of the server's own" as a stream is told of it
    return "InternalError" if plain or not isinstance(error, StreamError) else "InvalidParameter"
