"""What a session leaves behind when it ends while other things happen. In virtual time."""

import pytest

from abr_tts.wire import messages as m
from abr_tts.wire.codec import encode

from .session_world import World
from .virtual_loop import virtual


@pytest.mark.parametrize("what", ["drain", "stop"])
def test_a_server_that_stops_sets_no_timer_for_a_session_that_is_ending(what):
    """Its client has closed and not read all; the session waits for that, and is told of the stop."""
    with virtual() as loop:
        world = loop.do(World, loop)
        line = loop.do(world.connect)
        loop.do(line.socket.came, encode(m.Hello(level=2, codecs=("pcm16",))))
        text = "A sentence that nobody reads. Another one."
        start = m.StreamStart("00000000-0000-4000-8000-000000000000", text, rung="pcm22")
        loop.do(line.socket.came, encode(start))
        loop.run_for(3.0)
        loop.do(line.socket.end, 1000)
        assert (line.kernel.get_write_buffer_size() > 0, world.lines) == (True, [line])
        loop.do(getattr(world, what))
        loop.run_for(5.0)
        world.logged.stop()
        assert (world.lines, loop.timers, loop.faults) == ([], [], [])
