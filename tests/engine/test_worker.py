"""The child process by itself: it ends with its parent, buffers nothing, and needs little."""

import os
import re
import select
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest

from abr_tts.engine import ipc, tone
from abr_tts.engine.parent import BOOTSTRAP, PACKAGE
from abr_tts.engine.work import Outlet, Telling
from abr_tts.engine.worker import Worker

from .pools import PATIENCE_S


class Child:
    """A worker on a plain blocking socket."""

    def __init__(self, kind="tone", python=sys.executable, **options):
        self.sock, theirs = socket.socketpair()
        self.sock.settimeout(PATIENCE_S)
        with theirs:
            command = [python, "-c", BOOTSTRAP, str(PACKAGE), "--fd", str(theirs.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        self.frames, self.records = ipc.Frames(), []
        self.send(ipc.Load(kind, options))
        self.ready = self.next()

    def send(self, record):
        self.sock.sendall(ipc.encode(record))

    def next(self):
        while not self.records:
            data = self.sock.recv(65_536)
            assert data, "the worker has closed"
            self.records += self.frames.feed(data)
        return self.records.pop(0)

    def whole(self):
        """PCM bytes up to the end of the request."""
        parts = []
        while isinstance(record := self.next(), ipc.Pcm):
            parts.append(record.data)
        return b"".join(parts), record

    def peak_kb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()
        self.process.kill()
        self.process.wait(PATIENCE_S)


def test_a_worker_says_what_it_has_and_answers_in_order():
    with Child() as child:
        assert child.ready.rate == 24_000 and child.ready.abilities["engine"] == "tone"
        child.send(ipc.Say(1, "abc", "tone", None, 1.0))
        data, end = child.whole()
        assert end == ipc.End(1, tone.samples_of("abc"), 0)
        np.testing.assert_array_equal(np.frombuffer(data, "<i2"), tone.expected("abc"))
        child.send(ipc.Ping(5))
        assert child.next() == ipc.Pong(5)


def test_pings_are_answered_while_the_engine_hangs():
    with Child() as child:
        child.send(ipc.Say(1, "ab", "tone-hang", None, 1.0))
        for number in range(3):
            child.send(ipc.Ping(number))
        pongs = [record for record in iter(child.next, ipc.Pong(2)) if isinstance(record, ipc.Pong)]
        assert pongs == [ipc.Pong(0), ipc.Pong(1)]


@pytest.mark.parametrize("voice", ["tone", "tone-hang"])
def test_a_worker_ends_when_its_socket_closes_even_in_the_midst_of_a_text(voice):
    with Child(rtf=1.0) as child:
        child.send(ipc.Say(1, "a" * 600, voice, None, 1.0))
        assert isinstance(child.next(), ipc.Pcm)
        child.sock.close()
        assert child.process.wait(PATIENCE_S) == 0


def test_a_worker_is_drained_after_the_request_at_hand():
    with Child() as child:
        child.send(ipc.Say(1, "abc", "tone", None, 1.0))
        child.send(ipc.Drain())
        assert child.whole()[1] == ipc.End(1, tone.samples_of("abc"), 0)
        assert child.process.wait(PATIENCE_S) == 0


def test_interrupts_of_the_whole_process_group_are_left_to_the_parent():
    with Child() as child:
        for number in (signal.SIGINT, signal.SIGTERM):
            child.process.send_signal(number)
        child.send(ipc.Say(1, "abc", "tone", None, 1.0))
        assert child.whole()[1].samples == tone.samples_of("abc")


def test_garbage_on_the_socket_ends_the_worker():
    with Child() as child:
        child.sock.sendall(b"\xff" * 64)
        told = [child.next(), child.next()]
        assert isinstance(told[0], ipc.Log) and told[1].fatal and told[1].id == 0
        assert child.process.wait(PATIENCE_S) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_a_parent_that_does_not_read_makes_the_worker_wait_not_buffer():
    with Child("espeak") as child:
        child.send(ipc.Say(1, "warm up.", "en-us", None, 1.0))
        child.whole()
        before = child.peak_kb()
        text = "The quick brown fox jumps over the lazy dog. " * 200  # ten minutes: 26 MB of PCM
        child.send(ipc.Say(2, text, "en-us", None, 1.0))
        child.send(ipc.Ping(1))  # its answer waits behind the PCM, and must not hold that up
        size = 0
        while not isinstance(record := child.next(), ipc.End):
            size += len(record.data) if isinstance(record, ipc.Pcm) else 0
        assert size == 2 * record.samples > 20_000_000
        assert child.peak_kb() - before < 4_000


PARENT = """
import asyncio, os, sys
from abr_tts.engine.pool import EngineSpec, Pool

class Sink:
    def pcm(self, samples): pass
    def end(self): pass
    def fault(self, error): pass

async def main():
    pool = Pool(EngineSpec("tone", {"rtf": 1.0}), 2)
    await pool.start()
    while pool.ready < 2:
        await asyncio.sleep(0.01)
    pool.say("a" * 6000, pool.voices[0], None, 1.0, Sink())
    print(*[worker.pid for worker in pool._workers], flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watches processes that are not its children")
def test_workers_end_when_their_parent_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, cwd=PACKAGE.parent)
    workers = [os.pidfd_open(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    parent.kill()
    parent.wait(PATIENCE_S)
    parent.stdout.close()
    for worker in workers:
        assert select.select([worker], [], [], PATIENCE_S)[0], "it lives on without its parent"
        os.close(worker)


GUARD = """
import sys
class Guard:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        ours = ("abr_tts", "numpy", "msgpack", "espeakng_loader")
        if top not in sys.stdlib_module_names and top not in ours:
            raise ImportError(f"a worker imports {name}")
sys.meta_path.insert(0, Guard())
"""


def test_a_worker_needs_numpy_and_msgpack_and_no_other_package(tmp_path):
    python = tmp_path / "python"
    (tmp_path / "guard").write_text(GUARD)
    python.write_text(f"""#!/bin/bash
code="$(cat {tmp_path}/guard; echo "$2")"
exec {sys.executable} -c "$code" "${{@:3}}"
""")
    python.chmod(0o755)
    for kind in ("tone", "espeak"):
        with Child(kind, python=str(python)) as child:
            child.send(ipc.Say(1, "abc", child.ready.voices[0][0], None, 1.0))
            assert child.whole()[1].samples > 1_000


class Held:
    """A socket whose buffer takes a little at a time."""

    def __init__(self, most):
        self.most, self.shown, self.data = most, [], b""

    def sendmsg(self, parts):
        self.shown.append(parts[1])
        sent = b"".join(parts)[: self.most]
        self.data += sent
        return len(sent)

    def sendall(self, data):
        self.data += data


@pytest.mark.parametrize("most", [1, 16, 17, 5_000, 1 << 20])
@pytest.mark.parametrize("kind", ["int16", "bytes"])
def test_a_worker_sends_samples_from_where_the_engine_has_them(kind, most):
    sock = Held(most)
    out = Outlet(Worker(sock), 7)
    samples = np.arange(40_000, dtype=np.int16)
    chunk = samples if kind == "int16" else samples.tobytes()
    assert out(chunk)
    lies = np.frombuffer(chunk, np.uint8)
    assert all(np.shares_memory(np.frombuffer(piece, np.uint8), lies) for piece in sock.shown)
    records = ipc.Frames().feed(sock.data)
    assert [len(record.data) for record in records] == [32_768, 32_768, 14_464]
    assert b"".join(record.data for record in records) == samples.tobytes()
    assert out.samples == len(samples)


def test_a_view_that_skips_samples_and_an_empty_one_are_sent_as_they_read():
    sock = Held(1 << 20)
    out = Outlet(Worker(sock), 7)
    samples = np.arange(10, dtype=np.int16)
    assert out(samples[::2]) and out(samples[:0])
    (record,) = ipc.Frames().feed(sock.data)
    assert record.data.tobytes() == samples[::2].tobytes()


def test_loading_is_told_by_the_sentence_and_the_hundredth():
    told = []
    progress = Telling(told.append)
    for thousandth in range(1_001):
        progress("reading the model", thousandth / 1_000)
    progress("speaking a few words", 1.0)
    progress("speaking a few words", 7.0)
    assert 95 <= len(told) <= 102
    assert told[0] == ipc.Loading("reading the model", 0.0)
    assert told[-1] == ipc.Loading("speaking a few words", 1.0)


def test_a_worker_whose_engine_converts_no_voices_refuses_and_lives():
    with Child() as child:
        child.send(ipc.Convert(1, bytes(3_200), "tone", 1.0))
        fault = child.next()
        assert (fault.id, fault.fatal) == (1, False) and "converts no voices" in fault.message
        child.send(ipc.Say(2, "abc", "tone", None, 1.0))
        assert child.whole()[1].samples == tone.samples_of("abc")
