"""
A browser at the other end of the DevTools protocol: as much of it as these tests need, over aiohttp.

Input events that go through it are the user's to the page, so a click is a real gesture; nothing of the
page is touched, and no driver of a certain version is wanted beside the browser.
"""

import asyncio
import contextlib
import itertools
import json
import re
import shutil
import tempfile

import aiohttp

START_S = 30.0
"""Seconds that a browser has to start on a busy machine."""

CALL_S = 30.0
"""Seconds for one command, promises awaited."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--js-flags=--expose-gc",
)


class PageError(Exception):
    """The page threw, or the browser refused."""


class Browser:
    """Enter it to start Chromium with `flags` beside the usual ones; leave it to end it."""

    def __init__(self, path: str, *flags: str) -> None:
        self._path, self._flags = path, flags
        self._stack = contextlib.AsyncExitStack()
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future] = {}
        self._listeners: list = []

    async def __aenter__(self) -> "Browser":
        profile = tempfile.mkdtemp(prefix="abr-tts-browser-")
        self._stack.callback(shutil.rmtree, profile, ignore_errors=True)
        self._process = await asyncio.create_subprocess_exec(
            self._path,
            *FLAGS,
            *self._flags,
            f"--user-data-dir={profile}",
            "about:blank",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        self._stack.push_async_callback(self._end)
        async with asyncio.timeout(START_S):
            address = await self._address()
        self._drain = asyncio.ensure_future(self._process.stderr.read())
        session = await self._stack.enter_async_context(aiohttp.ClientSession())
        self._socket = await session.ws_connect(address, max_msg_size=0)
        self._reader = asyncio.ensure_future(self._read())
        return self

    async def __aexit__(self, *fault: object) -> None:
        await self._stack.aclose()

    async def _address(self) -> str:
        async for line in self._process.stderr:
            if found := re.search(rb"DevTools listening on (ws://\S+)", line):
                return found[1].decode()
        raise PageError("the browser ended before it listened")

    async def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _read(self) -> None:
        async for message in self._socket:
            data = json.loads(message.data)
            if (answer := self._answers.pop(data.get("id"), None)) and not answer.done():
                answer.set_result(data)
            for listen in self._listeners:
                listen(data)

    async def call(self, method: str, session: str | None = None, **params: object) -> dict:
        """One command; its result."""
        number = next(self._ids)
        self._answers[number] = answer = asyncio.get_running_loop().create_future()
        request = {"id": number, "method": method, "params": params}
        await self._socket.send_json(request | ({"sessionId": session} if session else {}))
        async with asyncio.timeout(CALL_S):
            data = await answer
        if "error" in data:
            raise PageError(f"{method}: {data['error']}")
        return data["result"]

    async def page(self, url: str) -> "Page":
        """A new tab at `url`, loaded."""
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = Page(self, target, session)
        self._listeners.append(page.listen)
        for domain in ("Page", "Runtime", "Log"):
            await page.call(f"{domain}.enable")
        await page.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        await page.open(url)
        return page


class Page:
    """One tab."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser, self._target, self._session = browser, target, session
        self._loaded = asyncio.Event()
        self._workers: list[str] = []
        self.complaints: list[str] = []
        """Errors and warnings of the console, and violations of the page's policy."""

    def listen(self, data: dict) -> None:
        """An event of the browser."""
        if data.get("sessionId") != self._session:
            return
        method, params = data.get("method"), data.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Target.attachedToTarget" and params["targetInfo"]["type"] == "worker":
            self._workers.append(params["sessionId"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))

    async def call(self, method: str, **params: object) -> dict:
        """A command to this tab."""
        return await self._browser.call(method, self._session, **params)

    async def open(self, url: str) -> None:
        """Go to `url`; returns when it has loaded."""
        self._loaded.clear()
        await self.call("Page.navigate", url=url)
        async with asyncio.timeout(CALL_S):
            await self._loaded.wait()

    async def run(self, script: str, gesture: bool = False) -> object:
        """The JSON value of an expression; a promise is awaited."""
        result = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=gesture
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    async def click(self, selector: str) -> None:
        """The user clicks on the middle of an element."""
        box = await self.run(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.call(
                "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1
            )

    async def footprint(self, name: str) -> dict[str, int]:
        """After a collection: bytes of the page's heap and of its Worker's, and objects of class `name`."""
        used = {}
        for place, session in (("page", self._session), ("worker", self._workers[-1])):
            await self._browser.call("HeapProfiler.collectGarbage", session)
            used[place] = int((await self._browser.call("Runtime.getHeapUsage", session))["usedSize"])
        kind = await self.call("Runtime.evaluate", expression=f"{name}.prototype", objectGroup="footprint")
        found = await self.call("Runtime.queryObjects", prototypeObjectId=kind["result"]["objectId"])
        array = found["objects"]["objectId"]
        count = await self.call(
            "Runtime.callFunctionOn",
            objectId=array,
            functionDeclaration="function () { return this.length }",
            returnByValue=True,
        )
        await self.call("Runtime.releaseObject", objectId=array)
        return used | {"nodes": count["result"]["value"]}

    async def show(self) -> None:
        """Bring this tab to the front; others of the window are hidden then."""
        await self._browser.call("Target.activateTarget", targetId=self._target)

    async def close(self) -> None:
        """The tab is closed."""
        await self._browser.call("Target.closeTarget", targetId=self._target)
