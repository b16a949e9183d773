"""Whatever ends a replay, nothing of it is left: no process, no namespace, no file."""

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

import abr_tts

TOOLS = Path(__file__).parents[2] / "tools" / "netem"
SCENARIO = TOOLS / "scenarios" / "steady_400.json"
MARK = "ABR_TTS_TEST_MARK"
GONE_S = 20.0


class Replay:
    """`replay.py` as a user starts it; whatever it starts inherits a mark in its environment."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.mark, self.folder = uuid.uuid4().hex, folder
        self.process = subprocess.Popen(
            [sys.executable, str(TOOLS / "replay.py"), str(SCENARIO), *more, "--utterances", "6"],
            env={**os.environ, MARK: self.mark, "TMPDIR": str(folder),
                 "PYTHONPATH": str(Path(abr_tts.__file__).parents[1])},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def descendants(self) -> dict[int, str]:
        """Processes that bear the mark, but the replay itself: id → command line."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            try:
                if f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue  # it is gone, or not ours to look at
        return found

    def until(self, true) -> bool:
        """Whether `true(descendants)` in time."""
        end = time.monotonic() + GONE_S
        pause = threading.Event()
        while time.monotonic() < end:
            if true(self.descendants()):
                return True
            pause.wait(0.1)
        return False

    def namespaces(self) -> set[str]:
        """Network namespaces in which its processes are."""
        found = set()
        for pid in self.descendants():
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/net"))
            except OSError:
                continue
        return found


def named_namespaces() -> list[str]:
    done = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
    return sorted(done.stdout.split())


def is_speaking(processes: dict[int, str]) -> bool:
    """The server runs, and its engine's worker too."""
    return all(any(name in line for line in processes.values()) for name in ("paced.py", "engine.worker"))


@pytest.fixture(params=["tun", "proxy"])
def replay(request, tmp_path):
    """A replay that is under way."""
    if request.param == "tun":
        request.getfixturevalue("tun_link")
    before = named_namespaces() if request.param == "tun" else []
    made = Replay(tmp_path, "--backend", request.param, "--no-check")
    assert made.until(is_speaking), made.descendants()
    yield made
    made.process.kill()
    made.process.wait()
    made.process.stderr.close()
    if request.param == "tun":
        assert named_namespaces() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_no_process_and_no_namespace(replay, number):
    ours = os.readlink("/proc/self/ns/net")
    inside = replay.namespaces() - {ours}
    replay.process.send_signal(number)
    replay.process.wait(GONE_S)
    assert replay.until(lambda left: not left), replay.descendants()
    everybody = set()
    for entry in Path("/proc").iterdir():
        try:
            everybody.add(os.readlink(entry / "ns/net"))
        except OSError:
            continue
    assert not inside & everybody
    if number != signal.SIGKILL:  # nobody can tidy up behind that
        assert list(replay.folder.iterdir()) == []
        assert "Traceback" not in replay.process.stderr.read()


def test_a_server_that_dies_ends_the_replay_with_a_sentence_and_leaves_nothing(tun_link, tmp_path):
    made = Replay(tmp_path, "--backend", "tun", "--no-check", "--policy", "nonsense")
    _, said = made.process.communicate(timeout=60)
    assert made.process.returncode == 1
    assert "nonsense" in said and "Traceback" not in said
    assert made.until(lambda left: not left)
    assert list(tmp_path.iterdir()) == []
