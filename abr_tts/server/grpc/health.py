"""
gRPC's health service, which says what /readyz says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2

from .schema import SERVICE

EVERY_S = 0.5
"""Seconds between two looks for those who watch; who asks once is told what holds at that moment."""

OVERALL = ""
"""The service's name that stands for the whole server (grpc.health.v1)."""


class Health:
    """
    Args:
        ready: whether a new stream would be taken.
    """

    def __init__(self, ready: Callable[[], bool]) -> None:
        self._ready = ready
        self._known: Any = health.aio.HealthServicer()

    def add_to(self, server: Any) -> None:
        """Answer there, without a key."""
        forms = {
            "request_deserializer": health_pb2.HealthCheckRequest.FromString,
            "response_serializer": health_pb2.HealthCheckResponse.SerializeToString,
        }
        check = grpc.unary_unary_rpc_method_handler(self._check, **forms)
        watch = grpc.unary_stream_rpc_method_handler(self._watch, **forms)
        methods = {"Check": check, "Watch": watch}
        handlers = grpc.method_handlers_generic_handler(health.SERVICE_NAME, methods)
        server.add_generic_rpc_handlers((handlers,))

    async def look(self) -> None:
        """Tell those who watch, if something has changed."""
        states = health_pb2.HealthCheckResponse
        state = states.SERVING if self._ready() else states.NOT_SERVING
        for name in (OVERALL, SERVICE):
            await self._known.set(name, state)

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY_S)

    async def _check(self, request: Any, context: Any) -> Any:
        """Of now."""
        await self.look()
        return await self._known.Check(request, context)

    async def _watch(self, request: Any, context: Any) -> None:
        """From now on."""
        await self._known.Watch(request, context)
