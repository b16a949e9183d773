"""Laws of the connection over any input; single sequences are in protocol/vectors/connection.json."""

import contextlib
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abr_tts import errors
from abr_tts.wire import messages as m
from abr_tts.wire.codec import decode, encode
from abr_tts.wire.connection import Connection, Failed, Received
from abr_tts.wire.limits import Limits

from .records import CLIENT, SERVER

U = "00000000-0000-4000-8000-000000000001"
PEERS = {"server": st.one_of(CLIENT), "client": st.one_of(SERVER)}


def greeted(role="server", **limits):
    connection = Connection(role, 0.0, Limits(**limits), session="s", server="test")
    if role == "client":
        connection.send(m.Hello())
    connection.receive(encode(m.Hello() if role == "server" else m.Welcome(1, "s")), 0.0)
    connection.events_received(), connection.data_to_send()
    return connection


def failures(connection):
    return [event.error.code for event in connection.events_received() if isinstance(event, Failed)]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["server", "client"]), st.data())
def test_nothing_that_a_peer_does_raises_and_every_answer_can_be_read(role, data):
    connection = greeted(role) if data.draw(st.booleans()) else Connection(role, 0.0)
    now = 0.0
    for _ in range(data.draw(st.integers(1, 12))):
        now += data.draw(st.floats(0, 40))
        sent = data.draw(PEERS[role].map(encode) | st.binary(max_size=40) | st.text(max_size=5))
        connection.receive(sent, now)
        if (timer := connection.get_timer()) is not None and timer <= now:
            connection.handle_timer(now)
        for answer in connection.data_to_send():
            assert dataclasses.is_dataclass(decode(answer, role))
        faults = [event for event in connection.events_received() if isinstance(event, Failed)]
        closed = [event for event in faults if event.scope == "connection"]
        assert not closed or connection.closed
        assert (connection.get_timer() is None) == connection.closed


def test_events_and_data_are_taken_once():
    connection = greeted()
    connection.receive(encode(m.StreamStart(U, "Hi")), 1.0)
    connection.receive(encode(m.Ping(3)), 1.0)
    assert connection.events_received() == [Received(m.StreamStart(U, "Hi"), U)]
    assert connection.data_to_send() == [encode(m.Pong(3))]
    assert connection.events_received() == [] and connection.data_to_send() == []


def test_send_says_how_many_bytes_it_queued():
    connection = greeted()
    connection.receive(encode(m.StreamStart(U, "Hi")), 1.0)
    handle = connection.start_stream(U)
    audio = m.Audio(handle, 0, 0, (b"abc",))
    assert connection.send(audio) == len(encode(audio))
    assert connection.send(m.Audio(9, 0, 0, (b"abc",))) == 0
    assert connection.data_to_send() == [encode(audio)]


def test_what_cannot_be_sent_changes_nothing():
    connection = greeted("client", message_bytes=100)
    with pytest.raises(errors.MessageTooBig):
        connection.send(m.StreamStart(U, "a" * 100))
    with pytest.raises(errors.BadField):
        connection.send(m.StreamStart(U, "Hi", speed=9.0))
    assert connection.send(m.StreamStart(U, "Hi")) > 0


def test_a_message_one_past_the_default_limit_closes_with_1009():
    text = encode(m.Text(1, "a" * 70_000))
    padding = 2**20 - len(text)
    connection = greeted()
    connection.receive(encode(m.Text(1, "a" * (70_000 + padding))), 1.0)
    assert not connection.closed
    connection.receive(encode(m.Text(1, "a" * (70_001 + padding))), 1.0)
    assert connection.close_code == 1009


def test_10_000_messages_a_second_are_cut_short():
    connection = greeted()
    for n in range(10_000):
        connection.receive(encode(m.Ping(n)), 1.0 + n / 10_000)
    assert failures(connection) == ["rate_limited"]
    assert len(connection.data_to_send()) < 1_100


def test_500_messages_a_second_go_on_for_ever():
    connection = greeted()
    for n in range(10_000):
        connection.receive(encode(m.Ping(n)), 1.0 + n / 500)
        connection.data_to_send()
    assert not connection.closed


