"""
`POST /v1/tickets` for the OpenAPI document, made of records that say what `ticketing` takes and answers.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from .ticketing import MOST, PATH

Count = Annotated[int, Meta(ge=1, le=MOST)]


class TicketWishes(Struct, forbid_unknown_fields=True):
    """What a ticket is bound to; each may be left out, as the whole body may."""

    origin: (
        Annotated[str, Meta(pattern="^https?://", description="Of the page that alone may use it.")] | None
    ) = None
    streams: Annotated[Count, Meta(description="That its connection may ask for.")] | UnsetType = UNSET
    chars: Annotated[Count, Meta(description="Of text that its connection may ask for.")] | UnsetType = UNSET


class Ticket(Struct):
    """What opens one connection, once."""

    ticket: Annotated[str, Meta(description="For `/v1/stream?ticket=`.")]
    expires_s: Annotated[float, Meta(description="Seconds until it opens nothing any more.")]


class Refused(Struct):
    """Why there is none."""

    error: Annotated[str, Meta(description="In a sentence.")]


RECORDS = (TicketWishes, Ticket, Refused)
"""What the document describes in its schemas."""

REFUSALS = {
    "400": "A wish that cannot be.",
    "401": "No key, or one that is not known.",
    "403": "A web page of an origin that may not connect.",
    "404": "This server gives no tickets.",
    "408": "The request was not here in time.",
    "429": "Too many are out; `Retry-After` says when to try again.",
    "503": "The server is stopping; `Retry-After` says when to try again.",
}
"""What may be answered instead, and why."""


def paths(ref: str) -> dict[str, Any]:
    """
    The one path.

    Args:
        ref: where the schema of a `{name}` is.
    """

    def content(name: str) -> dict[str, Any]:
        return {"application/json": {"schema": {"$ref": ref.format(name=name)}}}

    refused = {
        status: {"description": words, "content": content("Refused")} for status, words in REFUSALS.items()
    }
    given = {"200": {"description": "It.", "content": content("Ticket")}}
    operation = {
        "operationId": "createTicket",
        "summary": "Get a ticket for a page, which opens one connection to the native protocol.",
        "requestBody": {"required": False, "content": content("TicketWishes")},
        "responses": given | refused,
    }
    return {PATH: {"post": operation}}
