"""One utterance's speech is made clause by clause, as there is room for it. In virtual time."""

import pytest

from abr_tts.errors import Busy, EmptyText, EngineLost
from abr_tts.server.speech.making import Making
from abr_tts.wire.messages import StreamStart

from .noise_engine import RATE, noise
from .session_world import World
from .virtual_loop import virtual

ONE, TWO = "This is the first sentence of it. ", "And here is the second one. "


class Core:
    """What a core is told of its speech; nothing of it is heard."""

    played = 0

    def __init__(self):
        self.told = []

    @property
    def produced(self):
        return sum(samples for kind, samples in self.told if kind == "pcm")

    def push_pcm(self, samples, now):
        self.told.append(("pcm", len(samples)))

    def mark(self, begin, end, now):
        self.told.append(("mark", (begin, end)))

    def end_clause(self, now):
        self.told.append(("clause", None))

    def end_pcm(self, now):
        self.told.append(("end", None))


class Scene:
    """A making, its engine, and what came of it."""

    def __init__(self, loop, patient=False):
        self.loop, self.core, self.failed, self.sounded = loop, Core(), [], []
        self.world = loop.do(World, loop)
        self.engine = self.world.engine
        self.making = loop.do(self._making, patient)

    def _making(self, patient):
        return Making(
            StreamStart("00000000-0000-4000-8000-000000000000", "", open=True), self.engine.voices[0],
            self.world.shared.services, self.core, feed=lambda call: call(self.loop.time()),
            sounds=lambda: self.sounded.append(self.loop.time()), failed=self.failed.append,
            warn=lambda names: None, wait=lambda place, seconds: None, patient=patient,
        )  # fmt: skip

    def do(self, name, *args, seconds=0.0):
        self.loop.do(getattr(self.making, name), *args)
        if seconds:
            self.loop.run_for(seconds)

    @property
    def order(self):
        """Kinds of what the core was told; chunks of one clause are one."""
        kinds = [kind for kind, _ in self.core.told]
        return [kind for at, kind in enumerate(kinds) if kind != "pcm" or kinds[at - 1] != "pcm"]


@pytest.fixture
def loop():
    with virtual() as loop:
        yield loop
        assert loop.faults == []


@pytest.fixture
def scene(loop):
    scene = Scene(loop)
    yield scene
    scene.world.logged.stop()


def test_a_clause_is_made_for_each_credit_and_the_end_needs_none(scene):
    scene.do("add_text", ONE + TWO, seconds=5)
    assert scene.engine.said == []
    scene.do("credit", 1, seconds=5)
    assert [text.strip() for text in scene.engine.said] == [ONE.strip()]
    scene.do("credit", 1)
    scene.do("end_text", seconds=5)
    assert [text.strip() for text in scene.engine.said] == [ONE.strip(), TWO.strip()]
    assert scene.order == ["mark", "pcm", "clause", "mark", "pcm", "clause", "end"]
    assert scene.core.produced == sum(len(noise(text)) for text in scene.engine.said)
    assert len(scene.sounded) == 1, "the first sound is told once"


def test_a_text_without_a_word_is_refused(scene):
    scene.do("credit", 1)
    scene.do("end_text")
    assert [type(error) for error in scene.failed] == [EmptyText]
    assert scene.core.told == []


def test_a_failure_of_the_engine_is_told(scene):
    scene.do("credit", 1)
    scene.do("add_text", ONE + TWO, seconds=0.2)
    scene.loop.do(scene.engine.fail)
    assert [type(error) for error in scene.failed] == [EngineLost]


def test_what_is_stopped_says_nothing_more_and_leaves_no_timer(scene):
    scene.do("credit", 3)
    scene.do("add_text", ONE + TWO + "The rest of", seconds=0.2)
    assert scene.engine.busy
    scene.do("stop")
    told = list(scene.core.told)
    scene.do("add_text", "it comes too late. ", seconds=60)
    assert (scene.core.told, scene.failed, scene.loop.timers) == (told, [], [])
    assert len(scene.engine.said) == 1


def test_a_text_that_stands_still_is_spoken_as_far_as_it_goes(scene):
    scene.do("credit", 1)
    scene.do("add_text", "It thinks about ", seconds=5)
    assert scene.engine.said, "although its sentence may go on"


def test_what_is_left_to_another_server_ends_behind_the_clause_that_was_begun(scene):
    scene.do("credit", 1)
    scene.do("add_text", ONE + TWO, seconds=0.2)
    scene.do("leave", seconds=5)
    assert scene.making.left
    assert scene.order[-1] == "end"
    assert scene.making.taken == scene.core.told[0][1][1] <= len(ONE)
    assert len(scene.engine.said) == 1


def test_of_which_nothing_was_begun_is_left_with_a_word_to_ask_another_server(scene):
    scene.do("add_text", ONE)
    scene.do("leave")
    (error,) = scene.failed
    assert (type(error), error.retry_after) == (Busy, 0.0)


def test_patient_speech_is_kept_back_until_all_of_it_is_there(loop):
    scene = Scene(loop, patient=True)
    scene.do("credit", 1)
    scene.do("add_text", "Short. ", seconds=5)
    assert scene.core.told == []
    assert scene.making.held_samples == len(noise(scene.engine.said[0])) < 2 * RATE
    scene.do("end_text", seconds=1)
    assert scene.order == ["mark", "pcm", "end"]
    assert scene.making.held_samples == 0
    scene.world.logged.stop()
