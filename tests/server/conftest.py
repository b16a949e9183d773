"""Async tests run on a loop of their own, each within a time limit, so that a hang is a failure."""

import asyncio
import inspect

import pytest

TEST_S = 60.0


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    function = pyfuncitem.obj
    if not inspect.iscoroutinefunction(function):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(function).parameters}

    async def limited():
        async with asyncio.timeout(TEST_S):
            await function(**arguments)

    asyncio.run(limited())
    return True
