import asyncio
import os
import sys
import threading

import pytest

from abr_tts.server.speech.workshop import NICENESS, Workshop


def opened(threads: int) -> Workshop:
    workshop = Workshop(threads)
    workshop.start()
    return workshop


async def test_a_job_runs_on_another_thread_and_its_result_comes_back_on_the_loops():
    workshop, result = opened(1), asyncio.get_running_loop().create_future()
    home = threading.get_ident()
    workshop.submit(
        threading.get_ident,
        lambda there: result.set_result((there, threading.get_ident())),
        result.set_exception,
    )
    there, back = await result
    assert there != home
    assert back == home
    workshop.stop()


async def test_what_a_job_raises_comes_back_as_a_failure():
    workshop, failure = opened(1), asyncio.get_running_loop().create_future()
    workshop.submit(lambda: 1 // 0, lambda result: None, failure.set_result)
    assert isinstance(await failure, ZeroDivisionError)
    workshop.stop()


async def test_no_more_jobs_run_at_once_than_there_are_threads():
    workshop, gate, lock = opened(2), threading.Event(), threading.Lock()
    running, most, done = 0, 0, asyncio.Queue()

    def job():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(5)
        with lock:
            running -= 1

    for _ in range(6):
        workshop.submit(job, done.put_nowait, done.put_nowait)
    gate.set()
    assert [await done.get() for _ in range(6)] == [None] * 6
    assert most <= 2
    workshop.stop()


async def test_what_may_wait_least_goes_first_and_equals_in_order():
    workshop, busy, gate, order = opened(1), threading.Event(), threading.Event(), asyncio.Queue()

    def first():
        busy.set()
        gate.wait(5)

    workshop.submit(first, order.put_nowait, order.put_nowait)
    await asyncio.to_thread(busy.wait, 5)
    for name, slack in (("late", 9.0), ("soon", 1.0), ("now", 0.0), ("soon too", 1.0)):
        workshop.submit(lambda name=name: name, order.put_nowait, order.put_nowait, slack)
    gate.set()
    assert [await order.get() for _ in range(5)] == [None, "now", "soon", "soon too", "late"]
    workshop.stop()


async def test_nothing_comes_back_after_the_workshop_has_stopped():
    workshop, started, gate, came = opened(1), threading.Event(), threading.Event(), []

    def first():
        started.set()
        gate.wait(5)
        return "ran"

    workshop.submit(first, came.append, came.append)
    workshop.submit(lambda: "waited", came.append, came.append)
    await asyncio.to_thread(started.wait, 5)
    gate.set()
    workshop.stop()
    await asyncio.to_thread(lambda: None)  # what was on its way to the loop has arrived by now
    assert came == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no niceness of its own")
async def test_threads_give_way_to_the_loop_and_the_loop_keeps_its_place():
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    workshop, result, mine = opened(1), asyncio.get_running_loop().create_future(), niceness()
    workshop.submit(niceness, result.set_result, result.set_exception)
    assert await result == NICENESS
    assert niceness() == mine
    workshop.stop()


async def test_a_sandbox_that_forbids_it_costs_nothing(monkeypatch):
    def forbidden(*_):
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", forbidden, raising=False)
    workshop, result = opened(1), asyncio.get_running_loop().create_future()
    workshop.submit(lambda: 7, result.set_result, result.set_exception)
    assert await result == 7
    workshop.stop()