def test_a_clock_that_jumps_by_an_hour_ends_only_what_was_silent_for_it():
    connection = greeted()
    connection.receive(encode(m.Ping(1)), 3_600.0)
    connection.handle_timer(3_600.5)
    assert not connection.closed


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (errors.Busy("later", retry_after=1e9), {"retry_after": 86_400.0}),
        (errors.Busy("later", retry_after=-1), {"retry_after": 0.0}),
        (errors.UnknownVoice("no \ud83d"), {"message": "no ?"}),
        (errors.UnknownVoice("no", voices=("a", "b")), {"detail": {"voices": ["a", "b"]}}),
        (errors.EngineError("a" * 5_000), {"message": "a" * 1_000}),
        (errors.EngineError("x", cause=OSError("gone")), {"detail": {"cause": "OSError('gone')"}}),
        (errors.EngineError("x", blob=b"\x00"), {"detail": {"blob": "b'\\x00'"}}),
        (errors.EngineError("x", names=["n" * 100] * 1_000), {"detail": {}}),
    ],
    ids=[
        "a wait too long", "a negative wait", "half a pair in its words", "names", "too many words",
        "an exception", "bytes", "too much detail",
    ],
)  # fmt: skip
def test_whatever_an_error_holds_it_is_told_within_the_bounds_of_the_wire(error, told):
    connection = greeted()
    connection.receive(encode(m.StreamStart(U, "Hi")), 1.0)
    connection.fail(error, U)
    (data,) = connection.data_to_send()
    answer = decode(data, "server")
    assert (answer.code, answer.scope, answer.stream_id) == (error.code, "stream", U)
    for name, value in told.items():
        assert getattr(answer, name) == value


def test_a_close_reason_fits_a_close_frame():
    connection = greeted()
    connection.close(1011, "é" * 100)
    assert connection.close_reason == "é" * 61
    connection.close(1000, "again")
    assert connection.close_code == 1011


def test_a_server_names_itself_its_session_and_its_limits():
    connection = Connection("server", 0.0, Limits(streams=3, text_chars=99), session="s7", server="abr-tts/1")
    connection.receive(encode(m.Hello()), 0.0)
    (data,) = connection.data_to_send()
    welcome = decode(data, "server")
    assert (welcome.session, welcome.server) == ("s7", "abr-tts/1")
    assert (welcome.limits["streams"], welcome.limits["text_chars"]) == (3, 99)


class Wires:
    """A server and a client with messages under way between them."""

    def __init__(self):
        self.server, self.client = greeted("server"), greeted("client")
        self.up, self.down = [], []
        self.handles = {}

    def deliver(self, most):
        """Hand over the oldest messages of either direction, and do what they ask."""
        for queue, side in ((self.up, self.server), (self.down, self.client)):
            for _ in range(min(most, len(queue))):
                side.receive(queue.pop(0), 0.0)
        for event in self.server.events_received():
            assert isinstance(event, Received)
            self.serve(event)
        self.up += self.client.data_to_send()
        self.down += self.server.data_to_send()

    def serve(self, event):
        stream_id = event.stream_id
        if isinstance(event.message, m.StreamStart):
            with contextlib.suppress(errors.UnknownStream):  # its cancel came in the same breath
                self.handles[stream_id] = self.server.start_stream(stream_id)
                said = (stream_id, "t", "v", 22_050, 1, "opus", "opus24")
                self.server.send(m.StreamStarted(self.handles[stream_id], *said))
        elif stream_id in self.handles:
            end = m.StreamEnd(self.handles.pop(stream_id), 0, 22_050, 1, "opus", "cancelled")
            self.server.send(end)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["start", "cancel", "sound", "sound", "deliver"]), st.integers(0, 15)))
)
def test_many_streams_at_random_never_hear_one_another(steps):
    """Each packet bears the id of its stream."""
    wires = Wires()
    asked = []
    for number, (deed, which) in enumerate(steps):
        if deed == "start" and len(asked) < 16:
            asked.append(f"00000000-0000-4000-8000-{number:012}")
            wires.client.send(m.StreamStart(asked[-1], "Hi"))
        elif deed == "cancel" and which < len(asked):
            wires.client.send(m.Cancel(asked.pop(which)))
        elif deed == "sound" and wires.handles:
            stream_id, handle = list(wires.handles.items())[which % len(wires.handles)]
            wires.server.send(m.Audio(handle, 0, 0, (stream_id.encode(),)))
        wires.deliver(1 + which if deed == "deliver" else 0)
        for event in wires.client.events_received():
            assert isinstance(event, Received)
            if isinstance(event.message, m.Audio):
                assert event.message.packets == (event.stream_id.encode(),)
