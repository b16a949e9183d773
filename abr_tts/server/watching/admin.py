"""
The operator's door: which policies are in use, the canary's share, one call to roll back.

It is shut unless an admin key is set. No key of a client opens it, and coming from this machine does not
either: behind a proxy everybody does.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from ...errors import ConfigError
from ..access.auth import Auth
from ..access.body import body_of
from ..config import AdminSettings, AuthSettings
from ..rollout.kept import Keeper
from ..rollout.rollout import NoCanary, NothingToRollBack, Rollout

PATH = "/admin/policy"
"""Where it is. A proxy in front may well leave everything below /admin out."""

Handler = Callable[[web.Request], Awaitable[web.Response]]


class Admin:
    """
    Args:
        settings: the admin keys.
        clients: the keys of clients, none of which may be an admin's.
        rollout: what is asked for.
        keeper: writes down what came of it.

    Raises:
        ConfigError: the file of keys cannot be read, or a client has an admin key.
    """

    def __init__(self, settings: AdminSettings, clients: Auth, rollout: Rollout, keeper: Keeper) -> None:
        self.auth = Auth(AuthSettings(keys=settings.keys, keys_file=settings.keys_file), section="admin")
        """Who is an operator."""
        if self.auth.shares_a_key(clients):
            raise ConfigError("admin.keys: one of them is an API key too, so any client could roll back")
        self._rollout, self._keeper = rollout, keeper

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Open the door in a web server."""
        router.add_get(PATH, self.guarded(self._status))
        router.add_post(f"{PATH}/rollback", self.guarded(self._rollback))
        router.add_post(f"{PATH}/canary", self.guarded(self._canary))

    def guarded(self, handler: Handler) -> Handler:
        """The handler, for those alone who bear an admin key."""

        async def guarded(request: web.Request) -> web.Response:
            if not self.auth.needs_key:
                return _refuse(403, "this server has no admin key; see admin.keys_file")
            if not self.auth.allows_key(request.headers):
                answer = _refuse(401, "an admin key is needed: Authorization: Bearer <key>")
                answer.headers["WWW-Authenticate"] = "Bearer"
                return answer
            return await handler(request)

        return guarded

    async def _status(self, request: web.Request) -> web.Response:
        return web.json_response(self._rollout.status())

    async def _rollback(self, request: web.Request) -> web.Response:
        """`{"setting": "canary.policy"}`, or nothing for whatever was rolled out last."""
        setting = (await _body(request)).get("setting")
        if setting is not None and not isinstance(setting, str):
            return _refuse(400, "setting must be the name of a setting, such as stream.policy")
        try:
            change = self._rollout.rollback(setting)
        except NothingToRollBack as error:
            return _refuse(409, str(error))
        await self._keeper.save()
        told = {"setting": change.setting, "outcome": change.outcome, "words": change.words}
        return web.json_response(told | {"status": self._rollout.status()})

    async def _canary(self, request: web.Request) -> web.Response:
        """`{"share": 0.25}`."""
        share = (await _body(request)).get("share")
        if isinstance(share, bool) or not isinstance(share, (int, float)):
            return _refuse(400, "share must be a number from 0 to 1")
        try:
            self._rollout.set_share(share)
        except ValueError as error:
            return _refuse(400, str(error))
        except NoCanary as error:
            return _refuse(409, str(error))
        return web.json_response(self._rollout.status())


async def _body(request: web.Request) -> dict[str, Any]:
    """The JSON object of a request; an empty one for no body."""
    text = await body_of(request)
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        words = json.dumps({"error": "the body must be a JSON object"})
        raise web.HTTPBadRequest(text=words, content_type="application/json")
    return value


def _refuse(status: int, words: str) -> web.Response:
    return web.json_response({"error": words}, status=status)
