"""
The document: which WebSockets there are, who says what on them, and what each message looks like.

The native door's messages come from `wire.json`, which `tools/asyncapi_wire.py` makes of the contract,
protocol/schema.json; the DashScope door's are the records that check what comes in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from aiohttp import web

from ... import __version__
from ..config import Settings
from ..dashscope import messages as m
from ..dashscope.door import PATH as DASHSCOPE_PATH
from ..front import PATH as NATIVE_PATH
from ..front import SUBPROTOCOL
from .schemas import PLACE, components

PATH = "/asyncapi.json"
"""Where it is."""

WIRE, DASHSCOPE = "wire", "dashscope"
"""Families of names: the two contracts."""

SAID_AT_DASHSCOPE = {
    "run-task": m.RunTask,
    "continue-task": m.ContinueTask,
    "finish-task": m.FinishTask,
}
TOLD_AT_DASHSCOPE = {
    "task-started": m.TaskStarted,
    "result-generated": m.ResultGenerated,
    "task-finished": m.TaskFinished,
    "task-failed": m.TaskFailed,
}
"""What clients say and are told: the message's own name → its record."""

AUDIO = {
    "title": "audio",
    "summary": "Part of the sound, in the format that run-task asked for; behind each sentence-synthesis.",
    "contentType": "application/octet-stream",
    "payload": {"type": "string", "format": "binary"},
}
"""The one message that is no JSON."""


class AsyncApi:
    """
    Args:
        settings: which doors there are.
    """

    def __init__(self, settings: Settings) -> None:
        self._dashscope = settings.dashscope.enabled

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Serve it; what it says is no secret."""
        router.add_get(PATH, self._serve)

    async def _serve(self, request: web.Request) -> web.Response:
        # Whoever lies about TLS before us reads a lie of his own.
        secure = request.secure or request.headers.get("X-Forwarded-Proto") == "https"
        return web.json_response(document(request.host, secure, self._dashscope))


def document(host: str, secure: bool, dashscope: bool) -> dict[str, Any]:
    """
    Args:
        host: and port, as the client knows them.
        secure: whether it came by TLS.
        dashscope: whether there is that door.
    """
    doors = [_native(), *([_dashscope()] if dashscope else [])]
    made: dict[str, Any] = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "abr-tts",
            "version": __version__,
            "description": "Streaming text-to-speech whose audio survives bad networks: its WebSockets.",
            "license": {"name": "Apache-2.0"},
        },
        "servers": {
            "here": {
                "host": host,
                "protocol": "wss" if secure else "ws",
                "security": [{"$ref": "#/components/securitySchemes/key"}],
            }
        },
        "channels": {},
        "operations": {},
        "components": {
            "messages": {},
            "schemas": {},
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key or a JSON Web Token, where the server asks for one.",
                }
            },
        },
    }
    for channels, operations, messages, schemas in doors:
        made["channels"] |= channels
        made["operations"] |= operations
        made["components"]["messages"] |= messages
        made["components"]["schemas"] |= schemas
    return made


Door = tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]


@cache
def _native() -> Door:
    wire = json.loads((files(__package__) / "wire.json").read_text("utf-8"))
    messages = {
        f"{WIRE}.{name}": {
            "title": name,
            "summary": wire["schemas"][f"{WIRE}.{name}"].get("description", name),
            "contentType": "application/msgpack",
            "payload": {"$ref": f"{PLACE}{WIRE}.{name}"},
        }
        for name in {*wire["client"], *wire["server"]}
    }
    words = (
        f"Our own protocol, {SUBPROTOCOL}: binary messages, one msgpack value each. A schema describes the "
        "value that was decoded, with binary as hexadecimal digits. See protocol/SPEC.md."
    )
    channels, operations = _channel("stream", NATIVE_PATH, WIRE, words, wire["client"], wire["server"])
    return channels, operations, messages, wire["schemas"]


@cache
def _dashscope() -> Door:
    records = SAID_AT_DASHSCOPE | TOLD_AT_DASHSCOPE
    _, definitions = msgspec.json.schema_components(records.values())
    messages: dict[str, Any] = {
        f"{DASHSCOPE}.{name}": {
            "title": name,
            "summary": (record.__doc__ or "").strip(),
            "contentType": "application/json",
            "payload": {"$ref": f"{PLACE}{DASHSCOPE}.{record.__name__}"},
        }
        for name, record in records.items()
    }
    messages[f"{DASHSCOPE}.audio"] = AUDIO
    words = "Alibaba's CosyVoice WebSocket, as the DashScope SDKs speak it. See docs/dashscope.md."
    channels, operations = _channel(
        "inference", DASHSCOPE_PATH, DASHSCOPE, words, SAID_AT_DASHSCOPE, [*TOLD_AT_DASHSCOPE, "audio"]
    )
    return channels, operations, messages, components(definitions, DASHSCOPE)


def _channel(
    name: str, address: str, family: str, words: str, said: Iterable[str], told: Iterable[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A WebSocket, and its two operations as the server sees them."""
    said, told = list(said), list(told)
    channel = {
        "address": address,
        "description": words,
        "messages": {
            one: {"$ref": f"#/components/messages/{family}.{one}"} for one in dict.fromkeys([*said, *told])
        },
        "bindings": {"ws": {"method": "GET", "bindingVersion": "0.1.0"}},
    }
    operations = {
        f"{name}.{action}": {
            "action": action,
            "channel": {"$ref": f"#/channels/{name}"},
            "messages": [{"$ref": f"#/channels/{name}/messages/{one}"} for one in ones],
        }
        for action, ones in (("receive", said), ("send", told))
    }
    return {name: channel}, operations
