"""
The errors of the protocol as the status with which a call ends.

Within a call errors are told as on the WebSocket (`Error`); the status says the last of them again to
programs that know gRPC alone. Its details are Google's own: `ErrorInfo` with the wire's code, `RetryInfo`
where it is known when to come back.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode

from ...errors import AbrError

DOMAIN = "abr-tts"
"""Of `ErrorInfo`: who makes the codes, which are those of `protocol/errors.json`."""

DETAILS = "grpc-status-details-bin"
"""Metadata in which gRPC carries a google.rpc.Status; `grpc_status.rpc_status` reads it."""

OF_CODE = {
    "wrong_state": StatusCode.FAILED_PRECONDITION,
    "hello_timeout": StatusCode.DEADLINE_EXCEEDED,
    "idle_timeout": StatusCode.UNAVAILABLE,
    "unsupported_version": StatusCode.UNIMPLEMENTED,
    "unauthorized": StatusCode.UNAUTHENTICATED,
    "rate_limited": StatusCode.RESOURCE_EXHAUSTED,
}
"""Wire code → status, where the close code does not say enough."""

OF_CLOSE = {
    1000: StatusCode.OK,
    1008: StatusCode.INVALID_ARGUMENT,
    1009: StatusCode.RESOURCE_EXHAUSTED,
    1012: StatusCode.UNAVAILABLE,
    1013: StatusCode.UNAVAILABLE,
}
"""Close code of the WebSocket → status; any other is a fault of the server's own."""


def status_code(error: AbrError | None, close: int) -> StatusCode:
    """The status for an error, None for none, and the close code that goes with it."""
    if error and error.detail.get("name") == "connections_per_key":
        return StatusCode.RESOURCE_EXHAUSTED
    return OF_CODE.get(error.code if error else "") or OF_CLOSE.get(close, StatusCode.INTERNAL)


def trailing(status: StatusCode, words: str, code: str, retry_after_s: float | None) -> tuple[Any, ...]:
    """Metadata that tell the rest."""
    details = [error_details_pb2.ErrorInfo(reason=code, domain=DOMAIN)] if code else []
    if retry_after_s is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromNanoseconds(round(retry_after_s * 1e9))
        details.append(retry)
    packed = []
    for one in details:
        packed.append(any_pb2.Any())
        packed[-1].Pack(one)
    told = status_pb2.Status(code=status.value[0], message=words, details=packed)
    return ((DETAILS, told.SerializeToString()),)


async def end(context: Any, words: str, close: int, error: AbrError | None = None) -> None:
    """
    End a call with the status for this close code; of 1000 nothing is to be done.

    Args:
        context: of the call.
        words: the reason of the close, for a person.
        error: what it was closed for, if that was one.

    Raises:
        grpc.aio.AbortError: always when it ends in a fault; the handler must let it through.
    """
    code, after = (error.code, error.retry_after) if error else ("", None)
    status = status_code(error, close)
    if status is not StatusCode.OK:
        await context.abort(status, words, trailing(status, words, code, after))
