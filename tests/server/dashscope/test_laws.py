"""What holds of the DashScope protocol whatever a client sends, and whenever."""

from hypothesis import given, settings
from hypothesis import strategies as st

from abr_tts.errors import EngineLost
from abr_tts.server.dashscope.events import Begin, EndText, Flush, Say, Stop
from abr_tts.server.dashscope.machine import CLOSED, IDLE, RUNNING

from .client import OTHER, TASK, Driven, finish, go_on, run

IDS = st.sampled_from([TASK, OTHER])
SAID = st.one_of(
    IDS.map(run),
    IDS.map(lambda one: run(one, text="Hello.")),
    IDS.map(lambda one: run(one, volume=200)),
    st.tuples(st.text(max_size=8), IDS).map(lambda pair: go_on(*pair)),
    IDS.map(lambda one: go_on(None, one, flush=True)),
    IDS.map(finish),
    IDS.map(lambda one: finish(one, directive="cancel")),
    st.sampled_from(["sound", "sentence", "spoken", "fault", "drain", "stop"]),
    st.floats(0, 30),
    st.text(max_size=12),
    st.binary(max_size=4),
)


def take(driven: Driven, said: str | bytes | float) -> None:
    """One thing that happens; what only happens to a task that runs, only then."""
    machine = driven.machine
    if isinstance(said, float):
        driven.now += said
        due = machine.get_timer()
        if due is not None and due <= driven.now:
            machine.handle_timer(driven.now)
    elif said == "drain":
        machine.go_away()
    elif said == "stop":
        machine.shut()
    elif said not in ("sound", "sentence", "spoken", "fault"):
        machine.receive(said, driven.now)
    elif machine.busy and said == "sound":
        machine.audio(b"sound")
    elif machine.busy and said == "sentence":
        machine.sentence(0, 1)
    elif machine.busy and said == "fault":
        machine.fail(EngineLost("the engine's process died"))
    elif machine.busy and said == "spoken" and machine.state != RUNNING:
        machine.finish(driven.now)
    driven.take()


@given(st.lists(SAID, max_size=40))
@settings(max_examples=300, deadline=None)
def test_every_task_begins_before_it_goes_on_and_ends_once(story):
    driven, going, answered = Driven(), False, 0
    for said in story:
        closed = driven.machine.state == CLOSED
        told = len(driven.told)
        take(driven, said)
        if closed:
            assert (driven.events[answered:], driven.told[told:]) == ([], []), "nothing after the end"
        for event in driven.events[answered:]:
            if isinstance(event, Begin):
                assert not going, "one task at a time"
                going = True
                driven.machine.started()
                driven.take()
            elif isinstance(event, Say | Flush | EndText):
                assert going
            elif isinstance(event, Stop):
                assert going, "only what runs can be stopped"
                going = False
        answered = len(driven.events)
        if "task-finished" in driven.names[told:]:
            going = False
        assert going == driven.machine.busy
        assert driven.machine.state in (IDLE, CLOSED) or going
    assert all((audio is not None) == (told["payload"].get("output", {}).get("type") == "sentence-synthesis")
               for told, audio in zip(driven.told, driven.audio, strict=True))  # fmt: skip
    assert "task-failed" not in driven.names[:-1], "a failure is the last word"
